// What random cases do not show of the elementary functions built on
// ops/lib/unary.h.

#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ops/unary_checks.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

constexpr double kHalfPi = 1.57079632679489662;

TEST(UnaryTest, LimitsAndNaNComeOutAsInMathematics) {
  ExpectValues("Abs", {-2, 0, kInf, -kInf, kNaN}, {2, 0, kInf, kInf, kNaN});
  ExpectValues("Sign", {-2, 0, 3, kInf, -kInf, kNaN}, {-1, 0, 1, 1, -1, kNaN});
  ExpectValues("Floor", {-1.5, 1.5, 2, 1e20, kInf, kNaN},
               {-2, 1, 2, 1e20, kInf, kNaN});
  ExpectValues("Ceil", {-1.5, 1.5, 2, 1e20, -kInf, kNaN},
               {-1, 2, 2, 1e20, -kInf, kNaN});
  ExpectValues("Reciprocal", {2, 0, kInf, kNaN}, {0.5, kInf, 0, kNaN});
  ExpectValues("Erf", {0, 6, -6, kInf, -kInf, kNaN}, {0, 1, -1, 1, -1, kNaN});
  ExpectValues("Atan", {0, kInf, -kInf, kNaN}, {0, kHalfPi, -kHalfPi, kNaN});
  ExpectValues("Asin", {0, 1, -1, 1.5, kNaN},
               {0, kHalfPi, -kHalfPi, kNaN, kNaN});
  ExpectValues("Acos", {1, 0, -1.5, kNaN}, {0, kHalfPi, kNaN, kNaN});
  ExpectValues("Sinh", {0, kInf, -kInf, 100, kNaN},
               {0, kInf, -kInf, kInf, kNaN});
  ExpectValues("Cosh", {0, kInf, -kInf, 100, kNaN},
               {1, kInf, kInf, kInf, kNaN});
  ExpectValues("Asinh", {0, kInf, -kInf, kNaN}, {0, kInf, -kInf, kNaN});
  ExpectValues("Acosh", {1, 0.5, kInf, kNaN}, {0, kNaN, kInf, kNaN});
  ExpectValues("Atanh", {0, 1, -1, 2, kNaN}, {0, kInf, -kInf, kNaN, kNaN});
  ExpectValues("Sin", {0, kInf, kNaN}, {0, kNaN, kNaN});
  ExpectValues("Cos", {0, -kInf, kNaN}, {1, kNaN, kNaN});
  ExpectValues("Softplus", {-200, kInf, -kInf, 200, kNaN},
               {0, kInf, 0, 200, kNaN});
  ExpectValues("Softsign", {0, 1, -1, kNaN}, {0, 0.5, -0.5, kNaN});
  ExpectValues("Swish", {0, 200, -200, kNaN}, {0, 200, 0, kNaN});
  ExpectValues("Mish", {0, 200, -200, kNaN}, {0, 200, 0, kNaN});
  ExpectValues("HardSigmoid", {-9, 0, 9, kNaN}, {0, 0.5, 1, kNaN});
  ExpectValues("HardSwish", {-9, 0, 9, kNaN}, {0, 0, 9, kNaN});
  ExpectValues("ThresholdedRelu", {1, 2, -kInf, kNaN}, {0, 2, 0, kNaN});
  ExpectValues("Celu", {0, 3, -kInf, kNaN}, {0, 3, -1, kNaN});
  ExpectValues("Selu", {0, kInf, kNaN}, {0, kInf, kNaN});
}

TEST(UnaryTest, RoundTakesHalvesToTheEvenNeighbour) {
  ExpectValues("Round", {0.5, 1.5, 2.5, -0.5, -1.5, 3e9, kInf, kNaN},
               {0, 2, 2, -0.0, -2, 3e9, kInf, kNaN});
}

TEST(UnaryTest, ClipKeepsNaNAndItsUpperBoundWins) {
  ExpectValues("Clip", {-5, 0, 5, kInf, kNaN}, {-1, 0, 2, 2, kNaN},
               Attrs{{"min", -1.0f}, {"max", 2.0f}});
  ExpectValues("Clip", {-5, 5, -kInf}, {-5, 2, -kInf}, Attrs{{"max", 2.0f}});
  // min(max(x, 3), 1) is 1 for every x.
  ExpectValues("Clip", {-5, 2, 5}, {1, 1, 1},
               Attrs{{"min", 3.0f}, {"max", 1.0f}});
}

TEST(UnaryTest, IntegersWrapAround) {
  const double least = -2147483648.0;
  for (const char* op : {"Abs", "Neg"}) {
    OpCase c;
    c.op = op;
    c.in = {I32({2})};
    EXPECT_EQ(RunOp(c, {{I32({2}), {least, -7}}})[0].data,
              (std::vector<double>{least, 7}))
        << op;
  }
}

