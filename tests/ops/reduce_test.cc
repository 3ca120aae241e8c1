// What random cases do not show of ReduceSum, ReduceMean and ReduceMax.

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();

OpCase Case(const std::string& op, Dims dims, Ints axes) {
  OpCase c;
  c.op = op;
  c.in = {F32(std::move(dims))};
  c.attrs = Attrs{{"axes", std::move(axes)}, {"keepdims", int64_t{0}}};
  return c;
}

// [a, b, c] over one axis, or all if axis is 3.
HostTensor Reduced(const HostTensor& x, int axis, bool max) {
  Dims dims = x.type.dims;
  if (axis < 3) {
    dims.erase(dims.begin() + axis);
  } else {
    dims.clear();
  }
  HostTensor y{F32(dims), std::vector<double>(Product(dims), max ? -kInf : 0)};
  int64_t at = 0;
  ForEachIndex(x.type.dims, [&](const Dims& index) {
    int64_t to = 0;
    for (int i = 0; i < 3; ++i) {
      if (axis < 3 && i != axis) to = to * x.type.dims[i] + index[i];
    }
    double& result = y.data[to];
    const double element = x.data[at++];
    result = max ? std::max(result, element) : result + element;
  });
  return y;
}

// Every way in which threads share a reduction: outputs, columns, and, where
// outputs are few, the elements themselves with partial results.
TEST(ReduceTest, ThreadsShareLongReductions) {
  struct Shape {
    Dims dims;
    int axis;
  };
  for (const Shape& shape :
       {Shape{{1, 1, 150001}, 3}, Shape{{300, 1, 400}, 2},
        Shape{{50000, 1, 3}, 0}, Shape{{2, 300, 250}, 1},
        Shape{{70, 1, 2000}, 0}, Shape{{40000, 3, 1}, 0},
        Shape{{400, 1, 301}, 0}, Shape{{1, 2, 70000}, 2}}) {
    for (const bool max : {false, true}) {
      OpCase c = Case(max ? "ReduceMax" : "ReduceSum", shape.dims,
                      shape.axis < 3 ? Ints{shape.axis} : Ints{0, 1, 2});
      c.definition = [axis = shape.axis, max](const HostTensors& in,
                                              const Attrs&) {
        return HostTensors{Reduced(in[0], axis, max)};
      };
      // Up to 150,001 terms below 2: the sum is about 450, each of its blocks
      // is exact to 6e-8 of its own size.
      c.tolerance = 5e-5;
      CheckForward(c, /*seed=*/1);
    }
  }
}

// Errors of a long sum stay those of its blocks: 0.1f a million times, where
// one running sum in f32 would be off by about 1,000.
TEST(ReduceTest, LongSumsStayAccurate) {
  const int64_t n = 1000000;
  const HostTensors in = {
      {F32({n}), std::vector<double>(n, static_cast<double>(0.1f))}};
  const double want = static_cast<double>(0.1f) * n;
  EXPECT_NEAR(RunOp(Case("ReduceSum", {n}, {0}), in)[0].data[0], want, 0.1);
}

TEST(ReduceTest, NothingToReduceGivesTheNeutralElement) {
  const HostTensors in = {{F32({2, 0}), {}}};
  EXPECT_EQ(RunOp(Case("ReduceSum", {2, 0}, {1}), in)[0].data,
            (std::vector<double>{0, 0}));
  EXPECT_EQ(RunOp(Case("ReduceMax", {2, 0}, {1}), in)[0].data,
            (std::vector<double>{-kInf, -kInf}));
  EXPECT_TRUE(
      std::isnan(RunOp(Case("ReduceMean", {2, 0}, {1}), in)[0].data[0]));
}

TEST(ReduceTest, TheMaximumOfWhatHoldsANaNIsNaN) {
  for (int at = 0; at < 40; ++at) {
    std::vector<double> x(40, 1);
    x[at] = kNaN;
    const HostTensors in = {{F32({40}), x}};
    EXPECT_TRUE(std::isnan(RunOp(Case("ReduceMax", {40}, {0}), in)[0].data[0]))
        << at;
  }
}

TEST(ReduceTest, TiesShareTheGradientOfAMaximum) {
  OpCase c = Case("ReduceMax", {5}, {0});
  const HostTensors in = {{F32({5}), {3, 1, 3, 3, 2}}};
  const HostTensors weights = {{F32({}), {6}}};
  EXPECT_EQ(GradientsThroughGraph(c, in, weights)[0].data,
            (std::vector<double>{2, 0, 2, 2, 0}));
}

TEST(ReduceTest, SumsKeepNothingAndAMaximumKeepsBothSides) {
  EXPECT_EQ(KeptValues(Case("ReduceSum", {2, 3}, {0})), "");
  EXPECT_EQ(KeptValues(Case("ReduceMean", {2, 3}, {0})), "");
  EXPECT_EQ(KeptValues(Case("ReduceMax", {2, 3}, {0})), "x0 y0");
}

TEST(ReduceTest, RefusesBadAxesAndTypes) {
  ExpectRefused("ReduceSum", {F32({2, 3})}, Attrs{{"axes", Ints{2}}}, "2");
  ExpectRefused("ReduceMean", {F32({2, 3})}, Attrs{{"axes", Ints{1, -1}}},
                "axis 1 twice in [1,-1]");
  ExpectRefused("ReduceMax", {I64({2})}, {}, "must be f32, got i64[2]");
}

}  // namespace
}  // namespace reprise
