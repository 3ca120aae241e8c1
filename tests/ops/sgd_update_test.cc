#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ops/update_cases.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

double Number(const Attrs& attrs, const char* name) {
  return attrs.Has(name) ? double{attrs.Float(name)} : 0.0;
}

// torch.optim.SGD in double.
void Sgd(const UpdateStep& step, const std::vector<double>& grad,
         UpdateState& state) {
  const double momentum = Number(step.attrs, "momentum");
  const double dampening = Number(step.attrs, "dampening");
  const double decay = Number(step.attrs, "weight_decay");
  const bool nesterov =
      step.attrs.Has("nesterov") && step.attrs.Bool("nesterov");
  for (size_t i = 0; i < state.param.size(); ++i) {
    double g = step.grad_scale * grad[i] + decay * state.param[i];
    if (momentum != 0) {
      double& m = state.slots[0][i];
      m = step.step == 0 ? g : momentum * m + (1 - dampening) * g;
      g = nesterov ? g + momentum * m : m;
    }
    state.param[i] -= step.lr * g;
  }
}

UpdateStep SgdStep(Attrs attrs) {
  UpdateStep step;
  step.op = "SgdUpdate";
  step.attrs = std::move(attrs);
  return step;
}

TEST(SgdUpdateTest, WithoutMomentumFollowsTheGradient) {
  CheckFiveSteps(SgdStep({}), {}, Sgd);
}

TEST(SgdUpdateTest, WeightDecayIsAddedToTheGradient) {
  CheckFiveSteps(SgdStep({{"weight_decay", 0.01f}}), {}, Sgd);
}

// The first buffer is the whole gradient, dampened or not.
TEST(SgdUpdateTest, DampeningSparesTheFirstStep) {
  CheckFiveSteps(SgdStep({{"momentum", 0.9f}, {"dampening", 0.3f}}), {true},
                 Sgd);
}

TEST(SgdUpdateTest, NesterovLooksAhead) {
  CheckFiveSteps(
      SgdStep(
          {{"momentum", 0.9f}, {"nesterov", true}, {"weight_decay", 0.01f}}),
      {true}, Sgd);
}

TEST(SgdUpdateTest, GradScaleComesBeforeWeightDecay) {
  UpdateStep step = SgdStep({{"momentum", 0.5f}, {"weight_decay", 0.1f}});
  step.grad_scale = 0.25;
  CheckFiveSteps(step, {true}, Sgd);
}

// 1 - 2 * 0.25 * 0.5 = 0.75, exact in f32.
TEST(SgdUpdateTest, LrFactorMultipliesTheLearningRate) {
  UpdateStep step = SgdStep({{"lr_factor", 2.0f}});
  step.lr = 0.25;
  EXPECT_EQ(RunUpdate(step, {{1}, {}}, {0.5}).param[0], 0.75);
}

TEST(SgdUpdateTest, AcceptsParametersWithoutElements) {
  EXPECT_TRUE(RunUpdate(SgdStep({}), {{}, {}}, {}).param.empty());
}

TEST(SgdUpdateTest, RefusesWhatDoesNotFit) {
  const TensorType p = F32({2});
  ExpectRefused("SgdUpdate", {p, p, F32({}), I64({})}, {{"momentum", 0.9f}},
                "takes a momentum slot iff momentum is not 0");
  ExpectRefused("SgdUpdate", {p, F32({1}), F32({}), I64({})}, {},
                "grad must be f32[2], got f32[1]");
  ExpectRefused("SgdUpdate", {p, p, F32({1}), I64({})}, {},
                "lr and grad_scale must be f32[], got f32[1]");
  ExpectRefused("SgdUpdate", {p, p, F32({}), F32({})}, {},
                "step must be i64[], got f32[]");
}

}  // namespace
}  // namespace reprise