// 4 units of the last place, as common libraries promise for vectors.
TEST(UnaryTest, FunctionsAreWithinFourUnitsOfTheLastPlace) {
  const auto expect = [](const char* op, double low, double high,
                         double (*f)(double)) {
    EXPECT_LT(LargestUlps(op, low, high, f), 4)
        << op << " on [" << low << ", " << high << "]";
  };
  expect("Erf", -1e-3, 1e-3, [](double x) { return std::erf(x); });
  expect("Erf", -5, 5, [](double x) { return std::erf(x); });
  expect("Sinh", -1e-3, 1e-3, [](double x) { return std::sinh(x); });
  expect("Sinh", -88, 88, [](double x) { return std::sinh(x); });
  expect("Cosh", -88, 88, [](double x) { return std::cosh(x); });
  expect("Asin", -1, 1, [](double x) { return std::asin(x); });
  expect("Acos", -1, 1, [](double x) { return std::acos(x); });
  expect("Atan", -20, 20, [](double x) { return std::atan(x); });
  expect("Asinh", -1e-3, 1e-3, [](double x) { return std::asinh(x); });
  expect("Asinh", -50, 50, [](double x) { return std::asinh(x); });
  expect("Asinh", 1e4, 1e30, [](double x) { return std::asinh(x); });
  expect("Acosh", 1, 50, [](double x) { return std::acosh(x); });
  expect("Acosh", 1e4, 1e30, [](double x) { return std::acosh(x); });
  expect("Atanh", -0.999, 0.999, [](double x) { return std::atanh(x); });
  expect("Atanh", -1e-3, 1e-3, [](double x) { return std::atanh(x); });
  expect("Softplus", -80, 80, [](double x) { return std::log1p(std::exp(x)); });
  expect("Sin", -1.5, 1.5, [](double x) { return std::sin(x); });
  expect("Cos", -1.5, 1.5, [](double x) { return std::cos(x); });
  // A quotient of two of them.
  EXPECT_LT(LargestUlps("Tan", -1.5, 1.5, [](double x) { return std::tan(x); }),
            8);
}

// Beyond the range that the vector's reduction of the argument serves.
TEST(UnaryTest, SineAndCosineOfLargeArguments) {
  const std::vector<double> x = {29999, 30001, -1e6, 1e10, 3e38};
  const std::vector<double> sine = Apply("Sin", x);
  const std::vector<double> cosine = Apply("Cos", x);
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = static_cast<float>(x[i]);
    EXPECT_NEAR(sine[i], std::sin(exact), 3e-7) << x[i];
    EXPECT_NEAR(cosine[i], std::cos(exact), 3e-7) << x[i];
  }
}

TEST(UnaryTest, AnElementsBitsDoNotDependOnItsPlace) {
  for (const char* op : {"Abs",         "Reciprocal", "Sign",
                         "Floor",       "Ceil",       "Round",
                         "Erf",         "Sin",        "Cos",
                         "Tan",         "Sinh",       "Cosh",
                         "Asin",        "Acos",       "Atan",
                         "Asinh",       "Acosh",      "Atanh",
                         "Softplus",    "Softsign",   "Swish",
                         "HardSigmoid", "HardSwish",  "Mish",
                         "Selu",        "Celu",       "ThresholdedRelu",
                         "Clip"}) {
    ExpectBitsDoNotDependOnPlace(op);
  }
}

TEST(UnaryTest, GradientsKeepTheResultWhereItSuffices) {
  for (const char* op : {"Reciprocal", "Tan", "Softplus", "HardSigmoid", "Selu",
                         "Celu", "ThresholdedRelu", "Clip"}) {
    EXPECT_EQ(KeptValues(VectorCase(op, 3)), "y0") << op;
  }
}

TEST(UnaryTest, GradientsKeepTheOperandWhereTheResultDoesNotSuffice) {
  for (const char* op :
       {"Abs", "Erf", "Sin", "Cos", "Sinh", "Cosh", "Asin", "Acos", "Atan",
        "Asinh", "Acosh", "Atanh", "Softsign", "Swish", "HardSwish", "Mish"}) {
    EXPECT_EQ(KeptValues(VectorCase(op, 3)), "x0") << op;
  }
  // y's sign does not tell x's.
  EXPECT_EQ(KeptValues(VectorCase("Selu", 3, Attrs{{"alpha", -0.5f}})), "x0");
  EXPECT_EQ(
      KeptValues(VectorCase("ThresholdedRelu", 3, Attrs{{"alpha", -0.5f}})),
      "x0");
}

TEST(UnaryTest, RefusesWhatItDoesNotTake) {
  ExpectRefused("Erf", {I32({2})}, {}, "x must be f32, got i32[2]");
  ExpectRefused("Celu", {F32({2})}, Attrs{{"alpha", 0.0f}},
                "alpha must not be 0");
}

}  // namespace
}  // namespace reprise
