// What random cases do not show of Neg, Exp, Log, Sqrt, Square, Relu,
// LeakyRelu, Elu, Sigmoid, Tanh and Gelu.

#include <algorithm>
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

OpCase Case(const std::string& op, int64_t n, Attrs attrs = {}) {
  OpCase c;
  c.op = op;
  c.in = {F32({n})};
  c.attrs = std::move(attrs);
  return c;
}

// Returns the operator's results on a list of numbers.
std::vector<double> Apply(const std::string& op, std::vector<double> x,
                          Attrs attrs = {}) {
  const int64_t n = static_cast<int64_t>(x.size());
  const HostTensors out =
      RunOp(Case(op, n, std::move(attrs)), {{F32({n}), std::move(x)}});
  return out.empty() ? std::vector<double>() : out[0].data;
}

void ExpectValues(const std::string& op, const std::vector<double>& x,
                  const std::vector<double>& want, Attrs attrs = {}) {
  const std::vector<double> got = Apply(op, x, std::move(attrs));
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << op << "(" << x[i] << ") = " << got[i];
    } else {
      EXPECT_EQ(got[i], want[i]) << op << "(" << x[i] << ")";
    }
  }
}

TEST(PointwiseTest, LimitsAndNaNComeOutAsInMathematics) {
  ExpectValues("Exp", {0, kInf, -kInf, kNaN, 89, -110},
               {1, kInf, 0, kNaN, kInf, 0});
  ExpectValues("Log", {1, 0, -1, kInf, kNaN}, {0, -kInf, kNaN, kInf, kNaN});
  ExpectValues("Sqrt", {0, 4, -1, kInf, kNaN}, {0, 2, kNaN, kInf, kNaN});
  ExpectValues("Tanh", {0, kInf, -kInf, 20, -20, kNaN},
               {0, 1, -1, 1, -1, kNaN});
  ExpectValues("Sigmoid", {0, kInf, -kInf, kNaN}, {0.5, 1, 0, kNaN});
  ExpectValues("Relu", {-1, 0, 2, kInf, -kInf, kNaN}, {0, 0, 2, kInf, 0, kNaN});
  ExpectValues("Neg", {1, -2, kInf, kNaN}, {-1, 2, -kInf, kNaN});
  ExpectValues("LeakyRelu", {-2, 0, 2, kNaN}, {-1, 0, 2, kNaN},
               Attrs{{"alpha", 0.5f}});
  ExpectValues("Elu", {0, 3, -kInf, kNaN}, {0, 3, -1, kNaN});
  ExpectValues("Gelu", {0, 30, -30, kNaN}, {0, 30, 0, kNaN});
}

// The error of f in units of the last place of an f32, over a sweep.
double LargestUlps(const std::string& op, double low, double high,
                   double (*f)(double), Attrs attrs = {}) {
  constexpr int kPoints = 40000;
  std::vector<double> x;
  for (int i = 0; i < kPoints; ++i) {
    x.push_back(static_cast<float>(low + (high - low) * i / (kPoints - 1)));
  }
  const std::vector<double> y = Apply(op, x, std::move(attrs));
  double largest = 0;
  for (int i = 0; i < kPoints; ++i) {
    const double want = f(x[i]);
    int exponent;
    std::frexp(want, &exponent);
    const double ulp = std::ldexp(1.0, std::max(exponent, -125) - 24);
    largest = std::max(largest, std::abs(y[i] - want) / ulp);
  }
  return largest;
}

