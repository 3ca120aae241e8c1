// What random cases do not show of Neg, Exp, Log, Sqrt, Square, Relu,
// LeakyRelu, Elu, Sigmoid, Tanh and Gelu.

#include <cmath>

#include "gtest/gtest.h"
#include "tests/ops/unary_checks.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

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

TEST(PointwiseTest, AnElementsBitsDoNotDependOnItsPlace) {
  for (const char* op : {"Exp", "Log", "Sqrt", "Tanh", "Sigmoid", "Elu", "Gelu",
                         "Relu", "Square"}) {
    ExpectBitsDoNotDependOnPlace(op);
  }
}

TEST(PointwiseTest, ThreadsShareLongTensors) {
  // 2 threads from 65,536 elements on.
  OpCase c = VectorCase("Tanh", 70001);
  c.definition = [](const HostTensors& in, const Attrs&) {
    return HostTensors{
        MapElements(in[0], [](double x) { return std::tanh(x); })};
  };
  CheckForward(c, /*seed=*/1);
}

TEST(PointwiseTest, GradientsKeepTheResultWhereItSuffices) {
  EXPECT_EQ(KeptValues(VectorCase("Relu", 3)), "y0");
  EXPECT_EQ(KeptValues(VectorCase("Tanh", 3)), "y0");
  EXPECT_EQ(KeptValues(VectorCase("Sigmoid", 3)), "y0");
  EXPECT_EQ(KeptValues(VectorCase("Exp", 3)), "y0");
  EXPECT_EQ(KeptValues(VectorCase("Sqrt", 3)), "y0");
  EXPECT_EQ(KeptValues(VectorCase("Elu", 3)), "y0");
  EXPECT_EQ(KeptValues(VectorCase("LeakyRelu", 3)), "y0");
}

TEST(PointwiseTest, GradientsKeepTheOperandWhereTheResultDoesNotSuffice) {
  EXPECT_EQ(KeptValues(VectorCase("Square", 3)), "x0");
  EXPECT_EQ(KeptValues(VectorCase("Log", 3)), "x0");
  EXPECT_EQ(KeptValues(VectorCase("Gelu", 3)), "x0");
  // With a negative slope y's sign does not tell x's.
  EXPECT_EQ(KeptValues(VectorCase("LeakyRelu", 3, Attrs{{"alpha", -0.5f}})),
            "x0");
  EXPECT_EQ(KeptValues(VectorCase("Elu", 3, Attrs{{"alpha", -0.5f}})), "x0");
}

TEST(PointwiseTest, LinearOperatorsKeepNothing) {
  EXPECT_EQ(KeptValues(VectorCase("Neg", 3)), "");
}

TEST(PointwiseTest, RefusesWhatIsNotF32) {
  ExpectRefused("Relu", {I32({2})}, {}, "must be f32, got i32[2]");
  ExpectRefused("Gelu", {F32({2})}, Attrs{{"approximate", std::string("erf")}},
                "approximate must be \"none\" or \"tanh\", got \"erf\"");
}

}  // namespace
}  // namespace reprise
