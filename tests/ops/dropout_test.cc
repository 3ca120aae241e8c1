#include <cmath>
#include <cstdint>
#include <vector>

#include "core/tensor_type.h"
#include "gtest/gtest.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

struct Draw {
  int64_t seed = 1;
  int64_t step = 0;
  int64_t micro_step = 0;
  int64_t key = 42;  // of the node's name
};

OpCase Masked(Dims dims, const Draw& draw, float ratio) {
  OpCase c;
  c.op = "DropoutMasked";
  c.in = {F32(std::move(dims)), I64({}), I64({}), I64({})};
  c.attrs = {{"ratio", ratio}, {"key", draw.key}};
  return c;
}

// Which elements are kept, of a tensor of ones.
std::vector<double> Kept(const Dims& dims, const Draw& draw, float ratio) {
  const OpCase c = Masked(dims, draw, ratio);
  const std::vector<double> ones(c.in[0].num_elements(), 1.0);
  return RunOp(c, {{c.in[0], ones},
                   {I64({}), {static_cast<double>(draw.seed)}},
                   {I64({}), {static_cast<double>(draw.step)}},
                   {I64({}), {static_cast<double>(draw.micro_step)}}})[0]
      .data;
}

double Share(const std::vector<double>& kept) {
  double count = 0;
  for (const double y : kept) count += y != 0 ? 1 : 0;
  return count / static_cast<double>(kept.size());
}

// 1 / (1 - 0.75) = 4, exact.
TEST(DropoutTest, ScalesWhatItKeeps) {
  for (const double y : Kept({1000}, Draw(), 0.75f)) {
    EXPECT_TRUE(y == 0 || y == 4) << y;
  }
}

// Of 10^5 elements the share has a deviation of at most 0.5 / sqrt(10^5) =
// 0.0016; four of them are 0.0064.
TEST(DropoutTest, KeepsTheShareItShould) {
  for (const float ratio : {0.1f, 0.5f, 0.9f}) {
    EXPECT_NEAR(Share(Kept({100000}, Draw(), ratio)), 1 - ratio, 0.0064);
  }
}

// Two independent masks of ratio 0.5 agree in half of the elements.
TEST(DropoutTest, EveryPartOfTheKeyGivesAnotherMask) {
  const Dims dims = {100000};
  const std::vector<double> mask = Kept(dims, Draw(), 0.5f);
  std::vector<Draw> draws(4);
  draws[0].seed = 2;
  draws[1].step = 1;
  draws[2].micro_step = 1;
  draws[3].key = 43;
  for (const Draw& draw : draws) {
    const std::vector<double> other = Kept(dims, draw, 0.5f);
    double equal = 0;
    for (size_t i = 0; i < mask.size(); ++i) {
      equal += mask[i] == other[i] ? 1 : 0;
    }
    EXPECT_NEAR(equal / static_cast<double>(mask.size()), 0.5, 0.0064);
  }
}

// Neighbours in any distance agree in half of the elements.
TEST(DropoutTest, NeighboursAreIndependent) {
  const std::vector<double> mask = Kept({100000}, Draw(), 0.5f);
  for (const size_t distance : {1, 2, 3, 16, 64, 1024, 4096}) {
    double equal = 0;
    for (size_t i = distance; i < mask.size(); ++i) {
      equal += mask[i] == mask[i - distance] ? 1 : 0;
    }
    EXPECT_NEAR(equal / static_cast<double>(mask.size() - distance), 0.5,
                0.0064)
        << distance;
  }
}

// The mask belongs to logical indices: the harness compares layouts and thread
// counts with a definition taken from a row-major run.
TEST(DropoutTest, MaskDependsOnNeitherLayoutNorThreads) {
  OpCase c = Masked({3, 40, 20, 20}, {1, 2, 3, 42}, 0.5f);
  const std::vector<double> mask = Kept({3, 40, 20, 20}, {1, 2, 3, 42}, 0.5f);
  c.definition = [&mask](const HostTensors& in, const Attrs&) {
    HostTensor y = in[0];
    for (size_t i = 0; i < mask.size(); ++i) y.data[i] *= mask[i];
    return HostTensors{y};
  };
  c.gradient = false;
  c.ranges = {{-2, 2}, {1, 2}, {2, 3}, {3, 4}};
  CheckForward(c, 1);
}

// The gradient of a sum is the mask itself, so it equals the output for x = 1.
TEST(DropoutTest, GradientUsesTheMaskOfTheForwardPass) {
  OpCase c;
  c.op = "Dropout";
  c.in = {F32({50})};
  const std::vector<double> ones(50, 1.0);
  int dropped = 0;
  const HostTensors grads =
      GradientsThroughGraph(c, {{c.in[0], ones}}, {{c.in[0], ones}});
  ASSERT_EQ(grads.size(), 1u);
  for (const double dx : grads[0].data) {
    EXPECT_TRUE(dx == 0 || dx == 2) << dx;
    dropped += dx == 0 ? 1 : 0;
  }
  // Less than 5 of 50 either way has a probability of 1e-9.
  EXPECT_GT(dropped, 5);
  EXPECT_LT(dropped, 45);
  EXPECT_EQ(KeptValues(c), "");
}

TEST(DropoutTest, RefusesRatiosThatKeepNothing) {
  ExpectRefused("Dropout", {F32({3})}, {{"ratio", 1.0f}},
                "ratio must be in [0, 1), got 1");
  ExpectRefused("Dropout", {F32({3})}, {{"ratio", -0.5f}}, "got -0.5");
}

}  // namespace
}  // namespace reprise
