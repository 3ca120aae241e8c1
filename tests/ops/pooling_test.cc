#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor_type.h"
#include "gtest/gtest.h"
#include "tests/ops/layer_cases.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

// Row-major and channels-last orders are the harness's; here: shapes.
void CheckShapes(const std::string& op) {
  CheckCase(PoolOf(op, {2, 3, 5, 4}, {{"kernel_shape", Ints{2, 2}}}), 1);
  CheckCase(PoolOf(op, {1, 17, 5, 4},
                   {{"kernel_shape", Ints{3, 2}},
                    {"strides", Ints{2, 2}},
                    {"pads", Ints{1, 0, 1, 1}}}),
            2);
  CheckCase(PoolOf(op, {2, 1, 6, 6},
                   {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}),
            3);
  CheckCase(PoolOf(op, {2, 3, 2, 2}, {{"kernel_shape", Ints{2, 2}}}), 4);
  CheckCase(PoolOf(op, {2, 4, 9}, {{"kernel_shape", Ints{3}}}), 5);
  CheckCase(PoolOf(op, {1, 2, 3, 4, 3}, {{"kernel_shape", Ints{2, 2, 3}}}), 6);
  CheckCase(PoolOf(op, {0, 3, 7, 6}, {{"kernel_shape", Ints{2, 2}}}), 7);
}

TEST(MaxPoolTest, MatchesDefinition) { CheckShapes("MaxPool"); }

TEST(MaxPoolTest, GradientReadsOnlyTheWorkspace) {
  EXPECT_EQ(KeptValues(PoolOf("MaxPool", {2, 3, 6, 6},
                              {{"kernel_shape", Ints{2, 2}}})),
            "y0:1");
}

// A window of which all real elements are negative: zero padding would win.
TEST(MaxPoolTest, PaddingNeverWins) {
  OpCase c = PoolOf("MaxPool", {1, 1, 2, 2},
                    {{"kernel_shape", Ints{2, 2}},
                     {"strides", Ints{2, 2}},
                     {"pads", Ints{1, 1, 1, 1}}});
  HostTensor x;
  x.type = c.in[0];
  x.data = {-1, -2, -3, -4};
  EXPECT_EQ(RunOp(c, {x})[0].data, x.data);
}

TEST(MaxPoolTest, RefusesWhatDoesNotFit) {
  ExpectRefused("MaxPool", {F32({2, 3, 6, 6})}, {},
                "kernel_shape must have 2 entries");
  ExpectRefused("MaxPool", {F32({2, 3, 6, 6})},
                {{"kernel_shape", Ints{2, 2}}, {"ceil_mode", int64_t{1}}},
                "ceil_mode must be 0");
  ExpectRefused("MaxPool", {F32({2, 3, 6, 6})},
                {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{2, 0, 0, 0}}},
                "pads must be less than the window's 2 elements, got 2 and 0");
  ExpectRefused("MaxPool", {F32({2, 3})}, {{"kernel_shape", Ints{}}},
                "rank 3 to 5");
}

TEST(AveragePoolTest, MatchesDefinition) { CheckShapes("AveragePool"); }

TEST(AveragePoolTest, CountsPaddingIfAsked) {
  CheckCase(PoolOf("AveragePool", {2, 3, 5, 4},
                   {{"kernel_shape", Ints{3, 3}},
                    {"pads", Ints{1, 1, 1, 1}},
                    {"count_include_pad", int64_t{1}}}),
            1);
}

TEST(AveragePoolTest, GradientReadsNothing) {
  EXPECT_EQ(KeptValues(PoolOf("AveragePool", {2, 3, 6, 6},
                              {{"kernel_shape", Ints{2, 2}}})),
            "");
}

TEST(GlobalAveragePoolTest, MatchesDefinition) {
  CheckCase(PoolOf("GlobalAveragePool", {2, 3, 5, 4}), 1);
  CheckCase(PoolOf("GlobalAveragePool", {2, 16, 4, 4}), 2);
  CheckCase(PoolOf("GlobalAveragePool", {2, 3, 1, 1}), 3);
  CheckCase(PoolOf("GlobalAveragePool", {2, 3, 9}), 4);
}

TEST(GlobalAveragePoolTest, GradientReadsNothing) {
  EXPECT_EQ(KeptValues(PoolOf("GlobalAveragePool", {2, 3, 6, 6})), "");
}

}  // namespace
}  // namespace reprise
