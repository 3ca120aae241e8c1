// What random cases do not show of Pow.

#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

OpCase Case() {
  OpCase c;
  c.op = "Pow";
  c.in = {F32({3}), F32({})};
  return c;
}

TEST(PowTest, NegativeBasesTakeWholeExponents) {
  const HostTensors x = {{F32({3}), {-2, -1, 3}}, {F32({}), {3}}};
  EXPECT_EQ(RunOp(Case(), x)[0].data, (std::vector<double>{-8, -1, 27}));
}

// d(x^2) = 2 x dx, and at 0 that is 0, not the NaN of 0^2 ln 0.
TEST(PowTest, GradientsAtZeroAreFinite) {
  const HostTensors gradients =
      GradientsThroughGraph(Case(), {{F32({3}), {0, 1, -3}}, {F32({}), {2}}},
                            {{F32({3}), {1, 1, 1}}});
  EXPECT_EQ(gradients[0].data, (std::vector<double>{0, 2, -6}));
  const HostTensors constant = GradientsThroughGraph(
      Case(), {{F32({3}), {0, 1, 3}}, {F32({}), {0}}}, {{F32({3}), {1, 1, 1}}});
  EXPECT_EQ(constant[0].data, (std::vector<double>{0, 0, 0}));
}

TEST(PowTest, TheGradientKeepsTheOperands) {
  EXPECT_EQ(KeptValues(Case()), "x0 x1");
}

}  // namespace
}  // namespace reprise
