#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/bench_line.h"
#include "tools/bench/remat_file.h"

namespace reprise {
namespace {

std::string ErrorOf(const std::string& content) {
  const absl::StatusOr<RematFile> file =
      ParseRemat(content, "f.txt", /*in_place=*/false);
  return file.ok() ? "" : std::string(file.status().message());
}

// 0 (2 bytes, cost 5) is read by 1 (3 bytes) and 3 (1 byte); 2 (2 bytes) reads
// 1, 3 reads 2. Kept: 2 + 3 + 2 = 7 when 2 runs. With 0 again before 3: at
// most 3 + 2 = 5.
constexpr char kGraph[] =
    "4 4\n5 1 1 1\n2 3 2 1\n"
    "0 1\n0 3\n1 2\n2 3\n";

TEST(RematBenchTest, PrintsWhatItFound) {
  const std::string path = Write("graph.txt", kGraph);
  const CommandResult result =
      RunBench({"remat", path, "--budget=6", "--format=json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json row =
      nlohmann::json::parse(result.out).at("instances").at(0);
  EXPECT_EQ(row.at("nodes"), 4);
  EXPECT_EQ(row.at("base_cost"), 8);
  EXPECT_EQ(row.at("cost"), 13);
  EXPECT_EQ(row.at("added_percent"), 62.5);
  EXPECT_EQ(row.at("all_kept_bytes"), 7);
  EXPECT_EQ(row.at("peak_bytes"), 5);
  EXPECT_EQ(row.at("bound_bytes"), 5);
  EXPECT_EQ(row.at("proven"), true);
}

TEST(RematBenchTest, WritesRunsAndDrops) {
  const std::string path = Write("graph.txt", kGraph);
  const std::string out = ::testing::TempDir() + "/runs.txt";
  ASSERT_EQ(RunBench({"remat", path, "--budget=6", "--out=" + out}).code, 0);
  EXPECT_EQ(Read(out), "0\n1\n-0\n2\n-1\n0\n3\n-0\n-2\n");
}

TEST(RematBenchTest, SaysAtOnceThatNothingFitsBelowTheLargestRun) {
  const std::string path = Write("graph.txt", kGraph);
  const CommandResult result = RunBench({"remat", path, "--budget=4"});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(absl::StrContains(result.err, "no plan fits in 4 bytes"))
      << result.err;
  EXPECT_TRUE(absl::StrContains(result.err, " 5")) << result.err;
}

// 5/7 of the peak is 5 bytes.
TEST(RematBenchTest, TakesABudgetAsAFraction) {
  const std::string path = Write("graph.txt", kGraph);
  const CommandResult result =
      RunBench({"remat", path, "--budget-fraction=0.72", "--format=json"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)
                .at("instances")
                .at(0)
                .at("budget_bytes"),
            5);
}

// Node 1 leads nowhere, so only 0 and 2 run; the file's numbers stay.
TEST(RematFileTest, LeavesOutWhatTheGoalDoesNotNeed) {
  const absl::StatusOr<RematFile> file =
      ParseRemat("3 2\n1 1 1\n1 1 1\n0 1\n0 2\n", "f.txt", false);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->number_of, (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(ToText(*file, {0, 1}), "0\n2\n-0\n");
}

TEST(RematFileTest, RefusesWhatIsNoGraphWithLineAndNumbers) {
  EXPECT_EQ(ErrorOf(""),
            "f.txt:1: the file ends where numbers of nodes and edges must be");
  EXPECT_EQ(ErrorOf("0 0\n\n\n"),
            "f.txt:1: the number of nodes must be from 1 to 2000000, got 0");
  EXPECT_EQ(ErrorOf("2 0\n1\n1 1\n"),
            "f.txt:2: a line with costs must have 2 fields, got 1");
  EXPECT_EQ(ErrorOf("1 0\n-1\n1\n"),
            "f.txt:2: costs must be integers from 0 to 9007199254740992, got "
            "'-1'");
  EXPECT_EQ(ErrorOf("2 1\n1 1\n1 1\n1 1\n"),
            "f.txt:4: an edge must lead to a higher number, got 1 1");
  EXPECT_EQ(ErrorOf("2 1\n1 1\n1 1\n0 2\n"),
            "f.txt:4: the nodes of an edge must be integers from 0 to 1, got "
            "'2'");
  EXPECT_EQ(ErrorOf("2 1\n1 1\n1 1\n"),
            "f.txt:4: the file ends where the nodes of an edge must be");
  EXPECT_EQ(ErrorOf("2 1\n1 1\n1 1\n0 1\n0 1\n"),
            "f.txt:5: nothing may follow the 1 edges that line 1 promises");
  EXPECT_EQ(ErrorOf("2 0\n1 1\n1125899906842624 1\n"),
            "f.txt:3: the sum of bytes must not exceed 1125899906842624, got "
            "1125899906842624 + 1");
}

TEST(RematFileTest, TakesAnyEndOfLine) {
  EXPECT_EQ(ErrorOf("2 1\r\n1 1\r\n1 1\r\n0 1\r\n\r\n"), "");
  EXPECT_EQ(ErrorOf("1 0\n1\n1"), "");
}

// EXPECTED.txt: "name ... : B=budget:cost(..) B=...", by exhaustive search.
TEST(RematBenchTest, ReachesTheOptimaOfTheSharedSmallInstances) {
  const char* shared = std::getenv("REPRISE_SHARED_DIR");
  if (shared == nullptr) GTEST_SKIP() << "REPRISE_SHARED_DIR is not set";
  const std::string folder = absl::StrCat(shared, "/bench/remat-small/");
  int num_budgets = 0;
  for (const absl::string_view line :
       absl::StrSplit(Read(folder + "EXPECTED.txt"), '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    for (const std::string& word : words) {
      if (!absl::StartsWith(word, "B=")) continue;
      const std::vector<std::string> parts =
          absl::StrSplit(word.substr(2), absl::ByAnyChar(":("));
      int64_t cost = 0;
      ASSERT_TRUE(absl::SimpleAtoi(parts[1], &cost)) << word;
      const CommandResult result =
          RunBench({"remat", folder + words[0] + ".txt", "--budget=" + parts[0],
                    "--format=json"});
      ASSERT_EQ(result.code, 0) << result.err;
      const nlohmann::json row =
          nlohmann::json::parse(result.out).at("instances").at(0);
      EXPECT_EQ(row.at("cost"), cost) << words[0] << " " << word;
      EXPECT_EQ(row.at("proven"), true) << words[0] << " " << word;
      ++num_budgets;
    }
  }
  EXPECT_EQ(num_budgets, 64);
}

// The optima that mixed-integer programming proved, in percent.
TEST(RematBenchTest, ReachesTheProvenOptimaOfTheSharedGraphs) {
  const char* shared = std::getenv("REPRISE_SHARED_DIR");
  if (shared == nullptr) GTEST_SKIP() << "REPRISE_SHARED_DIR is not set";
  const std::string folder = absl::StrCat(shared, "/bench/remat/");
  struct Optimum {
    std::string file;
    std::string fraction;
    double percent;
  };
  for (const Optimum& o : std::vector<Optimum>{
           {"VGG16_256_224x224x3_train.txt", "0.95", 0.7742},
           {"VGG16_256_224x224x3_train.txt", "0.90", 1.9677},
           {"VGG16_256_224x224x3_train.txt", "0.85", 1.9677},
           {"vgg_unet_32_416x608x3_train.txt", "0.90", 1.1289},
           {"vgg_unet_32_416x608x3_train.txt", "0.80", 1.9836}}) {
    const CommandResult result =
        RunBench({"remat", folder + o.file, "--budget-fraction=" + o.fraction,
                  "--work-limit=100000000", "--format=json"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_LE(nlohmann::json::parse(result.out)
                  .at("instances")
                  .at(0)
                  .at("added_percent"),
              o.percent + 0.00005)
        << o.file << " " << o.fraction;
  }
}

}  // namespace
}  // namespace reprise
