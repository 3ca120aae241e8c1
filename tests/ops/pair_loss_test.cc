// What random cases do not show of L1Loss, HuberLoss, KLDivLoss and
// BinaryCrossEntropyWithLogits.

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

OpCase Case(const std::string& op, Dims dims, const std::string& reduction) {
  OpCase c;
  c.op = op;
  c.in = {F32(dims), F32(dims)};
  c.attrs = {{"reduction", reduction}};
  return c;
}

// 100,003 elements: four blocks, two threads, added in double.
TEST(PairLossTest, ThreadsShareLongOperands) {
  for (const char* reduction : {"none", "sum", "mean"}) {
    OpCase c = Case("L1Loss", {100003}, reduction);
    c.gradient = false;
    c.definition = [](const HostTensors& in, const Attrs& attrs) {
      HostTensor y = BroadcastElements(
          in[0], in[1], [](double a, double b) { return std::abs(a - b); });
      if (attrs.String("reduction") == "none") return HostTensors{y};
      double sum = 0;
      for (const double v : y.data) sum += v;
      if (attrs.String("reduction") == "mean") sum /= 100003;
      return HostTensors{{F32({}), {sum}}};
    };
    CheckForward(c, /*seed=*/1);
  }
}

TEST(PairLossTest, GradientsKeepBothOperandsAndNoResult) {
  for (const char* op :
       {"L1Loss", "HuberLoss", "KLDivLoss", "BinaryCrossEntropyWithLogits"}) {
    EXPECT_EQ(KeptValues(Case(op, {3}, "mean")), "x0 x1") << op;
  }
}

TEST(PairLossTest, TheMeanOfNothingIsNotANumber) {
  const HostTensors y =
      RunOp(Case("L1Loss", {0}, "mean"), {{F32({0}), {}}, {F32({0}), {}}});
  EXPECT_TRUE(std::isnan(y[0].data[0]));
}

TEST(KlDivLossTest, AClassWithoutProbabilityCostsNothing) {
  const OpCase c = Case("KLDivLoss", {2}, "sum");
  const HostTensors in = {{F32({2}), {-1, -2}}, {F32({2}), {0, 0.5}}};
  // 0.5 (ln 0.5 + 2) of the second class alone.
  EXPECT_NEAR(RunOp(c, in)[0].data[0], 0.5 * (std::log(0.5) + 2), 1e-6);
  const HostTensors grads = GradientsThroughGraph(c, in, {{F32({}), {1}}});
  EXPECT_EQ(grads[0].data, (std::vector<double>{0, -0.5}));
  EXPECT_EQ(grads[1].data[0], 0);
}

// 2 rows of 3: batchmean is the sum over 2, mean over 6.
TEST(KlDivLossTest, BatchmeanDividesByTheFirstDim) {
  const HostTensors in = {{F32({2, 3}), {-1, -1, -1, -1, -1, -1}},
                          {F32({2, 3}), {1, 1, 1, 1, 1, 1}}};
  EXPECT_EQ(RunOp(Case("KLDivLoss", {2, 3}, "batchmean"), in)[0].data[0], 3);
  EXPECT_EQ(RunOp(Case("KLDivLoss", {2, 3}, "mean"), in)[0].data[0], 1);
}

// ln(1 + e^-100) is 0 in f32, not what is left of two large numbers.
TEST(BinaryCrossEntropyTest, CertainScoresNeitherOverflowNorVanish) {
  const OpCase c = Case("BinaryCrossEntropyPairs", {4}, "none");
  const HostTensors y =
      RunOp(c, {{F32({4}), {100, 100, -100, -1000}}, {F32({4}), {1, 0, 1, 0}}});
  EXPECT_NEAR(y[0].data[0], 0, 1e-30);
  EXPECT_EQ(y[0].data[1], 100);
  EXPECT_EQ(y[0].data[2], 100);
  EXPECT_EQ(y[0].data[3], 0);
}

TEST(PairLossTest, RefusesWhatDoesNotFit) {
  const TensorType two = F32({2});
  ExpectRefused("L1Loss", {two, two}, {{"reduction", std::string("batchmean")}},
                "reduction must be none, sum or mean, got \"batchmean\"");
  ExpectRefused("KLDivLoss", {F32({}), F32({})},
                {{"reduction", std::string("batchmean")}},
                "batchmean needs a first dim, got f32[]");
  ExpectRefused("HuberLoss", {two, two}, {{"delta", 0.0f}},
                "delta must be above 0, got 0");
  ExpectRefused("BinaryCrossEntropyWithLogits", {two, F32({3})}, {},
                "targets must be f32[2], got f32[3]");
  ExpectRefused("BinaryCrossEntropyWithLogits", {two, two, F32({3, 2})}, {},
                "pos_weight must broadcast to f32[2], got f32[3,2]");
}

}  // namespace
}  // namespace reprise
