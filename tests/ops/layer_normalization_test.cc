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

TEST(LayerNormalizationTest, MatchesDefinition) {
  CheckCase(LayerNormOf({4, 7}, -1, true), 1);
  CheckCase(LayerNormOf({4, 7}, -1, false), 2);
  CheckCase(LayerNormOf({2, 3, 33}, -1, true), 3);
  CheckCase(LayerNormOf({5}, 0, true), 4);
}

TEST(LayerNormalizationTest, NormalizesSeveralAxes) {
  CheckCase(LayerNormOf({2, 3, 5}, 1, true), 1);
  CheckCase(LayerNormOf({2, 3, 5}, 0, true), 2);
  CheckCase(LayerNormOf({2, 3, 5}, -2, false), 3);
}

// Enough rows that two threads share them, with column sums of their own.
TEST(LayerNormalizationTest, SumsColumnsOfSeveralThreads) {
  OpCase c = LayerNormOf({700, 100}, -1, true);
  c.gradient = false;
  CheckCase(c, 1);
}

TEST(LayerNormalizationTest, TakesNoRows) {
  CheckCase(LayerNormOf({0, 7}, -1, true), 1);
}

// A loss may depend on mean and deviation as on any result.
TEST(LayerNormalizationTest, StatisticsHaveGradients) {
  OpCase c = LayerNormOf({3, 9}, -1, true);
  c.loss_outputs = {1, 2};
  CheckCase(c, 1);
  c.loss_outputs = {0, 1, 2};
  CheckCase(c, 2);
}

TEST(LayerNormalizationTest, GradientReadsXAndStatisticsButNotY) {
  EXPECT_EQ(KeptValues(LayerNormOf({4, 7}, -1, true)), "x0 x1 y1 y2");
}

TEST(LayerNormalizationTest, RefusesWhatDoesNotFit) {
  ExpectRefused("LayerNormalization", {F32({4, 7}), F32({4})}, {},
                "scale and b must be f32[7], got f32[4]");
  ExpectRefused("LayerNormalization", {F32({4, 7}), F32({7})},
                {{"axis", int64_t{2}}}, "axis");
  ExpectRefused("LayerNormalization", {F32({4, 7}), F32({7})},
                {{"stash_type", int64_t{11}}}, "stash_type must be 1");
}

}  // namespace
}  // namespace reprise
