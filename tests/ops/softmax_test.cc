// What random cases do not show of Softmax and LogSoftmax.

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

OpCase Case(const std::string& op, Dims dims, int64_t axis) {
  OpCase c;
  c.op = op;
  c.in = {F32(std::move(dims))};
  c.attrs = Attrs{{"axis", axis}};
  return c;
}

TEST(SoftmaxTest, LargeScoresDoNotOverflow) {
  const HostTensors in = {{F32({3}), {1000, 1000, -1000}}};
  EXPECT_EQ(RunOp(Case("Softmax", {3}, 0), in)[0].data,
            (std::vector<double>{0.5, 0.5, 0}));
  EXPECT_EQ(RunOp(Case("LogSoftmax", {3}, 0), in)[0].data[2],
            static_cast<float>(-2000 - std::log(2.0)));
}

// What a mask does: an entry of -inf has no weight.
TEST(SoftmaxTest, AMaskedEntryHasWeightZero) {
  const HostTensors in = {{F32({1, 4}), {-kInf, 1, 1, -kInf}}};
  for (const int64_t axis : {0, 1}) {
    const Dims dims = axis == 1 ? Dims{1, 4} : Dims{4, 1};
    const HostTensors shaped = {{F32(dims), in[0].data}};
    EXPECT_EQ(RunOp(Case("Softmax", dims, axis), shaped)[0].data,
              (std::vector<double>{0, 0.5, 0.5, 0}));
  }
}

// A row of masked entries alone is NaN. Where nothing depends on it, as behind
// a Where, it has no gradient, and where something does, that is NaN.
TEST(SoftmaxTest, ARowThatNothingDependsOnHasNoGradient) {
  for (const bool log : {false, true}) {
    for (const bool columns : {false, true}) {
      OpCase c = Case(log ? "LogSoftmaxGrad" : "SoftmaxGrad", {3, 3}, 1);
      c.attrs = Attrs{{"axis", int64_t{columns ? 0 : 1}}};
      c.in = {F32({3, 3}), F32({3, 3})};
      const double nan = std::numeric_limits<double>::quiet_NaN();
      const double y = log ? -1.0986122886681098 : 1.0 / 3;
      std::vector<double> ys = {nan, nan, nan, nan, nan, nan, y, y, y};
      std::vector<double> dys = {0, 0, 0, 0, 3, 0, 3, 0, 0};
      if (columns) {
        ys = {nan, nan, y, nan, nan, y, nan, nan, y};
        dys = {0, 0, 3, 0, 3, 0, 0, 0, 0};
      }
      const std::vector<double> dx =
          RunOp(c, {{F32({3, 3}), ys}, {F32({3, 3}), dys}})[0].data;
      const auto at = [&](int row, int i) {
        return columns ? dx[i * 3 + row] : dx[row * 3 + i];
      };
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(at(0, i), 0);
        EXPECT_TRUE(std::isnan(at(1, i)));
        // Softmax: y (dy - 1); LogSoftmax: dy - 3 y.
        EXPECT_NEAR(at(2, i), log ? (i == 0 ? 2 : -1) : (i == 0 ? 2 : -1) / 3.0,
                    1e-5);
      }
    }
  }
}

TEST(SoftmaxTest, ThreadsShareRowsAndColumns) {
  for (const int64_t axis : {0, 1, 2}) {
    for (const bool log : {false, true}) {
      OpCase c = Case(log ? "LogSoftmax" : "Softmax", {40, 21, 100}, axis);
      c.definition = [axis, log](const HostTensors& in, const Attrs&) {
        const HostTensor& x = in[0];
        Dims kept = x.type.dims;
        kept[axis] = 1;
        const HostTensor sums = FromIndex(F32(kept), [&](Dims index) {
          double sum = 0;
          for (; index[axis] < x.type.dims[axis]; ++index[axis]) {
            sum += std::exp(At(x, index));
          }
          return std::log(sum);
        });
        HostTensor y = BroadcastElements(
            x, sums, [](double a, double b) { return a - b; });
        if (!log) y = MapElements(y, [](double v) { return std::exp(v); });
        return HostTensors{y};
      };
      CheckForward(c, /*seed=*/1);
    }
  }
}

TEST(SoftmaxTest, TheGradientKeepsOnlyTheResult) {
  EXPECT_EQ(KeptValues(Case("Softmax", {2, 3}, -1)), "y0");
  EXPECT_EQ(KeptValues(Case("LogSoftmax", {2, 3}, 0)), "y0");
}

TEST(SoftmaxTest, RefusesScalarsAndAxesThatAreNotThere) {
  ExpectRefused("Softmax", {F32({})}, {}, "rank must be at least 1, got f32[]");
  ExpectRefused("LogSoftmax", {F32({2, 3})}, Attrs{{"axis", int64_t{2}}}, "2");
}

}  // namespace
}  // namespace reprise
