#include <cstdint>
#include <limits>
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
            "y0:2");
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
  ExpectRefused("MaxPool", {F32({2, 3, 6, 0})},
                {{"kernel_shape", Ints{1, 2}},
                 {"strides", Ints{1, 4}},
                 {"ceil_mode", int64_t{1}}},
                "a window of 2 does not fit into 0 elements");
  ExpectRefused("MaxPool", {F32({2, 3, 6, 6})},
                {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{2, 0, 0, 0}}},
                "pads must be less than the window's 2 elements, got 2 and 0");
  ExpectRefused("MaxPool", {F32({2, 3, 6, 6})},
                {{"kernel_shape", Ints{2, int64_t{1} << 31}}},
                "the window must have at most 2147483647 elements along an "
                "axis, got [2,2147483648]");
  ExpectRefused("MaxPool", {F32({2, 3})}, {{"kernel_shape", Ints{}}},
                "rank 3 to 5");
}

// 4 elements, windows of 2 at 0, 3: the second reaches beyond the end.
TEST(MaxPoolTest, CeilModeAddsTheWindowThatIsCutOff) {
  OpCase c = PoolOf("MaxPool", {1, 1, 4},
                    {{"kernel_shape", Ints{2}},
                     {"strides", Ints{3}},
                     {"ceil_mode", int64_t{1}}});
  EXPECT_EQ(RunOp(c, {{F32({1, 1, 4}), {1, 2, 3, 4}}})[0].data,
            (std::vector<double>{2, 4}));
}

// 2 elements and one of padding at either end: windows of 2 at -1, 1; the next
// one, at 3, would begin in the padding.
TEST(MaxPoolTest, NoWindowBeginsInThePaddingAtTheEnd) {
  OpCase c = PoolOf("MaxPool", {1, 1, 2},
                    {{"kernel_shape", Ints{2}},
                     {"strides", Ints{2}},
                     {"pads", Ints{1, 1}},
                     {"ceil_mode", int64_t{1}}});
  EXPECT_EQ(RunOp(c, {{F32({1, 1, 2}), {1, 2}}})[0].data,
            (std::vector<double>{1, 2}));
}

// 3x2 elements: row-major 0 1 / 2 3 / 4 5, column-major 0 3 / 1 4 / 2 5; the
// second plane begins at 6.
TEST(MaxPoolTest, IndicesCountInTheAskedOrder) {
  OpCase c = PoolOf("MaxPool", {1, 2, 3, 2}, {{"kernel_shape", Ints{3, 2}}});
  c.num_outputs = 2;
  const HostTensor x = {F32({1, 2, 3, 2}),
                        {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0}};
  EXPECT_EQ(RunOp(c, {x})[1].data, (std::vector<double>{3, 10}));
  c.attrs.Set("storage_order", int64_t{1});
  EXPECT_EQ(RunOp(c, {x})[1].data, (std::vector<double>{4, 8}));
}

// Dilated windows over the only element, at -3, -2 and -1: the last two
// straddle it. Nothing to compare, no gradient, and nothing written outside the
// operands.
TEST(MaxPoolTest, AWindowWithoutElementsHasNoWinner) {
  OpCase c = PoolOf("MaxPool", {1, 1, 1},
                    {{"kernel_shape", Ints{2}},
                     {"dilations", Ints{3}},
                     {"pads", Ints{3, 2}}});
  const double lowest = std::numeric_limits<float>::lowest();
  const HostTensor x = {F32({1, 1, 1}), {7}};
  EXPECT_EQ(RunOp(c, {x})[0].data, (std::vector<double>{7, lowest, lowest}));
  const HostTensor weights = {F32({1, 1, 3}), {1, 10, 100}};
  EXPECT_EQ(GradientsThroughGraph(c, {x}, {weights})[0].data,
            std::vector<double>{1});
}

// 257 elements: no byte counts them.
TEST(MaxPoolTest, LongDilatedWindowsKnowTheirWinner) {
  OpCase c = PoolOf("MaxPool", {1, 2, 520},
                    {{"kernel_shape", Ints{257}}, {"dilations", Ints{2}}});
  CheckForward(c, 1);
  HostTensor x = {F32({1, 2, 520}), std::vector<double>(1040, 0)};
  x.data[512] = 1;
  const HostTensor weights = {F32({1, 2, 8}), std::vector<double>(16, 1)};
  // Windows at 0, 2, 4 and 6 of the first plane see element 512.
  EXPECT_EQ(GradientsThroughGraph(c, {x}, {weights})[0].data[512], 4);
}

TEST(AveragePoolTest, MatchesDefinition) { CheckShapes("AveragePool"); }

TEST(AveragePoolTest, CountsPaddingIfAsked) {
  CheckCase(PoolOf("AveragePool", {2, 3, 5, 4},
                   {{"kernel_shape", Ints{3, 3}},
                    {"pads", Ints{1, 1, 1, 1}},
                    {"count_include_pad", int64_t{1}}}),
            1);
}

// 4 elements, one of padding at either end, windows of 3 at -1, 2: the second
// is cut off after element 3 and the padding. At stride 4: at -1, 3, of which
// the second covers element 3, the padding, and one element beyond.
TEST(AveragePoolTest, WhatIsBeyondThePaddingNeverCounts) {
  OpCase c = PoolOf("AveragePool", {1, 1, 4},
                    {{"kernel_shape", Ints{3}},
                     {"strides", Ints{4}},
                     {"pads", Ints{1, 1}},
                     {"ceil_mode", int64_t{1}},
                     {"count_include_pad", int64_t{1}}});
  EXPECT_EQ(RunOp(c, {{F32({1, 1, 4}), {3, 6, 9, 12}}})[0].data,
            (std::vector<double>{3, 6}));
}

TEST(LpPoolTest, MatchesDefinition) { CheckShapes("LpPool"); }

TEST(LpPoolTest, TheGradientOfNothingIsNothing) {
  OpCase c = PoolOf("LpPool", {1, 1, 2}, {{"kernel_shape", Ints{2}}});
  EXPECT_EQ(GradientsThroughGraph(c, {{F32({1, 1, 2}), {0, 0}}},
                                  {{F32({1, 1, 1}), {1}}})[0]
                .data,
            (std::vector<double>{0, 0}));
}

TEST(LpPoolTest, RefusesNormsBelowOne) {
  ExpectRefused("LpPool", {F32({1, 1, 2})},
                {{"kernel_shape", Ints{2}}, {"p", int64_t{0}}},
                "p must be at least 1, got 0");
  ExpectRefused("LpPool", {F32({1, 1, 2})},
                {{"kernel_shape", Ints{2}}, {"p", int64_t{1} << 31}},
                "p must be at most 2147483647, got 2147483648");
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
