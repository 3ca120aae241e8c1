// What random cases do not show of Gather.

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

OpCase Embedding(int64_t rows, int64_t width, int64_t count) {
  OpCase c;
  c.op = "Gather";
  c.in = {F32({rows, width}), I64({count})};
  return c;
}

// An index is data: it cannot be judged before the step runs.
TEST(GatherTest, AnIndexOutOfRangeGivesNaN) {
  const double most = 9e18;
  const HostTensors out =
      RunOp(Embedding(2, 1, 5),
            {{F32({2, 1}), {10, 20}}, {I64({5}), {-2, -3, 2, most, 1}}});
  EXPECT_EQ(out[0].data[0], 10);
  EXPECT_TRUE(std::isnan(out[0].data[1]));
  EXPECT_TRUE(std::isnan(out[0].data[2]));
  EXPECT_TRUE(std::isnan(out[0].data[3]));
  EXPECT_EQ(out[0].data[4], 20);
}

TEST(GatherTest, OfIntegersAnIndexOutOfRangeGivesZero) {
  OpCase c = Embedding(2, 1, 2);
  c.in[0] = I32({2, 1});
  const HostTensors out =
      RunOp(c, {{I32({2, 1}), {10, 20}}, {I64({2}), {2, 1}}});
  EXPECT_EQ(out[0].data, (std::vector<double>{0, 20}));
}

TEST(GatherTest, AnIndexOutOfRangeAddsToNoGradient) {
  const HostTensors gradients = GradientsThroughGraph(
      Embedding(2, 1, 3), {{F32({2, 1}), {0, 0}}, {I64({3}), {1, 7, -1}}},
      {{F32({3, 1}), {1, 10, 100}}});
  EXPECT_EQ(gradients[0].data, (std::vector<double>{0, 101}));
}

// Two threads, once sharing columns and once rows: sums of whole numbers are
// exact, so any lost or doubled addition shows.
TEST(GatherTest, ThreadsLoseNoAddition) {
  for (const int64_t width : {200, 3}) {
    const int64_t rows = 50;
    const int64_t count = 120000 / width;
    HostTensor indices{I64({count}), {}};
    HostTensor weights{F32({count, width}), {}};
    std::vector<double> want(rows * width, 0);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = i * i % rows;
      indices.data.push_back(static_cast<double>(row));
      for (int64_t j = 0; j < width; ++j) {
        weights.data.push_back(static_cast<double>((i + j) % 7));
        want[row * width + j] += weights.data.back();
      }
    }
    OpCase grad;
    grad.op = "GatherGrad";
    grad.in = {indices.type, weights.type};
    grad.attrs = Attrs{{"dims", Ints{rows, width}}};
    grad.definition = [&want, width](const HostTensors&, const Attrs&) {
      return HostTensors{{F32({rows, width}), want}};
    };
    EXPECT_EQ(RunOp(grad, {indices, weights})[0].data, want);
    OpCase c = Embedding(rows, width, count);
    const HostTensor table{F32({rows, width}),
                           std::vector<double>(rows * width, 0)};
    EXPECT_EQ(GradientsThroughGraph(c, {table, indices}, {weights})[0].data,
              want);
  }
}

TEST(GatherTest, TheGradientKeepsTheIndices) {
  EXPECT_EQ(KeptValues(Embedding(3, 2, 4)), "x1");
}

TEST(GatherTest, RefusesIndicesThatAreNotWholeNumbers) {
  ExpectRefused("Gather", {F32({3}), F32({2})}, {},
                "indices must be i32 or i64, got f32[2]");
  ExpectRefused("Gather", {F32({}), I64({2})}, {}, "axis");
}

}  // namespace
}  // namespace reprise
