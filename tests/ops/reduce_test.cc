// What random cases do not show of the reductions.

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
  ExpectRefused("ReduceMean", {I64({2})}, {}, "must be f32, got i64[2]");
  ExpectRefused("ReduceMax", {{DType::kBool, {2}}}, {},
                "must be f32, got bool[2]");
}

// Every fold, over runs and over rows, long enough for partial results of two
// threads.
TEST(ReduceTest, FoldsAreSharedAmongThreads) {
  struct Kind {
    const char* op;
    double (*add)(double total, double x);
    double (*finish)(double total);
    ContentRange range;
  };
  const auto same = [](double v) { return v; };
  const auto root = [](double v) { return std::sqrt(v); };
  const auto log = [](double v) { return std::log(v); };
  for (const Kind& kind :
       {Kind{"ReduceL1",
             [](double t, double x) { return t + std::abs(x); },
             same,
             {-2, 2}},
        Kind{"ReduceL2",
             [](double t, double x) { return t + x * x; },
             root,
             {-2, 2}},
        Kind{"ReduceSumSquare",
             [](double t, double x) { return t + x * x; },
             same,
             {-2, 2}},
        Kind{"ReduceLogSum",
             [](double t, double x) { return t + x; },
             log,
             {0, 2}},
        Kind{"ReduceLogSumExp",
             [](double t, double x) { return t + std::exp(x); },
             log,
             {-2, 2}}}) {
    for (const Dims& dims : {Dims{1, 150001}, Dims{3, 50001}, Dims{2, 40000}}) {
      for (const int64_t axis : {0, 1}) {
        OpCase c = Case(kind.op, dims, {axis});
        c.ranges = {kind.range};
        c.tolerance = 2e-5;
        c.gradient = false;
        c.definition = [kind, axis](const HostTensors& in, const Attrs&) {
          const HostTensor& x = in[0];
          const int64_t kept = x.type.dims[1 - axis];
          HostTensor y{F32({kept}), std::vector<double>(kept, 0.0)};
          int64_t at = 0;
          ForEachIndex(x.type.dims, [&](const Dims& index) {
            double& total = y.data[index[1 - axis]];
            total = kind.add(total, x.data[at++]);
          });
          for (double& v : y.data) v = kind.finish(v);
          return HostTensors{y};
        };
        CheckForward(c, /*seed=*/1);
      }
    }
  }
}

TEST(ReduceTest, FoldsOfNothingAreTheirNeutralElements) {
  struct Kind {
    const char* op;
    double want;
  };
  for (const Kind& kind :
       {Kind{"ReduceMin", kInf}, Kind{"ReduceProd", 1}, Kind{"ReduceL1", 0},
        Kind{"ReduceL2", 0}, Kind{"ReduceSumSquare", 0},
        Kind{"ReduceLogSum", -kInf}, Kind{"ReduceLogSumExp", -kInf}}) {
    const HostTensors y =
        RunOp(Case(kind.op, {2, 0}, {1}), {{F32({2, 0}), {}}});
    EXPECT_EQ(y[0].data, (std::vector<double>{kind.want, kind.want}))
        << kind.op;
  }
}

TEST(ReduceTest, ExponentialsNeitherOverflowNorVanish) {
  const OpCase c = Case("ReduceLogSumExp", {4, 2}, {1});
  const HostTensors y = RunOp(
      c, {{F32({4, 2}), {1000, 1000, -1000, -1000, kInf, 0, -kInf, -kInf}}});
  const double log_two = static_cast<float>(std::log(2.0));
  EXPECT_FLOAT_EQ(y[0].data[0], 1000 + log_two);
  EXPECT_FLOAT_EQ(y[0].data[1], -1000 + log_two);
  EXPECT_EQ(y[0].data[2], kInf);
  EXPECT_EQ(y[0].data[3], -kInf);
}

// Of [2, 0, 3] only the zero has others whose product is not 0; of [0, 0, 3]
// none has.
TEST(ReduceTest, AProductsGradientIsRightWhereElementsAreZero) {
  const HostTensors grads = GradientsThroughGraph(
      Case("ReduceProd", {3, 3}, {1}),
      {{F32({3, 3}), {2, 0, 3, 0, 0, 3, 2, 4, 5}}}, {{F32({3}), {1, 1, 2}}});
  EXPECT_EQ(grads[0].data, (std::vector<double>{0, 6, 0, 0, 0, 0, 40, 20, 16}));
}

TEST(ReduceTest, ANormsGradientAtZeroIsZero) {
  const HostTensors grads = GradientsThroughGraph(Case("ReduceL2", {2, 2}, {1}),
                                                  {{F32({2, 2}), {0, 0, 3, 4}}},
                                                  {{F32({2}), {1, 5}}});
  EXPECT_EQ(grads[0].data, (std::vector<double>{0, 0, 3, 4}));
}

TEST(ReduceTest, GradientsKeepNoMoreThanTheyRead) {
  EXPECT_EQ(KeptValues(Case("ReduceLogSum", {2, 3}, {1})), "y0");
  for (const char* op : {"ReduceL1", "ReduceSumSquare", "ReduceProd"}) {
    EXPECT_EQ(KeptValues(Case(op, {2, 3}, {1})), "x0") << op;
  }
  for (const char* op : {"ReduceMin", "ReduceL2", "ReduceLogSumExp"}) {
    EXPECT_EQ(KeptValues(Case(op, {2, 3}, {1})), "x0 y0") << op;
  }
}

}  // namespace
}  // namespace reprise
