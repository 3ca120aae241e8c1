// What random cases do not show of ArgMax, TopK, CumSum and OneHot.

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

OpCase Of(const std::string& op, std::vector<TensorType> in, Attrs attrs = {}) {
  OpCase c;
  c.op = op;
  c.in = std::move(in);
  c.attrs = std::move(attrs);
  return c;
}

TEST(ArgMaxTest, NotANumberBeatsEveryNumber) {
  const HostTensor x = {F32({5}), {1, kNaN, 7, kNaN, 2}};
  for (const char* op : {"ArgMax", "ArgMin"}) {
    OpCase c = Of(op, {F32({5})});
    EXPECT_EQ(RunOp(c, {x})[0].data, std::vector<double>{1}) << op;
    c.attrs.Set("select_last_index", int64_t{1});
    EXPECT_EQ(RunOp(c, {x})[0].data, std::vector<double>{3}) << op;
  }
}

TEST(ArgMaxTest, RefusesAnAxisWithoutElements) {
  ExpectRefused("ArgMax", {F32({2, 0})}, {{"axis", int64_t{1}}},
                "x must have elements along axis 1, got f32[2,0]");
  ExpectRefused("ArgMin", {F32({2})}, {{"axis", int64_t{1}}}, "axis");
}

TEST(TopKTest, NotANumberIsLarger) {
  OpCase c = Of("TopK", {F32({4})}, {{"k", int64_t{3}}});
  c.num_outputs = 2;
  const HostTensor x = {F32({4}), {1, kNaN, 7, 2}};
  EXPECT_EQ(RunOp(c, {x})[1].data, (std::vector<double>{1, 2, 3}));
  c.attrs.Set("largest", int64_t{0});
  EXPECT_EQ(RunOp(c, {x})[1].data, (std::vector<double>{0, 3, 2}));
}

TEST(TopKTest, TheGradientReadsThePositions) {
  EXPECT_EQ(KeptValues(Of("TopK", {F32({3, 4})}, {{"k", int64_t{2}}})), "y0:1");
}

TEST(TopKTest, LongLanesOnTwoThreadsComeInOrder) {
  OpCase c = Of("TopK", {F32({3, 20000})}, {{"k", int64_t{50}}});
  c.num_outputs = 2;
  c.gradient = false;
  HostTensor x = {c.in[0], {}};
  // 7919 and 20000 have no common factor: every whole number below 20000 once.
  for (int64_t i = 0; i < 60000; ++i) {
    x.data.push_back(static_cast<double>(i * 7919 % 20000));
  }
  const HostTensors out = RunOp(c, {x});
  for (int64_t i = 0; i < 150; ++i) {
    ASSERT_EQ(out[0].data[i], 19999 - i % 50);
    ASSERT_EQ(x.data[i / 50 * 20000 + static_cast<int64_t>(out[1].data[i])],
              out[0].data[i]);
  }
}

TEST(TopKTest, RefusesMoreThanThereIs) {
  ExpectRefused("TopK", {F32({3, 2})}, {{"k", int64_t{3}}},
                "k must be at most the 2 elements along axis 1");
  ExpectRefused("TopK", {F32({3, 2})}, {{"k", int64_t{-1}}},
                "k must be at least 0, got -1");
}

// A million times a tenth: rounded to float each time, the sum would be 100958.
TEST(CumSumTest, SumsInDouble) {
  const int64_t n = 1000000;
  OpCase c = Of("CumSum", {F32({n})}, {{"axis", int64_t{0}}});
  const float tenth = 0.1f;
  const HostTensor x = {F32({n}), std::vector<double>(n, tenth)};
  EXPECT_EQ(RunOp(c, {x})[0].data.back(),
            static_cast<float>(static_cast<double>(tenth) * n));
}

TEST(CumSumTest, RefusesWhatDoesNotFit) {
  ExpectRefused("CumSum", {F32({2})}, {{"axis", int64_t{1}}}, "axis");
  ExpectRefused("CumSum", {{DType::kU8, {2}}}, {{"axis", int64_t{0}}},
                "x must be f32, i32 or i64, got u8[2]");
}

TEST(OneHotTest, RefusesWhatDoesNotFit) {
  ExpectRefused("OneHot", {I64({2}), F32({3})}, {{"depth", int64_t{4}}},
                "values must be [2], off and on, got f32[3]");
  ExpectRefused("OneHot", {I64({2}), F32({2})}, {{"depth", int64_t{-1}}},
                "depth must be >= 0, got -1");
}

// Of floats the whole part counts; NaN is no index.
TEST(OneHotTest, TakesIndicesThatAreFloats) {
  OpCase c = Of("OneHot", {F32({3}), F32({2})}, {{"depth", int64_t{2}}});
  EXPECT_EQ(RunOp(c, {{F32({3}), {1, -2, kNaN}}, {F32({2}), {5, 6}}})[0].data,
            (std::vector<double>{5, 6, 6, 5, 5, 5}));
}

}  // namespace
}  // namespace reprise
