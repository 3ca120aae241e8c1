#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor_type.h"
#include "gtest/gtest.h"
#include "tests/ops/layer_cases.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

std::vector<Dims> Shapes() {
  return {{4, 3, 3, 2}, {4, 16, 3, 3},   {4, 17, 2, 3}, {6, 5},
          {4, 3, 5},    {3, 2, 2, 2, 2}, {3, 1, 4, 4},  {5, 16, 1, 1}};
}

TEST(BatchNormalizationTest, TrainingMatchesDefinition) {
  uint64_t seed = 0;
  for (const Dims& x : Shapes()) CheckForward(BatchNormTrainingOf(x), ++seed);
}

TEST(BatchNormalizationTest, InferenceMatchesDefinition) {
  uint64_t seed = 0;
  for (const Dims& x : Shapes()) CheckForward(BatchNormInferenceOf(x), ++seed);
}

TEST(BatchNormalizationTest, ATrainingNodeUsesTheBatch) {
  uint64_t seed = 0;
  for (const Dims& x : Shapes()) {
    CheckCase(BatchNormNodeOf(x, /*training=*/true), ++seed);
  }
}

// Statistics that a node has been given stay what they are, and the gradient
// takes them as constants.
TEST(BatchNormalizationTest, AFrozenNodeUsesItsState) {
  uint64_t seed = 0;
  for (const Dims& x : Shapes()) {
    CheckCase(BatchNormNodeOf(x, /*training=*/false), ++seed);
  }
}

// Of x, scale, b, mean and variance; in training, the batch's statistics, which
// are further results of the pure node.
TEST(BatchNormalizationTest, GradientReadsXAndStatisticsButNotY) {
  EXPECT_EQ(KeptValues(BatchNormNodeOf({4, 3, 3, 2}, /*training=*/false)),
            "x0 x1 x3 x4");
  EXPECT_EQ(KeptValues(BatchNormNodeOf({4, 3, 3, 2}, /*training=*/true)),
            "x0 x1 y0:1 y0:2");
}

// momentum 0.75: 0.75 * 2 + 0.25 * 4 = 2.5.
TEST(BatchNormalizationTest, RunningAverageMovesTowardsTheBatch) {
  OpCase c;
  c.op = "RunningAverage";
  c.in = {F32({1}), F32({1})};
  c.attrs = {{"momentum", 0.75f}};
  const HostTensors out = RunOp(c, {{F32({1}), {2}}, {F32({1}), {4}}});
  EXPECT_EQ(out[0].data[0], 2.5);
}

TEST(BatchNormalizationTest, RefusesWhatDoesNotFit) {
  ExpectRefused("BatchNormalization",
                {F32({4, 3, 2, 2}), F32({3}), F32({3}), F32({3}), F32({2})}, {},
                "must be f32[3], got f32[2]");
  ExpectRefused("BatchNormalization",
                {F32({3}), F32({3}), F32({3}), F32({3}), F32({3})}, {},
                "x must be [n, c, ..]");
}

}  // namespace
}  // namespace reprise
