#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/tensor_type.h"
#include "gtest/gtest.h"
#include "tests/ops/layer_cases.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

const char kOp[] = "SoftmaxCrossEntropyLoss";

// The loss of two positions with three classes.
double LossOf(const std::vector<double>& scores,
              const std::vector<double>& labels, Attrs attrs = {}) {
  const OpCase c = LabelLossOf(kOp, {2, 3}, DType::kI64, false, attrs);
  const HostTensors out = RunOp(c, {{c.in[0], scores}, {c.in[1], labels}});
  return out.empty() ? 0 : out[0].data[0];
}

TEST(SoftmaxCrossEntropyLossTest, MatchesDefinition) {
  uint64_t seed = 0;
  for (const char* reduction : {"none", "sum", "mean"}) {
    for (const bool weights : {false, true}) {
      for (const Dims& scores :
           {Dims{4, 3}, Dims{2, 40}, Dims{3, 5, 7}, Dims{2, 3, 4, 5}}) {
        CheckCase(LabelLossOf(kOp, scores, DType::kI64, weights,
                              {{"reduction", std::string(reduction)}}),
                  ++seed);
      }
    }
  }
}

TEST(SoftmaxCrossEntropyLossTest, IgnoresALabelInValueAndMean) {
  CheckCase(LabelLossOf(kOp, {8, 3}, DType::kI32, true,
                        {{"ignore_index", int64_t{1}}}),
            1);
}

// Large enough for several blocks and threads.
TEST(SoftmaxCrossEntropyLossTest, AddsUpManyPositions) {
  OpCase c = LabelLossOf(kOp, {600, 300}, DType::kI64, false, {});
  c.gradient = false;
  c.tolerance = 1e-5;
  CheckCase(c, 1);
}

// exp(1000) is no float; the largest score is taken off first. The loss of the
// second position is log 3; of the first, 0 and 2000 for its labels 0 and 1.
TEST(SoftmaxCrossEntropyLossTest, StaysFiniteForLargeScores) {
  const std::vector<double> scores = {1000, -1000, 0, 5, 5, 5};
  EXPECT_NEAR(LossOf(scores, {0, 2}), std::log(3.0) / 2, 1e-6);
  EXPECT_NEAR(LossOf(scores, {1, 2}), (2000 + std::log(3.0)) / 2, 1e-3);
}

TEST(SoftmaxCrossEntropyLossTest, AnInvalidLabelMakesTheLossNaN) {
  const std::vector<double> scores = {1, 2, 3, 4, 5, 6};
  EXPECT_TRUE(std::isnan(LossOf(scores, {0, 3})));
  EXPECT_TRUE(std::isnan(LossOf(scores, {-1, 0})));
  EXPECT_TRUE(
      std::isfinite(LossOf(scores, {-1, 0}, {{"ignore_index", int64_t{-1}}})));
}

TEST(SoftmaxCrossEntropyLossTest, ANaNScoreMakesTheLossNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(LossOf({1, nan, 3, 4, 5, 6}, {0, 0})));
}

// As in PyTorch: 0 / 0.
TEST(SoftmaxCrossEntropyLossTest, TheMeanOfNothingIsNaN) {
  EXPECT_TRUE(std::isnan(
      LossOf({1, 2, 3, 4, 5, 6}, {7, 7}, {{"ignore_index", int64_t{7}}})));
}

TEST(SoftmaxCrossEntropyLossTest, GradientReadsScoresAndLabelsOnly) {
  EXPECT_EQ(KeptValues(LabelLossOf(kOp, {4, 3}, DType::kI64, true, {})),
            "x0 x1 x2");
}

// log_prob is output 1: as LogSoftmax gives it, with its own gradient.
TEST(SoftmaxCrossEntropyLossTest, GivesLogProbabilitiesIfAsked) {
  OpCase c = LabelLossOf(kOp, {4, 3, 2}, DType::kI64, false, {});
  c.num_outputs = 2;
  const Definition loss = c.definition;
  c.definition = [loss](const HostTensors& in, const Attrs& attrs) {
    HostTensors out = loss(in, attrs);
    const HostTensor& x = in[0];
    out.push_back(FromIndex(x.type, [&](const Dims& at) {
      double sum = 0;
      Dims other = at;
      for (other[1] = 0; other[1] < x.type.dims[1]; ++other[1]) {
        sum += std::exp(At(x, other));
      }
      return At(x, at) - std::log(sum);
    }));
    return out;
  };
  CheckGradient(c, 1);
}

TEST(SoftmaxCrossEntropyLossTest, RefusesWhatDoesNotFit) {
  ExpectRefused(kOp, {F32({4, 3}), I64({3})}, {},
                "labels of scores f32[4,3] must be [4], got i64[3]");
  ExpectRefused(kOp, {F32({4, 3}), F32({4})}, {}, "labels must be i32 or i64");
  ExpectRefused(kOp, {F32({4}), I64({})}, {}, "[n, c, ..]");
  ExpectRefused(kOp, {F32({4, 0}), I64({4})}, {}, "c >= 1");
  ExpectRefused(kOp, {F32({4, 3}), I64({4}), F32({4})}, {},
                "weights must be f32[3], got f32[4]");
  ExpectRefused(kOp, {F32({4, 3}), I64({4})},
                {{"reduction", std::string("max")}},
                "reduction must be none, sum or mean, got 'max'");
}

}  // namespace
}  // namespace reprise
