// ONNX's own backend tests (REPRISE_SHARED_DIR), and what the runner makes of
// results that differ.

#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tools/conformance/compare.h"
#include "tools/conformance/conformance_command.h"

namespace reprise {
namespace {

struct Answer {
  int code = 0;
  std::string out;
  std::string err;
};

Answer RunConformance(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  Answer answer;
  answer.code = RunOnnxConformance(args, Console{out, err});
  answer.out = out.str();
  answer.err = err.str();
  return answer;
}

std::string SharedFolder() {
  const char* const shared = std::getenv("REPRISE_SHARED_DIR");
  return shared == nullptr ? "" : absl::StrCat(shared, "/conformance/");
}

TEST(ConformanceTest, EveryTestOfSupportedTypesGivesNoWrongResult) {
  const std::string folder = SharedFolder();
  if (folder.empty()) GTEST_SKIP() << "REPRISE_SHARED_DIR is not set";
  const Answer answer = RunConformance({folder + "onnx-node", "--grad"});
  EXPECT_EQ(answer.code, 0) << answer.out;
  EXPECT_TRUE(absl::StrContains(answer.out, " 0 failed,")) << answer.out;
  // Those left out have no float input or output, or are Dropout's.
  EXPECT_TRUE(absl::StrContains(answer.out, "307 with gradients"))
      << answer.out;
  // The 39 whose types are float64, float16, int8 and the like.
  EXPECT_TRUE(absl::StrContains(answer.out, " 39 unsupported")) << answer.out;
}

Array Floats(const std::vector<float>& elements) {
  Array array;
  array.type = {DType::kF32, {static_cast<int64_t>(elements.size())}};
  array.data.assign(reinterpret_cast<const char*>(elements.data()),
                    elements.size() * sizeof(float));
  return array;
}

TEST(DifferenceTest, NamesTheLargestError) {
  EXPECT_EQ(Difference(Floats({1, 2, 3}), Floats({1, 2, 3}), 0, 0), "");
  EXPECT_EQ(Difference(Floats({1, 2.5f, 3.25f}), Floats({1, 2, 3}), 1e-3, 0),
            "2 of 3 elements differ; largest error 0.5, 2.5 instead of 2 at 1");
  EXPECT_EQ(Difference(Floats({1}), Floats({1, 2}), 0, 0),
            "is f32[1], not f32[2]");
}

TEST(DifferenceTest, WhatIsNotANumberEqualsItselfAlone) {
  const float nan = std::nanf("");
  const float inf = INFINITY;
  EXPECT_EQ(Difference(Floats({nan, inf}), Floats({nan, inf}), 0, 0), "");
  EXPECT_NE(Difference(Floats({nan}), Floats({1}), 1e9, 1e9), "");
  EXPECT_NE(Difference(Floats({1}), Floats({nan}), 1e9, 1e9), "");
  EXPECT_NE(Difference(Floats({inf}), Floats({-inf}), 1, 1), "");
}

TEST(DropoutLawTest, CatchesWhatDropoutNeverDoes) {
  const Array x = Floats({1, 2, 3, 4, 5, 6, 7, 8});
  const Array good = Floats({2, 0, 6, 8, 0, 0, 0, 16});
  EXPECT_EQ(BrokenDropoutLaw(x, 0.5f, {&good}), "");
  const Array unscaled = Floats({1, 0, 3, 4, 0, 0, 0, 8});
  EXPECT_NE(BrokenDropoutLaw(x, 0.5f, {&unscaled}), "");
  Array mask;
  mask.type = {DType::kBool, {8}};
  mask.data = std::string("\1\0\1\1\0\0\0\1", 8);
  EXPECT_EQ(BrokenDropoutLaw(x, 0.5f, {&good, &mask}), "");
  mask.data[1] = 1;
  EXPECT_NE(BrokenDropoutLaw(x, 0.5f, {&good, &mask}), "");
}

TEST(ConformanceCommandTest, FoldersWithoutTestsAreAnError) {
  EXPECT_EQ(RunConformance({testing::TempDir()}).code, 1);
  EXPECT_EQ(RunConformance({"/nowhere"}).code, 1);
  EXPECT_EQ(RunConformance({}).code, 2);
}

}  // namespace
}  // namespace reprise
