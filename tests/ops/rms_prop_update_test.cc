#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ops/update_cases.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

// torch.optim.RMSprop with alpha 0.99 in double.
void RmsProp(const UpdateStep& step, const std::vector<double>& grad,
             UpdateState& state) {
  const double decay = step.attrs.Has("weight_decay") ? 0.1 : 0.0;
  const double momentum = step.attrs.Has("momentum") ? 0.5 : 0.0;
  const bool centered = step.attrs.Has("centered");
  for (size_t i = 0; i < state.param.size(); ++i) {
    const double g = step.grad_scale * grad[i] + decay * state.param[i];
    double& v = state.slots[0][i];
    v = 0.99 * v + 0.01 * g * g;
    double variance = v;
    if (centered) {
      double& a = state.slots[2][i];
      a = 0.99 * a + 0.01 * g;
      variance -= a * a;
    }
    double change = g / (std::sqrt(variance) + 1e-8);
    if (momentum != 0) {
      double& b = state.slots[1][i];
      b = momentum * b + change;
      change = b;
    }
    state.param[i] -= step.lr * change;
  }
}

UpdateStep RmsPropStep(Attrs attrs) {
  UpdateStep step;
  step.op = "RmsPropUpdate";
  step.attrs = std::move(attrs);
  step.lr = 0.01;
  return step;
}

TEST(RmsPropUpdateTest, FollowsTheDefinition) {
  CheckFiveSteps(RmsPropStep({}), {true, false, false}, RmsProp);
}

TEST(RmsPropUpdateTest, HasMomentum) {
  CheckFiveSteps(RmsPropStep({{"momentum", 0.5f}, {"weight_decay", 0.1f}}),
                 {true, true, false}, RmsProp);
}

TEST(RmsPropUpdateTest, DividesByTheDeviationIfCentered) {
  UpdateStep step = RmsPropStep({{"centered", true}});
  step.grad_scale = 0.5;
  CheckFiveSteps(step, {true, false, true}, RmsProp);
}

TEST(RmsPropUpdateTest, HasMomentumAndIsCentered) {
  CheckFiveSteps(RmsPropStep({{"centered", true}, {"momentum", 0.5f}}),
                 {true, true, true}, RmsProp);
}

// v' - a'^2 of a constant gradient tends to 0 and may round below it.
TEST(RmsPropUpdateTest, StaysFiniteWhereTheVarianceVanishes) {
  UpdateStep step = RmsPropStep({{"centered", true}, {"alpha", 0.0f}});
  for (const double g : {0.1, 0.3, 1.7, 1e3}) {
    const UpdateState next = RunUpdate(step, {{1}, {{0}, {}, {0}}}, {g});
    EXPECT_TRUE(std::isfinite(next.param[0])) << g;
  }
}

TEST(RmsPropUpdateTest, RefusesSlotsThatTheAttributesDoNotAskFor) {
  const TensorType p = F32({2});
  ExpectRefused("RmsPropUpdate", {p, p, F32({}), I64({}), {}, p, p}, {},
                "takes a momentum slot iff momentum is not 0");
}

}  // namespace
}  // namespace reprise
