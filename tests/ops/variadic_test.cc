// What random cases do not show of Max, Min, Sum, Mean, Mod and PRelu.

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

const double kNaN = std::numeric_limits<double>::quiet_NaN();

OpCase Case(const std::string& op, std::vector<TensorType> in,
            Attrs attrs = {}) {
  OpCase c;
  c.op = op;
  c.in = std::move(in);
  c.attrs = std::move(attrs);
  return c;
}

TEST(VariadicTest, EqualOperandsShareTheGradient) {
  for (const char* op : {"Max", "Min"}) {
    const HostTensors grads = GradientsThroughGraph(
        Case(op, {F32({1}), F32({1})}), {{F32({1}), {2}}, {F32({1}), {2}}},
        {{F32({1}), {6}}});
    EXPECT_EQ(grads[0].data, (std::vector<double>{3})) << op;
    EXPECT_EQ(grads[1].data, (std::vector<double>{3})) << op;
  }
}

TEST(VariadicTest, NaNWins) {
  for (const char* op : {"Larger", "Smaller"}) {
    const HostTensors y =
        RunOp(Case(op, {F32({3}), F32({3})}),
              {{F32({3}), {kNaN, 1, 2}}, {F32({3}), {1, kNaN, 2}}});
    EXPECT_NE(y[0].data[0], y[0].data[0]) << op;
    EXPECT_NE(y[0].data[1], y[0].data[1]) << op;
    EXPECT_EQ(y[0].data[2], 2) << op;
  }
}

TEST(VariadicTest, SumsAndMeansKeepNothing) {
  for (const char* op : {"Sum", "Mean"}) {
    EXPECT_EQ(KeptValues(Case(op, {F32({2, 3}), F32({3}), F32({2, 3})})), "");
    EXPECT_EQ(KeptValues(Case(op, {F32({2}), F32({2}), F32({2})})), "");
  }
}

TEST(VariadicTest, ExtremesKeepTheirOperands) {
  EXPECT_EQ(KeptValues(Case("Max", {F32({2, 3}), F32({3})})), "x0 x1");
}

TEST(VariadicTest, RefusesOtherTypes) {
  ExpectRefused("Max", {F32({2}), I32({2})}, {}, "got f32[2] and i32[2]");
  ExpectRefused("Sum", {I32({2}), I32({2})}, {}, "got i32[2] and i32[2]");
  ExpectRefused("Mean", {F32({2}), F32({3})}, {}, "[2]");
  ExpectRefused("Mod", {F32({2}), F32({2})}, {}, "fmod must be 1 for f32");
  ExpectRefused("Mod", {F32({2}), I32({2})}, {}, "got f32[2] and i32[2]");
}

// 7 mod -3: -2 with the sign of the divisor, 1 with that of the dividend.
TEST(ModTest, SignsAreThoseOfPythonOrOfC) {
  const HostTensors in = {{I32({4}), {7, -7, 7, 5}}, {I32({4}), {3, 3, -3, 0}}};
  EXPECT_EQ(RunOp(Case("Mod", {I32({4}), I32({4})}), in)[0].data,
            (std::vector<double>{1, 2, -2, 0}));
  EXPECT_EQ(
      RunOp(Case("Mod", {I32({4}), I32({4})}, {{"fmod", int64_t{1}}}), in)[0]
          .data,
      (std::vector<double>{1, -1, 1, 0}));
}

TEST(ModTest, TheLowestNumberByMinusOneIsZero) {
  const double least = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(RunOp(Case("Mod", {I32({1}), I32({1})}),
                  {{I32({1}), {least}}, {I32({1}), {-1}}})[0]
                .data,
            (std::vector<double>{0}));
}

TEST(PReluTest, TheSlopeMustBroadcastToX) {
  ExpectRefused("PRelu", {F32({3}), F32({2, 3})}, {},
                "the slope must broadcast to x, got f32[2,3] and f32[3]");
}

TEST(PReluTest, TheGradientOfTheSlopeReadsXAlone) {
  const OpCase c = Case("PRelu", {F32({2, 3}), F32({3})});
  EXPECT_EQ(KeptValues(c, {1}), "x0");
  EXPECT_EQ(KeptValues(c, {0}), "x0 x1");
}

}  // namespace
}  // namespace reprise
