// The command line: exit codes, and errors that say what is wrong.

#include "tests/tools/command_line.h"

#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "reprise.h"

namespace reprise {
namespace {

constexpr char kLesson[] = "examples/lesson_two_layers.textproto";
constexpr char kDigits[] = "examples/digits_mlp.textproto";
constexpr char kDigitsData[] = "--data=examples/data/digits.csv.gz";

std::string TempPath(const std::string& name) {
  return absl::StrCat(
      ::testing::TempDir(), "/",
      ::testing::UnitTest::GetInstance()->current_test_info()->name(), "_",
      name);
}

void ExpectUsageError(const std::vector<std::string>& args,
                      const std::string& text) {
  const CommandResult result = RunReprise(args);
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(absl::StrContains(result.err, text)) << result.err;
}

void ExpectInputError(const std::vector<std::string>& args,
                      const std::string& text) {
  const CommandResult result = RunReprise(args);
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(absl::StrContains(result.err, text)) << result.err;
}

TEST(CommandLineTest, EveryCommandHasHelp) {
  EXPECT_EQ(RunReprise({"--help"}).code, 0);
  for (const char* command :
       {"check", "residuals", "plan", "run", "train", "eval", "bench"}) {
    const CommandResult help = RunReprise({command, "--help"});
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_TRUE(absl::StrContains(help.out, "MODEL")) << help.out;
    EXPECT_TRUE(absl::StrContains(help.out, "--format")) << help.out;
  }
}

TEST(CommandLineTest, WrongUsageExitsWithTwo) {
  ExpectUsageError({}, "subcommand");
  ExpectUsageError({"frobnicate"},
                   "no command 'frobnicate'; there are check residuals plan "
                   "run train eval bench zoo");
  ExpectUsageError({"plan"}, "MODEL");
  ExpectUsageError({"plan", kLesson, "--frobnicate"}, "--frobnicate");
  ExpectUsageError({"plan", kLesson, "--budget=5 apples"},
                   "'5 apples' is not a size");
  ExpectUsageError({"plan", kLesson, "--set", "batch"},
                   "'batch' is not SYMBOL=NUMBER");
  ExpectUsageError({"plan", kLesson, "--format=yaml"}, "yaml");
  ExpectUsageError({"plan", kLesson, "--optimizer=newton"}, "newton");
  ExpectUsageError({"train", kDigits}, "--data");
  ExpectUsageError({"train", kDigits, kDigitsData, "--epochs=1", "--steps=1"},
                   "--");
  ExpectUsageError({"train", kDigits, kDigitsData, "--holdout=2"}, "holdout");
}

TEST(CommandLineTest, WrongInputExitsWithOne) {
  ExpectInputError({"check", "no_such.textproto"}, "no_such.textproto");
  ExpectInputError({"train", kDigits, "--data=no_such.csv"}, "no_such.csv");
  ExpectInputError({"train", kLesson, kDigitsData},
                   "gives features and labels, the model has 1 input");
  ExpectInputError({"plan", kDigits, "--config=no_such.textproto"},
                   "no_such.textproto");
  ExpectInputError({"eval", kDigits, kDigitsData, "--load=no_such"}, "no_such");
  ExpectInputError({"check", kLesson, "--set", "depth=3"}, "depth");
}

TEST(CommandLineTest, CheckReportsEveryError) {
  const std::string path = TempPath("broken.textproto");
  std::ofstream(path) << R"(
    format_version: 1
    name: "broken"
    input { name: "x" type { dtype: FLOAT32 dim { value: 2 } } }
    node { name: "a" op: "Relu" input: "y" output: "z" }
    node { name: "b" op: "Frobnicate" input: "x" output: "w" }
  )";
  ExpectInputError({"check", path}, "'y'");
  ExpectInputError({"check", path}, "Frobnicate");
}

TEST(CommandLineTest, BudgetBelowTheSmallestArenaNamesIt) {
  ExpectInputError({"plan", kLesson, "--budget=1KiB"}, "1024");
}

TEST(CommandLineTest, PlanWritesAFileThatIsReadAgain) {
  const std::string path = TempPath("plan.pb");
  ASSERT_EQ(RunReprise({"plan", kLesson, "--threads=1", "--out=" + path}).code,
            0);
  const absl::StatusOr<proto::Graph> graph = ReadGraphFile(kLesson);
  ASSERT_TRUE(graph.ok()) << graph.status();
  proto::TrainConfig config;
  config.set_format_version(1);
  config.mutable_adam();
  TrainerOptions options;
  options.threads = 1;
  const absl::StatusOr<PlannedTrainer> read =
      ReadPlan(path, *graph, config, options);
  EXPECT_TRUE(read.ok()) << read.status();
}

TEST(CommandLineTest, RunWantsEveryInput) {
  ExpectInputError({"run", kLesson}, "input 'x' needs --input x=FILE.npy");
}

// Three epochs at once, and two epochs, a checkpoint and one epoch more.
TEST(TrainCommandTest, ResumedRunGivesTheBitsOfAnUninterruptedOne) {
  const std::string checkpoint = TempPath("checkpoint");
  const std::string whole = TempPath("whole.safetensors");
  const std::string resumed = TempPath("resumed.safetensors");
  const std::vector<std::string> train = {"train", kDigits, kDigitsData,
                                          "--holdout=0.2", "--threads=2"};
  const auto run = [&train](std::vector<std::string> more) {
    more.insert(more.begin(), train.begin(), train.end());
    const CommandResult result = RunReprise(more);
    ASSERT_EQ(result.code, 0) << result.err;
  };
  run({"--epochs=3", "--save=" + whole});
  run({"--epochs=2", "--checkpoint=" + checkpoint});
  run({"--epochs=3", "--resume=" + checkpoint, "--save=" + resumed});
  const auto content = [](const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_FALSE(content(whole).empty());
  EXPECT_EQ(content(whole), content(resumed));
}

TEST(TrainCommandTest, EvalOfSavedWeightsAgreesWithTheLastReport) {
  const std::string weights = TempPath("weights.safetensors");
  const CommandResult trained = RunReprise(
      {"train", kDigits, kDigitsData, "--holdout=0.2", "--epochs=2", "--seed=5",
       "--threads=1", "--save=" + weights, "--format=json"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const CommandResult evaluated =
      RunReprise({"eval", kDigits, kDigitsData, "--holdout=0.2", "--seed=5",
                  "--threads=1", "--load=" + weights, "--format=json"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  const nlohmann::json report = trained.json()["reports"].back()["held_out"];
  EXPECT_EQ(report["loss"], evaluated.json()["loss"]);
  EXPECT_EQ(report["correct"], evaluated.json()["correct"]);
  EXPECT_EQ(report["labels"], 359);  // a fifth of 1,797
}

}  // namespace
}  // namespace reprise
