#include <cmath>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ops/update_cases.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

// torch.optim.Adam and AdamW with betas 0.9 and 0.999, in double.
void Adam(const UpdateStep& step, const std::vector<double>& grad,
          UpdateState& state) {
  const double decay = step.attrs.Has("weight_decay") ? 0.1 : 0.0;
  const bool decoupled = step.attrs.Has("decoupled");
  const double t = static_cast<double>(step.step) + 1;
  for (size_t i = 0; i < state.param.size(); ++i) {
    double& p = state.param[i];
    double& m = state.slots[0][i];
    double& v = state.slots[1][i];
    double g = step.grad_scale * grad[i];
    if (decoupled) {
      p *= 1 - step.lr * decay;
    } else {
      g += decay * p;
    }
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    const double root = std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8;
    p -= step.lr / (1 - std::pow(0.9, t)) * m / root;
  }
}

UpdateStep AdamStep(Attrs attrs) {
  UpdateStep step;
  step.op = "AdamUpdate";
  step.attrs = std::move(attrs);
  return step;
}

TEST(AdamUpdateTest, FollowsTheDefinition) {
  CheckFiveSteps(AdamStep({}), {true, true}, Adam);
}

TEST(AdamUpdateTest, WeightDecayIsAddedToTheGradient) {
  CheckFiveSteps(AdamStep({{"weight_decay", 0.1f}}), {true, true}, Adam);
}

TEST(AdamUpdateTest, DecoupledWeightDecayShrinksTheParameter) {
  CheckFiveSteps(AdamStep({{"weight_decay", 0.1f}, {"decoupled", true}}),
                 {true, true}, Adam);
}

TEST(AdamUpdateTest, GradScaleMultipliesTheGradient) {
  UpdateStep step = AdamStep({{"weight_decay", 0.1f}});
  step.grad_scale = 0.25;
  CheckFiveSteps(step, {true, true}, Adam);
}

TEST(AdamUpdateTest, RefusesMissingSlots) {
  const TensorType p = F32({2});
  ExpectRefused("AdamUpdate", {p, p, F32({}), I64({}), {}, p}, {},
                "slot 1 is required");
  ExpectRefused("AdamUpdate", {p, p, F32({}), I64({}), {}, p, F32({3})}, {},
                "slot 1 must be f32[2], got f32[3]");
}

}  // namespace
}  // namespace reprise
