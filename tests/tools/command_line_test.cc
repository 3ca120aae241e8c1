// The command line: exit codes, and errors that say what is wrong.

#include "tests/tools/command_line.h"

#include <fstream>
#include <set>
#include <sstream>
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
  for (const char* command : {"check", "residuals", "plan", "sweep", "run",
                              "train", "eval", "bench", "import"}) {
    const CommandResult help = RunReprise({command, "--help"});
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_TRUE(absl::StrContains(help.out, "MODEL")) << help.out;
    EXPECT_TRUE(absl::StrContains(help.out, "--format")) << help.out;
  }
}

// A disk that is full, say.
TEST(CommandLineTest, OutputThatCannotBeWrittenIsAnError) {
  std::ofstream full("/dev/full");
  std::ostringstream err;
  EXPECT_EQ(RunCommandLine({"check", kLesson},
                           Console{full, err, /*terminal=*/false}),
            1);
  EXPECT_TRUE(absl::StrContains(err.str(), "the output cannot be written"))
      << err.str();
}

// The lesson has three weights, [64,64]: 48 KiB. Momentum and Adagrad keep one
// slot of a weight, Adam keeps two.
TEST(CommandLineTest, OptimizersOfOnnxAreChosenByName) {
  const auto persistent = [](const std::string& optimizer) -> int64_t {
    const CommandResult plan = RunReprise(
        {"plan", kLesson, "--optimizer=" + optimizer, "--format=json"});
    EXPECT_EQ(plan.code, 0) << plan.err;
    return plan.code == 0 ? plan.json()["persistent_bytes"].get<int64_t>() : -1;
  };
  const int64_t momentum = persistent("onnx_momentum");
  EXPECT_EQ(persistent("onnx_adagrad"), momentum);
  EXPECT_EQ(persistent("onnx_adam"), momentum + 48 * 1024);
}

TEST(CommandLineTest, WrongUsageExitsWithTwo) {
  ExpectUsageError({}, "subcommand");
  ExpectUsageError({"frobnicate"},
                   "no command 'frobnicate'; there are check residuals plan "
                   "sweep run train eval bench calibrate zoo import");
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

// The next argument is not taken for the value.
TEST(CommandLineTest, AnOptionWithAnEmptyValueIsRefused) {
  ExpectUsageError({"train", kDigits, kDigitsData, "--save=", "--steps=1"},
                   "'--save=' has no value");
  ExpectUsageError({"train", kDigits, kDigitsData, "--save", "", "--steps=1"},
                   "the argument after '--save' is empty");
  ExpectUsageError({"plan", kLesson, "--out=", "--threads=1"},
                   "'--out=' has no value");
}

TEST(CommandLineTest, NumbersBeyond64BitsAreRefused) {
  // 2^64, 2^63 and what else no option takes.
  const std::vector<std::vector<std::string>> cases = {
      {"--seed", "18446744073709551616"},
      {"--seed", "-1"},
      {"--seed", "1e3"},
      {"--steps", "9223372036854775808"},
      {"--epochs", "9223372036854775808"},
      {"--epochs", "0"},
      {"--report-every", "99999999999999999999"},
      {"--threads", "4294967297"},
      {"--threads", "0x10"}};
  for (const std::vector<std::string>& flag : cases) {
    ExpectUsageError(
        {"train", kDigits, kDigitsData, absl::StrCat(flag[0], "=", flag[1])},
        absl::StrCat(flag[0], ": '", flag[1], "' is not an integer from "));
  }
  ExpectUsageError(
      {"eval", kDigits, kDigitsData, "--load=w", "--seed=18446744073709551616"},
      "--seed: '18446744073709551616' is not an integer from 0 to "
      "18446744073709551615");
  ExpectUsageError({"run", kLesson, "--seed=18446744073709551616"}, "--seed");
  ExpectUsageError({"bench", kLesson, "--warm-up=99999999999999999999"},
                   "--warm-up");
}

TEST(CommandLineTest, IntegersAreDecimal) {
  // As C reads it, 08 is a broken octal number.
  EXPECT_EQ(RunReprise({"check", kLesson, "--threads=08"}).code, 0);
}

TEST(CommandLineTest, RangesAreShownShort) {
  for (const char* flag : {"--lr=-1", "--lr=1e39", "--lr=nan", "--holdout=1",
                           "--holdout=-0.5", "--scale=1e39", "--steps=-1"}) {
    const CommandResult result =
        RunReprise({"train", kDigits, kDigitsData, flag});
    EXPECT_EQ(result.code, 2) << flag;
    EXPECT_TRUE(absl::StrContains(result.err, "is not a")) << result.err;
    EXPECT_LT(result.err.size(), 200u) << result.err;
  }
}

TEST(CommandLineTest, OptionsThatConflictAreNamed) {
  const CommandResult begin =
      RunReprise({"train", kDigits, kDigitsData, "--resume=a", "--load=b"});
  EXPECT_EQ(begin.code, 2);
  EXPECT_TRUE(absl::StrContains(begin.err, "--resume")) << begin.err;
  EXPECT_TRUE(absl::StrContains(begin.err, "--load")) << begin.err;
  const CommandResult held_out = RunReprise(
      {"train", kDigits, kDigitsData, "--holdout=0.1", "--eval-data=b"});
  EXPECT_EQ(held_out.code, 2);
  EXPECT_TRUE(absl::StrContains(held_out.err, "--holdout")) << held_out.err;
  EXPECT_TRUE(absl::StrContains(held_out.err, "--eval-data")) << held_out.err;
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
  // Features for its one input, and nothing to judge the results by.
  const std::string model = TempPath("lossless.textproto");
  std::ofstream(model) << R"(
    format_version: 1
    input { name: "x" type { dtype: FLOAT32 dim { value: 2 } dim { value: 3 } } }
    node { op: "Relu" input: "x" output: "y" }
    output: "y"
  )";
  ExpectInputError({"eval", model, "--data=no_such.npy", "--load=no_such"},
                   absl::StrCat(model, ": has no loss to evaluate"));
}

