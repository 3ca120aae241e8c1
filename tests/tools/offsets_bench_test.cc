#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/bench_line.h"
#include "tools/bench/offsets_file.h"

namespace reprise {
namespace {

// The gap before the first buffer's end is reused: C fits where A was, and 180
// is the most at once (A + B), where never reusing it takes 240.
constexpr char kWitness[] =
    "id,lower,upper,size\nA,0,2,100\nB,1,3,80\nC,2,4,60\n";

TEST(OffsetsBenchTest, PrintsWhatItFound) {
  const std::string path = Write("witness.csv", kWitness);
  const CommandResult result = RunBench({"offsets", path, "--format=json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json report = nlohmann::json::parse(result.out);
  const nlohmann::json& row = report.at("instances").at(0);
  EXPECT_EQ(row.at("file"), path);
  EXPECT_EQ(row.at("buffers"), 3);
  EXPECT_EQ(row.at("lower_bound_bytes"), 180);
  EXPECT_EQ(row.at("arena_bytes"), 180);
  EXPECT_EQ(row.at("ratio"), 1.0);
  EXPECT_EQ(row.at("proven"), "bound");
}

TEST(OffsetsBenchTest, SeveralFilesEndInASum) {
  const std::string path = Write("witness.csv", kWitness);
  const CommandResult result = RunBench({"offsets", path, path});
  ASSERT_EQ(result.code, 0) << result.err;
  const std::vector<std::string> lines = absl::StrSplit(result.out, '\n');
  ASSERT_GE(lines.size(), 4u);
  EXPECT_TRUE(absl::StrContains(lines[3], "sum")) << result.out;
}

// Other columns and the order of rows stay; times up to 2^63 - 1 are ranked.
TEST(OffsetsBenchTest, OutHasTheColumnsOfTheInputAndOffsets) {
  const std::string in =
      Write("in.csv",
            "size,note, id ,upper,lower\r\n8,x,a,1099511627776,0\r\n\r\n"
            "4,y,b,9223372036854775807,1099511627776\r\n0,z,c,7,3\r\n");
  const std::string out = ::testing::TempDir() + "/out.csv";
  const CommandResult result = RunBench({"offsets", in, "--out=" + out});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Read(out),
            "size,note,id,upper,lower,offset\n8,x,a,1099511627776,0,0\n"
            "4,y,b,9223372036854775807,1099511627776,0\n0,z,c,7,3,0\n");
  // Once more: the column is replaced.
  const CommandResult again = RunBench({"offsets", out, "--out=" + out});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_TRUE(absl::StartsWith(Read(out), "size,note,id,upper,lower,offset\n"));
}

TEST(OffsetsBenchTest, WhatCannotFitIsAnErrorThatSaysWhy) {
  const std::string path = Write("witness.csv", kWitness);
  const CommandResult result = RunBench({"offsets", path, "--capacity=179"});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(absl::StrContains(result.err, path)) << result.err;
  EXPECT_TRUE(absl::StrContains(result.err, "179")) << result.err;
  EXPECT_TRUE(absl::StrContains(result.err, "180")) << result.err;
  EXPECT_EQ(RunBench({"offsets", path, "--capacity=180"}).code, 0);
}

TEST(OffsetsBenchTest, BadFilesAreRefusedByLineRuleAndNumbers) {
  struct Case {
    const char* content;
    std::vector<const char*> parts;
  };
  const std::vector<Case> cases = {
      {"", {":1:", "empty"}},
      {"\n\n", {":1:", "empty"}},
      {"id,lower,size\n", {":1:", "'upper'"}},
      {"1,2,3,4\n", {":1:", "'id'"}},
      {"id,lower,upper,size,size\n", {":1:", "'size'", "twice"}},
      {"id,lower,upper,size,gaps\n", {":1:", "'gaps'", "not supported"}},
      {"id,lower,upper,size\na,1,2\n", {":2:", "4 fields", "3"}},
      {"id,lower,upper,size\na,1,2,3,4\n", {":2:", "4 fields", "5"}},
      {"id,lower,upper,size\na,5,5,1\n", {":2:", "below", "5 and 5"}},
      {"id,lower,upper,size\na,6,5,1\n", {":2:", "below", "6 and 5"}},
      {"id,lower,upper,size\na,-1,5,1\n", {":2:", "lower", "'-1'"}},
      {"id,lower,upper,size\na,1,5,-7\n", {":2:", "size", "'-7'"}},
      {"id,lower,upper,size\na,1,5,1.5\n", {":2:", "size", "'1.5'"}},
      {"id,lower,upper,size\na,1,5,\n", {":2:", "size", "''"}},
      {"id,lower,upper,size\na,1,9223372036854775808,1\n",
       {":2:", "upper", "9223372036854775807", "'9223372036854775808'"}},
      {"id,lower,upper,size\na,0,1,4611686018427387904\nb,0,1,1\n",
       {":3:", "sum of sizes", "4611686018427387904 + 1"}},
      {"id,lower,upper,size\na,0,1,1\na,0,1,1\n", {":3:", "'a'", "twice"}},
  };
  for (const Case& c : cases) {
    const std::string path = Write("bad.csv", c.content);
    const CommandResult result = RunBench({"offsets", path});
    EXPECT_EQ(result.code, 1) << c.content;
    EXPECT_TRUE(absl::StrContains(result.err, path)) << result.err;
    for (const char* part : c.parts) {
      EXPECT_TRUE(absl::StrContains(result.err, part))
          << c.content << result.err;
    }
  }
}

TEST(OffsetsBenchTest, UsageIsJudgedBeforeFiles) {
  const std::string path = Write("witness.csv", kWitness);
  EXPECT_EQ(RunBench({}).code, 2);
  EXPECT_EQ(RunBench({"nothing"}).code, 2);
  EXPECT_EQ(RunBench({"offsets"}).code, 2);
  EXPECT_EQ(RunBench({"offsets", path, "--capacity=0"}).code, 2);
  EXPECT_EQ(RunBench({"offsets", path, "--capacity=x"}).code, 2);
  EXPECT_EQ(RunBench({"offsets", path, "--time-limit=nan"}).code, 2);
  EXPECT_EQ(RunBench({"offsets", path, path, "--out=x"}).code, 2);
  EXPECT_EQ(RunBench({"offsets", "--help"}).code, 0);
  EXPECT_EQ(RunBench({"offsets", ::testing::TempDir() + "/none.csv"}).code, 1);
}

// Sizes that no method places at the bound (see offset_search_test): proven by
// the search without a limit in seconds, and never crashing with one.
TEST(OffsetsBenchTest, AProofBySearchIsNamedAsOne) {
  const std::string path =
      Write("gap.csv",
            "id,lower,upper,size\na,4,6,4\nb,5,8,1\nc,0,1,3\nd,3,5,3\ne,1,4,2\n"
            "f,2,4,3\ng,1,3,1\nh,0,2,5\n");
  const CommandResult result = RunBench({"offsets", path, "--format=json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json report = nlohmann::json::parse(result.out);
  const nlohmann::json& row = report.at("instances").at(0);
  EXPECT_EQ(row.at("lower_bound_bytes"), 8);
  EXPECT_EQ(row.at("proven_bound_bytes"), 9);
  EXPECT_EQ(row.at("arena_bytes"), 9);
  EXPECT_EQ(row.at("proven"), "search");
  EXPECT_EQ(RunBench({"offsets", path, "--time-limit=0"}).code, 0);
}

}  // namespace
}  // namespace reprise
