#include "tests/ops/update_cases.h"

#include <cmath>
#include <utility>

#include "gtest/gtest.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

// 37 elements: full vectors and a remainder at every vector width.
constexpr int64_t kN = 37;

// As floats, so that the reference starts where the kernel does.
std::vector<double> Wave(double frequency, double offset) {
  std::vector<double> content;
  for (int64_t i = 0; i < kN; ++i) {
    const double phase = frequency * static_cast<double>(i);
    content.push_back(static_cast<float>(std::sin(phase) + offset));
  }
  return content;
}

// Each step rounds a few times at magnitudes up to 2; quotients by the root of
// a small sum can carry ten times that: 5 * 4 * 10 * 2 * 2^-24 = 2.4e-5.
void ExpectClose(const std::vector<double>& got,
                 const std::vector<double>& want, int64_t step) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], 2.4e-5)
        << "step " << step << ", element " << i;
  }
}

}  // namespace

UpdateState RunUpdate(const UpdateStep& step, const UpdateState& state,
                      const std::vector<double>& grad) {
  const TensorType vector = F32({static_cast<int64_t>(state.param.size())});
  HostTensors in = {{vector, state.param},
                    {vector, grad},
                    {F32({}), {step.lr}},
                    {I64({}), {static_cast<double>(step.step)}}};
  if (step.grad_scale == 1) {
    in.emplace_back();
  } else {
    in.push_back({F32({}), {step.grad_scale}});
  }
  int num_outputs = 1;
  for (size_t i = 0; i < state.slots.size(); ++i) {
    if (state.slots[i].empty()) {
      in.emplace_back();
    } else {
      in.push_back({vector, state.slots[i]});
      num_outputs = static_cast<int>(i) + 2;
    }
  }
  OpCase c;
  c.op = step.op;
  c.attrs = step.attrs;
  for (const HostTensor& operand : in) c.in.push_back(operand.type);
  c.num_outputs = num_outputs;
  const HostTensors out = RunOp(c, in);
  UpdateState next = state;
  if (out.empty()) return next;  // RunOp has said why
  next.param = out[0].data;
  for (int i = 1; i < num_outputs; ++i) next.slots[i - 1] = out[i].data;
  return next;
}

void CheckFiveSteps(UpdateStep step, const std::vector<bool>& slots,
                    void (*reference)(const UpdateStep& step,
                                      const std::vector<double>& grad,
                                      UpdateState& state)) {
  UpdateState state;
  state.param = Wave(0.3, 0.2);
  for (const bool present : slots) {
    state.slots.push_back(present ? std::vector<double>(kN, 0.0)
                                  : std::vector<double>());
  }
  UpdateState want = state;
  for (step.step = 0; step.step < 5; ++step.step) {
    const std::vector<double> grad =
        Wave(0.7 + 0.1 * static_cast<double>(step.step), -0.1);
    state = RunUpdate(step, state, grad);
    reference(step, grad, want);
    ExpectClose(state.param, want.param, step.step);
    for (size_t i = 0; i < slots.size(); ++i) {
      ExpectClose(state.slots[i], want.slots[i], step.step);
    }
  }
}

}  // namespace reprise