// The functions are our own: 2 units is what a model's f32 arithmetic does not
// notice, and what common mathematical libraries promise for vectors.
TEST(PointwiseTest, ElementaryFunctionsAreWithinTwoUnitsOfTheLastPlace) {
  EXPECT_LT(LargestUlps("Exp", -87, 88.7, [](double x) { return std::exp(x); }),
            2);
  EXPECT_LT(LargestUlps("Exp", -1, 1, [](double x) { return std::exp(x); }), 2);
  EXPECT_LT(LargestUlps("Log", 1e-30, 3, [](double x) { return std::log(x); }),
            2);
  EXPECT_LT(LargestUlps("Log", 1, 1e30, [](double x) { return std::log(x); }),
            2);
  EXPECT_LT(LargestUlps("Tanh", -10, 10, [](double x) { return std::tanh(x); }),
            3);
  EXPECT_LT(
      LargestUlps("Tanh", -1e-3, 1e-3, [](double x) { return std::tanh(x); }),
      2);
  EXPECT_LT(LargestUlps("Sigmoid", -80, 80,
                        [](double x) { return 1 / (1 + std::exp(-x)); }),
            3);
  EXPECT_LT(LargestUlps("Elu", -80, 0, [](double x) { return std::expm1(x); }),
            4);
  EXPECT_LT(
      LargestUlps("Elu", -1e-3, 0, [](double x) { return std::expm1(x); }), 4);
}

// An element gets the same operations in a full vector and in the remainder: a
// list read backwards gives the results backwards, whatever its length.
TEST(PointwiseTest, AnElementsBitsDoNotDependOnItsPlace) {
  for (const char* op : {"Exp", "Log", "Sqrt", "Tanh", "Sigmoid", "Elu", "Gelu",
                         "Relu", "Square"}) {
    for (const int n : {1, 15, 16, 17, 37, 67}) {
      std::vector<double> x;
      for (int i = 0; i < n; ++i) {
        x.push_back(static_cast<float>(std::sin(1.0 + i) * 3));
      }
      const std::vector<double> y = Apply(op, x);
      std::reverse(x.begin(), x.end());
      std::vector<double> backwards = Apply(op, x);
      std::reverse(backwards.begin(), backwards.end());
      for (int i = 0; i < n; ++i) {
        EXPECT_TRUE(y[i] == backwards[i] || std::isnan(y[i]))
            << op << " of " << n << ", element " << i;
      }
    }
  }
}

TEST(PointwiseTest, ThreadsShareLongTensors) {
  // 2 threads from 65,536 elements on.
  OpCase c = Case("Tanh", 70001);
  c.definition = [](const HostTensors& in, const Attrs&) {
    return HostTensors{
        MapElements(in[0], [](double x) { return std::tanh(x); })};
  };
  CheckForward(c, /*seed=*/1);
}

TEST(PointwiseTest, GradientsKeepTheResultWhereItSuffices) {
  EXPECT_EQ(KeptValues(Case("Relu", 3)), "y0");
  EXPECT_EQ(KeptValues(Case("Tanh", 3)), "y0");
  EXPECT_EQ(KeptValues(Case("Sigmoid", 3)), "y0");
  EXPECT_EQ(KeptValues(Case("Exp", 3)), "y0");
  EXPECT_EQ(KeptValues(Case("Sqrt", 3)), "y0");
  EXPECT_EQ(KeptValues(Case("Elu", 3)), "y0");
  EXPECT_EQ(KeptValues(Case("LeakyRelu", 3)), "y0");
}

TEST(PointwiseTest, GradientsKeepTheOperandWhereTheResultDoesNotSuffice) {
  EXPECT_EQ(KeptValues(Case("Square", 3)), "x0");
  EXPECT_EQ(KeptValues(Case("Log", 3)), "x0");
  EXPECT_EQ(KeptValues(Case("Gelu", 3)), "x0");
  // With a negative slope y's sign does not tell x's.
  EXPECT_EQ(KeptValues(Case("LeakyRelu", 3, Attrs{{"alpha", -0.5f}})), "x0");
  EXPECT_EQ(KeptValues(Case("Elu", 3, Attrs{{"alpha", -0.5f}})), "x0");
}

TEST(PointwiseTest, LinearOperatorsKeepNothing) {
  EXPECT_EQ(KeptValues(Case("Neg", 3)), "");
}

TEST(PointwiseTest, RefusesWhatIsNotF32) {
  ExpectRefused("Relu", {I32({2})}, {}, "must be f32, got i32[2]");
  ExpectRefused("Gelu", {F32({2})}, Attrs{{"approximate", std::string("erf")}},
                "approximate must be \"none\" or \"tanh\", got \"erf\"");
}

}  // namespace
}  // namespace reprise
