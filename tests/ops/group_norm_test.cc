// What random cases do not show of InstanceNormalization, GroupNormalization,
// RMSNormalization, LRN, LpNormalization and MeanVarianceNormalization.

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ops/op_cases.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

OpCase Case(const std::string& op, std::vector<TensorType> in, Attrs attrs) {
  OpCase c;
  c.op = op;
  c.in = std::move(in);
  c.attrs = std::move(attrs);
  return c;
}

OpCase Groups(Dims dims, int64_t groups) {
  const TensorType channel = F32({dims[1]});
  return Case("GroupNormalization", {F32(std::move(dims)), channel, channel},
              {{"num_groups", groups}});
}

TEST(GroupNormTest, GradientsKeepXTheScaleAndTwoNumbersAGroup) {
  EXPECT_EQ(KeptValues(Groups({2, 4, 3}, 2)), "x0 x1 y0:1 y0:2");
}

TEST(GroupNormTest, AConstantGroupIsItsOffset) {
  OpCase c = Groups({1, 2, 2}, 2);
  const HostTensors y = RunOp(
      c,
      {{F32({1, 2, 2}), {5, 5, 1, 3}}, {F32({2}), {2, 1}}, {F32({2}), {7, 0}}});
  EXPECT_EQ(y[0].data[0], 7);
  EXPECT_EQ(y[0].data[1], 7);
  // Mean 2, variance 1: (1 - 2) / sqrt(1 + 1e-5).
  EXPECT_NEAR(y[0].data[2], -1 / std::sqrt(1 + 1e-5), 1e-6);
}

// 2 images of 64 channels of 700 positions: 89,600 elements, two threads.
TEST(GroupNormTest, ThreadsShareTheGroups) {
  for (const int64_t groups : {1, 4, 64}) {
    OpCase c = Groups({2, 64, 700}, groups);
    c.gradient = false;
    c.definition = [groups](const HostTensors& in, const Attrs&) {
      HostTensor y = in[0];
      const int64_t size = 64 / groups * 700;
      for (size_t row = 0; row < y.data.size(); row += size) {
        double sum = 0;
        double squares = 0;
        for (int64_t i = 0; i < size; ++i) sum += in[0].data[row + i];
        const double mean = sum / static_cast<double>(size);
        for (int64_t i = 0; i < size; ++i) {
          squares += std::pow(in[0].data[row + i] - mean, 2);
        }
        const double deviation =
            std::sqrt(squares / static_cast<double>(size) + 1e-5);
        for (int64_t i = 0; i < size; ++i) {
          const int64_t channel = static_cast<int64_t>(row + i) / 700 % 64;
          y.data[row + i] =
              (in[0].data[row + i] - mean) / deviation * in[1].data[channel] +
              in[2].data[channel];
        }
      }
      return HostTensors{y};
    };
    c.tolerance = 1e-5;
    CheckForward(c, /*seed=*/1);
  }
}

TEST(GroupNormTest, RefusesWhatDoesNotFit) {
  const TensorType four = F32({4});
  ExpectRefused("GroupNormalization", {F32({2, 4, 3}), four, four},
                {{"num_groups", int64_t{3}}}, "num_groups must divide");
  ExpectRefused("GroupNormalization", {F32({2, 4, 3}), four, four},
                {{"num_groups", int64_t{0}}}, "num_groups must divide");
  ExpectRefused("InstanceNormalization", {F32({2, 4, 3}), four, F32({3})}, {},
                "scale and b must be f32[4], got f32[3]");
  ExpectRefused("InstanceNormalization", {four, four, four}, {},
                "x must be [n, c, ..]");
}

TEST(RmsNormalizationTest, GradientsKeepXTheScaleAndOneNumberARow) {
  EXPECT_EQ(KeptValues(Case("RMSNormalization", {F32({2, 3}), F32({3})}, {})),
            "x0 x1 y0:1");
}

TEST(RmsNormalizationTest, RefusesWhatDoesNotFit) {
  ExpectRefused("RMSNormalization", {F32({2, 3}), F32({2})}, {},
                "scale must be f32[3], got f32[2]");
  ExpectRefused("RMSNormalization", {F32({2, 3}), F32({3})},
                {{"axis", int64_t{2}}}, "axis");
}

// 3 images of 8 channels of 5000 positions: 79 blocks each.
TEST(LrnTest, ThreadsShareTheBlocks) {
  OpCase c =
      Case("LRN", {F32({3, 8, 5000})}, {{"size", int64_t{3}}, {"alpha", 0.5f}});
  c.gradient = false;
  c.definition = [](const HostTensors& in, const Attrs&) {
    return HostTensors{FromIndex(in[0].type, [&](const Dims& at) {
      double squares = 0;
      for (int64_t k = at[1] - 1; k <= at[1] + 1; ++k) {
        if (k < 0 || k >= 8) continue;
        squares += std::pow(At(in[0], {at[0], k, at[2]}), 2);
      }
      return At(in[0], at) / std::pow(1 + 0.5 / 3 * squares, 0.75);
    })};
  };
  CheckForward(c, /*seed=*/1);
}

TEST(LrnTest, TheGradientReadsXAlone) {
  EXPECT_EQ(KeptValues(Case("LRN", {F32({2, 3, 4})}, {{"size", int64_t{2}}})),
            "x0");
}

TEST(LrnTest, RefusesWhatDoesNotFit) {
  ExpectRefused("LRN", {F32({3})}, {{"size", int64_t{1}}},
                "x must be [n, c, ..]");
  ExpectRefused("LRN", {F32({2, 3})}, {{"size", int64_t{0}}},
                "size must be at least 1, got 0");
}

TEST(LpNormalizationTest, ARowOfZerosStaysZeroAndSoDoesItsGradient) {
  const HostTensors grads =
      GradientsThroughGraph(Case("LpNormalization", {F32({1, 2})}, {}),
                            {{F32({1, 2}), {0, 0}}}, {{F32({1, 2}), {1, 1}}});
  EXPECT_EQ(grads[0].data, (std::vector<double>{0, 0}));
}

TEST(LpNormalizationTest, RefusesOtherNorms) {
  ExpectRefused("LpNormalization", {F32({2})}, {{"p", int64_t{3}}},
                "p must be 1 or 2, got 3");
}

// [0, 2, 4]: mean 2, deviation sqrt(8/3); dx of dy = (1, 0, 0) by the formula
// (dy - mean(dy) - y mean(dy y)) / deviation with y = (-1.2247, 0, 1.2247).
TEST(MeanVarianceNormalizationTest, GradientIsThatOfTheFormula) {
  const HostTensors grads = GradientsThroughGraph(
      Case("MeanVarianceNormalization", {F32({3})}, {{"axes", Ints{0}}}),
      {{F32({3}), {0, 2, 4}}}, {{F32({3}), {1, 0, 0}}});
  const double deviation = std::sqrt(8.0 / 3);
  const double y[] = {-2 / deviation, 0, 2 / deviation};
  for (int i = 0; i < 3; ++i) {
    const double dy = i == 0 ? 1 : 0;
    EXPECT_NEAR(grads[0].data[i],
                (dy - 1.0 / 3 - y[i] * (y[0] / 3)) / deviation, 1e-6);
  }
}

}  // namespace
}  // namespace reprise