// A graph may have dims of 0; there is nothing to train on or measure then.
TEST(CommandLineTest, ABatchWithoutRowsNamesTheSymbol) {
  const std::string error =
      "--set: symbol 'batch' must be at least 1, got 0: it counts the rows of "
      "a batch";
  ExpectInputError({"bench", kLesson, "--set", "batch=0"}, error);
  ExpectInputError({"train", kDigits, kDigitsData, "--set", "batch=0"}, error);
  ExpectInputError(
      {"eval", kDigits, kDigitsData, "--load=no_such", "--set", "batch=0"},
      error);
}

// Also where a gradient reads a copy of the weights in another layout.
TEST(CommandLineTest, ResidualsAreReadByNodesOfTheModel) {
  const std::string model = "examples/mnist_cnn.textproto";
  const nlohmann::json check =
      RunReprise({"check", model, "--format=json"}).json();
  std::set<std::string> nodes;
  for (const nlohmann::json& node : check["nodes"]) nodes.insert(node["name"]);
  const nlohmann::json report =
      RunReprise({"residuals", model, "--threads=1", "--format=json"}).json();
  ASSERT_FALSE(report["residuals"].empty());
  for (const nlohmann::json& residual : report["residuals"]) {
    for (const std::string reader : residual["readers"]) {
      EXPECT_EQ(nodes.count(reader), 1) << residual["value"] << ": " << reader;
    }
  }
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

TEST(CommandLineTest, TheLargestValueNeedsABudget) {
  ExpectUsageError({"plan", kLesson, "--maximize=batch"}, "--budget");
  ExpectUsageError({"plan", kLesson, "--max-added-cost=10"}, "--maximize");
  ExpectUsageError({"plan", kLesson, "--budget=4MiB", "--maximize=batch",
                    "--process-budget=1GiB"},
                   "--process-budget");
  ExpectUsageError({"plan", kLesson, "--budget=4MiB", "--maximize=batch",
                    "--max-added-cost=-1"},
                   "'-1' is not a number");
  ExpectInputError({"plan", kLesson, "--budget=4MiB", "--maximize=depth"},
                   "no symbol 'depth'; there are 'batch', 'width'");
  ExpectInputError({"plan", kLesson, "--budget=4MiB", "--maximize=batch",
                    "--set", "batch=8"},
                   "the value of 'batch': it cannot be --set too");
  ExpectInputError({"plan", kLesson, "--budget=1KiB", "--maximize=batch"},
                   "with batch = 1: budget of 1024 bytes is too small");
}

TEST(CommandLineTest, TheLargestValueIsSaidFirst) {
  const CommandResult result = RunReprise(
      {"plan", kLesson, "--threads=1", "--budget=4MiB", "--maximize=batch"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out.rfind("batch = ", 0), 0u) << result.out;
  EXPECT_TRUE(absl::StrContains(result.out, " is the largest found to fit"));
}

TEST(CommandLineTest, TheSearchForTheLargestValueShowsThatItMoves) {
  const std::vector<std::string> args = {"plan", kLesson, "--threads=1",
                                         "--budget=4MiB", "--maximize=batch"};
  EXPECT_EQ(RunReprise(args).err, "");
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(RunCommandLine(args, Console{out, err, /*err_is_terminal=*/true}),
            0);
  EXPECT_EQ(err.str().rfind(
                "[..............................] 1/63  trying batch = 1", 0),
            0u)
      << err.str();
  EXPECT_TRUE(absl::EndsWith(err.str(), "\r\x1b[K")) << err.str();
}

// A chain of 60 blocks has more than 200 steps.
TEST(CommandLineTest, TheSmallestArenaOfALongPlanIsSearchedForWhenAsked) {
  const std::string path = TempPath("chain.textproto");
  std::ofstream(path) << RunReprise({"zoo", "chain", "--blocks=60"}).out;
  const auto says = [](const std::vector<std::string>& args) {
    return absl::StrContains(RunReprise(args).out, "  smallest arena ");
  };
  EXPECT_TRUE(says({"plan", kLesson, "--threads=1"}));
  EXPECT_FALSE(says({"plan", path, "--threads=1"}));
  EXPECT_TRUE(says({"plan", path, "--threads=1", "--smallest"}));
  EXPECT_TRUE(says({"plan", path, "--threads=1", "--budget=1GiB"}));
}

TEST(CommandLineTest, PicturesAreFiles) {
  for (const char* command : {"plan", "sweep"}) {
    const std::string path = TempPath(absl::StrCat(command, ".html"));
    const CommandResult result = RunReprise(
        {command, kLesson, "--threads=1", absl::StrCat("--html=", path)});
    ASSERT_EQ(result.code, 0) << result.err;
    std::ifstream file(path);
    std::string first;
    std::getline(file, first);
    EXPECT_EQ(first, "<!DOCTYPE html>") << command;
    ExpectInputError({command, kLesson, "--html=/no/such/folder/x.html"},
                     "/no/such/folder");
  }
}

TEST(CommandLineTest, RunWantsEveryInput) {
  ExpectInputError({"run", kLesson}, "input 'x' needs --input x=FILE.npy");
}

TEST(CommandLineTest, RunNamesTheInputsThereAre) {
  ExpectInputError({"run", kLesson, "--input", "NOPE=x.npy"},
                   "has no input 'NOPE'; there are 'x'");
}

TEST(CommandLineTest, RunTakesEachInputOnce) {
  ExpectUsageError({"run", kLesson, "--input", "x=a.npy", "--input", "x=b.npy"},
                   "input 'x' is given twice");
}

// 3e9 rows of 64 columns are below the bytes that a value may have, and above
// the dims that kernels take.
TEST(CommandLineTest, ABatchBeyondInt32NamesFileAndDim) {
  ExpectInputError({"plan", kLesson, "--set", "batch=3000000000"},
                   absl::StrCat(kLesson, " with batch = 3000000000, "));
}

// Of two patterns, one of them within any_of, neither matches; `y1` does.
TEST(CommandLineTest, APatternThatMatchesNothingIsNoted) {
  absl::StatusOr<proto::Graph> graph = ReadGraphFile(kLesson);
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_EQ(graph->region_size(), 1);
  proto::Policy& policy = *graph->mutable_region(0)->mutable_policy();
  policy.mutable_any_of()->add_policy()->mutable_save_names()->add_v("y1");
  policy.mutable_any_of()->add_policy()->mutable_save_names()->add_v("nope*");
  const std::string path = TempPath("patterns.textproto");
  ASSERT_TRUE(WriteGraphFile(*graph, path).ok());
  const CommandResult result = RunReprise({"residuals", path, "--threads=1"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(absl::StrContains(
      result.out, "the pattern 'nope*' of its policy matches no value in it"))
      << result.out;
  EXPECT_FALSE(absl::StrContains(result.out, "'y1' of its policy"));
}

TEST(CommandLineTest, OneThreadIsNoPlural) {
  const CommandResult one =
      RunReprise({"bench", kLesson, "--threads=1", "--seconds=0.01"});
  EXPECT_TRUE(absl::StrContains(one.out, ", 1 thread\n")) << one.out;
  const CommandResult two =
      RunReprise({"bench", kLesson, "--threads=2", "--seconds=0.01"});
  EXPECT_TRUE(absl::StrContains(two.out, ", 2 threads\n")) << two.out;
}

// Trains digits for a step under a config with `overrides`.
CommandResult TrainWithOverrides(const std::string& overrides) {
  const std::string config = TempPath("config.textproto");
  std::ofstream(config) << "format_version: 1\nadam {}\n" << overrides;
  return RunReprise({"train", kDigits, kDigitsData, "--steps=1", "--threads=1",
                     "--config=" + config});
}

TEST(TrainCommandTest, AnOverrideThatMatchesNothingIsRefused) {
  const CommandResult unknown =
      TrainWithOverrides(R"(override { pattern: "hiden*" trainable: false })");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_TRUE(absl::StrContains(
      unknown.err,
      "the pattern 'hiden*' of an override matches none of the 10 parameters"))
      << unknown.err;
  EXPECT_TRUE(absl::StrContains(unknown.err, "'hidden1.w'")) << unknown.err;
  const CommandResult none = TrainWithOverrides("override { lr_factor: 2 }");
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(absl::StrContains(none.err, "an override has no pattern"))
      << none.err;
}

TEST(TrainCommandTest, FreezingEverythingLeavesNothingToTrain) {
  const CommandResult result =
      TrainWithOverrides(R"(override { pattern: "*" trainable: false })");
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(absl::StrContains(result.err, "nothing to train")) << result.err;
}

// Weights and biases: hidden1 64*128 + 128, hidden2 to hidden4 128*128 + 128
// each, logits 128*10 + 10; 59,146 in all, 50,826 without hidden1.
TEST(TrainCommandTest, FrozenParametersDoNotCountAsTrained) {
  const CommandResult all = TrainWithOverrides("");
  EXPECT_TRUE(absl::StrContains(all.out, " 59,146 trained numbers")) << all.out;
  const CommandResult frozen = TrainWithOverrides(
      R"(override { pattern: "hidden1.*" trainable: false })");
  EXPECT_TRUE(absl::StrContains(frozen.out, " 50,826 trained numbers"))
      << frozen.out << frozen.err;
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

// Two steps, and two or one asked for in all.
TEST(TrainCommandTest, AResumedRunThatHasBeenDoneIsNoted) {
  const std::string checkpoint = TempPath("checkpoint");
  const CommandResult first =
      RunReprise({"train", kDigits, kDigitsData, "--threads=1", "--steps=2",
                  "--checkpoint=" + checkpoint});
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.err, "");
  for (const char* steps : {"2", "1"}) {
    const CommandResult again =
        RunReprise({"train", kDigits, kDigitsData, "--threads=1",
                    absl::StrCat("--steps=", steps), "--resume=" + checkpoint});
    EXPECT_EQ(again.code, 0);
    EXPECT_EQ(again.err, absl::StrCat("note: ", checkpoint, " is at step 2 of ",
                                      steps, " already: nothing is trained\n"));
  }
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
