#include <cmath>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ops/update_cases.h"

namespace reprise {
namespace {

// torch.optim.Adagrad in double; the cases' decays are the numbers here.
void Adagrad(const UpdateStep& step, const std::vector<double>& grad,
             UpdateState& state) {
  const double decay = step.attrs.Has("weight_decay") ? 0.1 : 0.0;
  const double lr_decay = step.attrs.Has("lr_decay") ? 0.5 : 0.0;
  const double lr = step.lr / (1 + static_cast<double>(step.step) * lr_decay);
  for (size_t i = 0; i < state.param.size(); ++i) {
    const double g = step.grad_scale * grad[i] + decay * state.param[i];
    state.slots[0][i] += g * g;
    state.param[i] -= lr * g / (std::sqrt(state.slots[0][i]) + 1e-10);
  }
}

UpdateStep AdagradStep(Attrs attrs) {
  UpdateStep step;
  step.op = "AdagradUpdate";
  step.attrs = std::move(attrs);
  return step;
}

TEST(AdagradUpdateTest, FollowsTheDefinition) {
  CheckFiveSteps(AdagradStep({}), {true}, Adagrad);
}

TEST(AdagradUpdateTest, DecaysWeightsAndLearningRate) {
  UpdateStep step = AdagradStep({{"weight_decay", 0.1f}, {"lr_decay", 0.5f}});
  step.grad_scale = 0.5;
  CheckFiveSteps(step, {true}, Adagrad);
}

}  // namespace
}  // namespace reprise
