// What random cases do not show of ONNX's Adam, Adagrad and Momentum, and the
// same rules as updates of parameters.

#include <cmath>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ops/update_cases.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

void Adam(const UpdateStep& step, const std::vector<double>& grad,
          UpdateState& state) {
  const double decay = step.attrs.Has("weight_decay") ? 0.1 : 0.0;
  const double post = step.attrs.Has("norm_coefficient_post") ? 0.125 : 0.0;
  const double t = static_cast<double>(step.step);
  double r = step.lr;
  if (t > 0) {
    r *= std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t));
  }
  for (size_t i = 0; i < state.param.size(); ++i) {
    double& x = state.param[i];
    double& v = state.slots[0][i];
    double& h = state.slots[1][i];
    const double g = step.grad_scale * grad[i] + decay * x;
    v = 0.9 * v + 0.1 * g;
    h = 0.999 * h + 0.001 * g * g;
    x = (1 - post) * (x - r * v / (std::sqrt(h) + 1e-6));
  }
}

UpdateStep Step(const char* op, Attrs attrs) {
  UpdateStep step;
  step.op = op;
  step.attrs = std::move(attrs);
  return step;
}

TEST(TrainingStepTest, AdamUpdatesFollowTheDefinition) {
  CheckFiveSteps(Step("OnnxAdamUpdate", {}), {true, true}, Adam);
  CheckFiveSteps(Step("OnnxAdamUpdate", {{"weight_decay", 0.1f},
                                         {"norm_coefficient_post", 0.125f}}),
                 {true, true}, Adam);
}

void Adagrad(const UpdateStep& step, const std::vector<double>& grad,
             UpdateState& state) {
  const double r = step.lr / (1 + 0.25 * static_cast<double>(step.step));
  for (size_t i = 0; i < state.param.size(); ++i) {
    double& h = state.slots[0][i];
    const double g = step.grad_scale * grad[i];
    h += g * g;
    state.param[i] -= r * g / (std::sqrt(h) + 1e-6);
  }
}

TEST(TrainingStepTest, AdagradUpdatesFollowTheDefinition) {
  CheckFiveSteps(Step("OnnxAdagradUpdate", {{"decay_factor", 0.25f}}), {true},
                 Adagrad);
}

void Nesterov(const UpdateStep& step, const std::vector<double>& grad,
              UpdateState& state) {
  const double beta = step.step > 0 ? 0.25 : 1;
  for (size_t i = 0; i < state.param.size(); ++i) {
    double& v = state.slots[0][i];
    const double g = step.grad_scale * grad[i];
    v = 0.5 * v + beta * g;
    state.param[i] -= step.lr * (g + 0.5 * v);
  }
}

TEST(TrainingStepTest, MomentumUpdatesFollowTheDefinition) {
  CheckFiveSteps(
      Step("OnnxMomentumUpdate", {{"alpha", 0.5f},
                                  {"beta", 0.25f},
                                  {"mode", std::string("nesterov")}}),
      {true}, Nesterov);
}

TEST(TrainingStepTest, RefusesWhatDoesNotFit) {
  const TensorType x = F32({2});
  const TensorType r = F32({});
  const TensorType t = I64({});
  ExpectRefused("Adam", {r, t, x, x, x}, {}, "Adam");
  ExpectRefused("Adagrad", {r, t, x, x, x, x}, {},
                "takes R, T and 3 operands for each tensor, got 6");
  ExpectRefused("Adagrad", {t, t, x, x, x}, {}, "R must be one f32");
  ExpectRefused(
      "Adagrad", {r, t, x, F32({3}), x}, {},
      "gradient and slots must be f32[2] as their tensor, got f32[3]");
  ExpectRefused("Momentum", {r, t, x, x, x}, {{"mode", std::string("heavy")}},
                "mode must be \"standard\" or \"nesterov\", got \"heavy\"");
}

}  // namespace
}  // namespace reprise
