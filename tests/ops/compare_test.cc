// What random cases do not show of comparisons, logic and Where.

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ops/unary_checks.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

TensorType Bool(Dims dims) { return {DType::kBool, std::move(dims)}; }

std::vector<double> Compare(const std::string& op, std::vector<double> a,
                            std::vector<double> b) {
  const int64_t n = static_cast<int64_t>(a.size());
  OpCase c;
  c.op = op;
  c.in = {F32({n}), F32({n})};
  return RunOp(c, {{F32({n}), std::move(a)}, {F32({n}), std::move(b)}})[0].data;
}

TEST(CompareTest, AComparisonWithNaNIsFalse) {
  for (const char* op :
       {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
    EXPECT_EQ(Compare(op, {kNaN, 1, kNaN}, {1, kNaN, kNaN}),
              (std::vector<double>{0, 0, 0}))
        << op;
  }
}

TEST(CompareTest, BothZerosAreEqualAndInfinitiesAreOrdered) {
  const std::vector<double> a = {0, -kInf, kInf};
  const std::vector<double> b = {-0.0, kInf, kInf};
  EXPECT_EQ(Compare("Equal", a, b), (std::vector<double>{1, 0, 1}));
  EXPECT_EQ(Compare("Less", a, b), (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(Compare("GreaterOrEqual", a, b), (std::vector<double>{1, 0, 1}));
}

// Beyond 2^24 a float could not tell neighbours apart.
TEST(CompareTest, IntegersAreComparedExactly) {
  OpCase c;
  c.op = "Less";
  c.in = {I64({2}), I64({2})};
  EXPECT_EQ(RunOp(c, {{I64({2}), {16777216, 16777217}},
                      {I64({2}), {16777217, 16777216}}})[0]
                .data,
            (std::vector<double>{1, 0}));
}

TEST(CompareTest, SpecialElementsAreFound) {
  const std::vector<double> x = {0, kNaN, kInf, -kInf, 1e30};
  EXPECT_EQ(Apply("IsNaN", x), (std::vector<double>{0, 1, 0, 0, 0}));
  EXPECT_EQ(Apply("IsInf", x), (std::vector<double>{0, 0, 1, 1, 0}));
  EXPECT_EQ(Apply("IsInf", x, Attrs{{"detect_negative", int64_t{0}}}),
            (std::vector<double>{0, 0, 1, 0, 0}));
  EXPECT_EQ(Apply("IsInf", x, Attrs{{"detect_positive", int64_t{0}}}),
            (std::vector<double>{0, 0, 0, 1, 0}));
}

TEST(CompareTest, RefusesOtherTypes) {
  ExpectRefused("Less", {F32({2}), I32({2})}, {},
                "one type that it takes, got f32[2] and i32[2]");
  ExpectRefused("Less", {Bool({2}), Bool({2})}, {}, "got bool[2] and bool[2]");
  ExpectRefused("And", {F32({2}), F32({2})}, {}, "got f32[2] and f32[2]");
  ExpectRefused("Not", {F32({2})}, {}, "got f32[2]");
  ExpectRefused("IsNaN", {I32({2})}, {}, "got i32[2]");
}

OpCase Where(Dims condition, Dims a, Dims b) {
  OpCase c;
  c.op = "Where";
  c.in = {Bool(std::move(condition)), F32(std::move(a)), F32(std::move(b))};
  return c;
}

TEST(WhereTest, WhatIsNotChosenDoesNotTouchResultOrGradient) {
  const OpCase c = Where({2}, {2}, {2});
  const HostTensors in = {
      {Bool({2}), {1, 0}}, {F32({2}), {1, kNaN}}, {F32({2}), {kInf, 2}}};
  EXPECT_EQ(RunOp(c, in)[0].data, (std::vector<double>{1, 2}));
  const HostTensors grads = GradientsThroughGraph(c, in, {{F32({2}), {3, 5}}});
  EXPECT_EQ(grads[0].data, (std::vector<double>{3, 0}));
  EXPECT_EQ(grads[1].data, (std::vector<double>{0, 5}));
}

TEST(WhereTest, GradientsKeepTheConditionAlone) {
  EXPECT_EQ(KeptValues(Where({2, 1}, {2, 3}, {3})), "x0");
}

TEST(WhereTest, ThreadsShareLongTensors) {
  // 300 * 301 = 90,300 elements: two threads, the border within a row.
  for (const Dims& condition : {Dims{301}, Dims{300, 1}, Dims{300, 301}}) {
    OpCase c = Where(condition, {300, 301}, {});
    c.ranges = {{0, 2}, {-2, 2}};
    c.definition = [](const HostTensors& in, const Attrs&) {
      HostTensor y = BroadcastElements(
          in[0], in[1], [](double p, double a) { return p != 0 ? a : 100; });
      y.type.dtype = DType::kF32;
      for (double& v : y.data) v = v == 100 ? in[2].data[0] : v;
      return HostTensors{y};
    };
    CheckForward(c, /*seed=*/1);
  }
}

TEST(WhereTest, RefusesOtherTypes) {
  ExpectRefused("Where", {F32({2}), F32({2}), F32({2})}, {},
                "the condition must be bool, got f32[2]");
  ExpectRefused("Where", {Bool({2}), F32({2}), I32({2})}, {},
                "both choices must have one element type, got f32[2] and "
                "i32[2]");
  ExpectRefused("Where", {Bool({2}), F32({3}), F32({3})}, {}, "[2]");
}

}  // namespace
}  // namespace reprise
