// What random cases do not show of operators that indices steer.

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

OpCase Of(const std::string& op, std::vector<TensorType> in, Attrs attrs = {}) {
  OpCase c;
  c.op = op;
  c.in = std::move(in);
  c.attrs = std::move(attrs);
  return c;
}

TEST(GatherElementsTest, AnIndexOutOfRangeGivesNaN) {
  const HostTensors out = RunOp(Of("GatherElements", {F32({2}), I64({3})}),
                                {{F32({2}), {10, 20}}, {I64({3}), {1, 2, -3}}});
  EXPECT_EQ(out[0].data[0], 20);
  EXPECT_TRUE(std::isnan(out[0].data[1]));
  EXPECT_TRUE(std::isnan(out[0].data[2]));
}

TEST(GatherNdTest, AnIndexOutOfRangeAddsToNoGradient) {
  const HostTensors gradients = GradientsThroughGraph(
      Of("GatherND", {F32({2, 2}), I64({3, 1})}),
      {{F32({2, 2}), {0, 0, 0, 0}}, {I64({3, 1}), {1, 7, -1}}},
      {{F32({3, 2}), {1, 2, 10, 20, 100, 200}}});
  EXPECT_EQ(gradients[0].data, (std::vector<double>{0, 0, 101, 202}));
}

TEST(ScatterElementsTest, AnUpdateOutOfRangeIsDropped) {
  const OpCase c = Of("ScatterElements", {F32({2}), I64({3}), F32({3})});
  const HostTensors in = {
      {F32({2}), {1, 2}}, {I64({3}), {0, 2, -3}}, {F32({3}), {7, 8, 9}}};
  EXPECT_EQ(RunOp(c, in)[0].data, (std::vector<double>{7, 2}));
  const HostTensors gradients =
      GradientsThroughGraph(c, in, {{F32({2}), {10, 20}}});
  EXPECT_EQ(gradients[0].data, (std::vector<double>{0, 20}));
  EXPECT_EQ(gradients[1].data, (std::vector<double>{10, 0, 0}));
}

// The last of several updates stands, and gets the gradient alone.
TEST(ScatterElementsTest, TheLastUpdateOfAnElementCounts) {
  const OpCase c = Of("ScatterElements", {F32({2}), I64({3}), F32({3})});
  const HostTensors in = {
      {F32({2}), {1, 2}}, {I64({3}), {1, 1, 1}}, {F32({3}), {7, 8, 9}}};
  EXPECT_EQ(RunOp(c, in)[0].data, (std::vector<double>{1, 9}));
  EXPECT_EQ(GradientsThroughGraph(c, in, {{F32({2}), {10, 20}}})[1].data,
            (std::vector<double>{0, 0, 20}));
}

// y = 2 * 0 * 3: only the zero has a slope, 2 * 3.
TEST(ScatterElementsTest, ProductsWithAZeroHaveAGradient) {
  const OpCase c = Of("ScatterElements", {F32({1}), I64({2}), F32({2})},
                      {{"reduction", std::string("mul")}});
  const HostTensors gradients = GradientsThroughGraph(
      c, {{F32({1}), {2}}, {I64({2}), {0, 0}}, {F32({2}), {0, 3}}},
      {{F32({1}), {1}}});
  EXPECT_EQ(gradients[0].data, (std::vector<double>{0}));
  EXPECT_EQ(gradients[1].data, (std::vector<double>{6, 0}));
}

// max(5, 5, 1): two share.
TEST(ScatterElementsTest, TiesShareTheGradient) {
  const OpCase c = Of("ScatterElements", {F32({1}), I64({2}), F32({2})},
                      {{"reduction", std::string("max")}});
  const HostTensors gradients = GradientsThroughGraph(
      c, {{F32({1}), {5}}, {I64({2}), {0, 0}}, {F32({2}), {5, 1}}},
      {{F32({1}), {1}}});
  EXPECT_EQ(gradients[0].data, (std::vector<double>{0.5}));
  EXPECT_EQ(gradients[1].data, (std::vector<double>{0.5, 0}));
}

// Two threads, once sharing columns and once rows: sums of whole numbers are
// exact, so any lost or doubled addition shows.
TEST(ScatterNdTest, ThreadsLoseNoAddition) {
  for (const int64_t width : {200, 3}) {
    const int64_t rows = 50;
    const int64_t count = 120000 / width;
    OpCase c = Of("ScatterND",
                  {F32({rows, width}), I64({count, 1}), F32({count, width})},
                  {{"reduction", std::string("add")}});
    HostTensor data{c.in[0], std::vector<double>(rows * width, 1)};
    HostTensor indices{c.in[1], {}};
    HostTensor updates{c.in[2], {}};
    std::vector<double> want = data.data;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = i * i % rows;
      indices.data.push_back(static_cast<double>(row));
      for (int64_t j = 0; j < width; ++j) {
        updates.data.push_back(static_cast<double>((i + j) % 7));
        want[row * width + j] += updates.data.back();
      }
    }
    c.gradient = false;
    c.definition = [&want](const HostTensors& in, const Attrs&) {
      return HostTensors{{in[0].type, want}};
    };
    EXPECT_EQ(RunOp(c, {data, indices, updates})[0].data, want);
  }
}

TEST(ScatterElementsTest, GradientsKeepWhatTheyRead) {
  const std::vector<TensorType> in = {F32({3}), I64({2}), F32({2})};
  EXPECT_EQ(KeptValues(Of("ScatterElements", in)), "x1");
  EXPECT_EQ(KeptValues(
                Of("ScatterElements", in, {{"reduction", std::string("mul")}})),
            "x0 x1 x2");
  EXPECT_EQ(KeptValues(
                Of("ScatterElements", in, {{"reduction", std::string("max")}})),
            "x0 x1 x2 y0");
}

TEST(IndexedTest, RefusesWhatDoesNotFit) {
  ExpectRefused("GatherElements", {F32({3, 2}), F32({3, 2})}, {},
                "indices must be i32 or i64");
  ExpectRefused("GatherElements", {F32({3, 2}), I64({5, 3})}, {},
                "no longer than it along the axes other than 0");
  ExpectRefused("GatherElements", {F32({3}), I64({3})}, {{"axis", int64_t{1}}},
                "axis");
  ExpectRefused("GatherND", {F32({3, 2}), I64({4, 3})}, {},
                "rows of positions along axes of data");
  ExpectRefused("GatherND", {F32({3, 2}), I64({4, 1})},
                {{"batch_dims", int64_t{1}}}, "that follow 1 common ones");
  ExpectRefused("GatherND", {F32({3, 2}), I64({})}, {}, "rows of positions");
  ExpectRefused("ScatterND", {F32({3, 2}), I64({4, 1}), F32({4, 3})}, {},
                "updates must be f32[4,2], got f32[4,3]");
  ExpectRefused("ScatterElements", {F32({3}), I64({2}), F32({2})},
                {{"reduction", std::string("mean")}},
                "reduction must be none, add, mul, max or min, got 'mean'");
}

}  // namespace
}  // namespace reprise
