// What reaches a limit of a model file, and caps of size, beyond which a file
// is refused before it takes memory. Limits of few bytes are broken in
// load_rules_test.cc.

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/load.h"
#include "core/op_table.h"
#include "core/proto_file.h"
#include "gtest/gtest.h"
#include "tests/core/tiny_model.h"
#include "tests/testing/test_path.h"
#include "tests/testing/toy_ops.h"

namespace reprise {
namespace {

TEST(LoadLimitsTest, WhatReachesALimitIsGood) {
  const OpTable ops(ToyOps());
  const std::string longest(256, 'a');
  const std::vector<std::string> additions = {
      absl::StrCat("region { name: \"", longest, "\" }"),
      Param("type { dtype: FLOAT32 " + Nested("dim { value: 1 } ", "", "", 8) +
            " }"),
      "region { name: \"p\" policy { " +
          Nested("any_of { policy { ", "auto: true", " } }", 15) + " } }",
      RegionChain(64)};
  for (const std::string& addition : additions) {
    const absl::Status status =
        LoadText(absl::StrCat(kTinyModel, addition, "\n"), ops).status();
    EXPECT_TRUE(status.ok()) << status;
  }
}

// Caps of size, too large to be written out.
struct Cap {
  std::string rule;
  // Does what goes beyond the cap.
  std::function<absl::Status()> exceed;
  std::string error;
};

int64_t PeakResidentKibibytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  int64_t kibibytes = 0;
  while (status >> word) {
    if (word == "VmHWM:") status >> kibibytes;
  }
  return kibibytes;
}

TEST(LoadLimitsTest, EachCapIsRefusedBeforeMemoryIsTaken) {
  const OpTable ops(ToyOps());
  const int64_t before = PeakResidentKibibytes();
  const std::vector<Cap> caps = {
      // A hole of 1 GiB and a byte: it takes no disk, and must take no memory.
      {"files have at most 1 GiB",
       [] {
         const std::string path = TestPath("huge.pb");
         std::ofstream(path).close();
         EXPECT_EQ(truncate(path.c_str(), (int64_t{1} << 30) + 1), 0);
         const absl::Status status = ReadGraphFile(path).status();
         unlink(path.c_str());
         return status;
       },
       "huge.pb: a file has at most 1073741824 bytes, this one has 1073741825"},
      // Two bytes each: field 7 (node), a message, with nothing in it.
      {"graphs have at most 2,000,000 nodes",
       [] {
         std::string bytes;
         for (int i = 0; i <= 2'000'000; ++i) bytes.append("\x3a\x00", 2);
         proto::Graph graph;
         return ParseBinary(bytes, "g.pb", graph);
       },
       "field 'node' has more than 2000000 entries"}};
  for (const Cap& cap : caps) {
    const absl::Status status = cap.exceed();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << cap.rule;
    EXPECT_TRUE(absl::StrContains(status.message(), cap.error)) << status;
  }
  // The 4 MB of bytes above, with what a growing string wastes.
  EXPECT_LT(PeakResidentKibibytes() - before, 64 * 1024);
}

// The same for a graph that no file has brought.
TEST(LoadLimitsTest, NodesAreCountedOnceMore) {
  const OpTable ops(ToyOps());
  proto::Graph file;
  file.set_format_version(1);
  for (int i = 0; i <= 2'000'000; ++i) file.add_node();
  EXPECT_EQ(LoadGraph(file, ops, {}, "t").status().message(),
            "t: a graph has at most 2000000 nodes, got 2000001");
}

}  // namespace
}  // namespace reprise
