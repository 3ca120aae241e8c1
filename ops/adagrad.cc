// Adagrad as ONNX defines it (ai.onnx.preview.training), a node of its own, and
// OnnxAdagradUpdate, the same rule on parameters in training.
//
//   g  = G + norm_coefficient X
//   H' = H + g^2
//   X' = X - R / (1 + T decay_factor) g / (sqrt(H') + epsilon)
//
// T counts completed steps.
// Tested by tests/ops/training_step_test.cc.

#include <cstdint>
#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/simd.h"
#include "ops/lib/training_step.h"
#include "ops/lib/update.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/adagrad.cc"
#include "hwy/foreach_target.h"  // after simd.h
#include "ops/lib/update-inl.h"

#ifndef OPS_ADAGRAD_RUN_
#define OPS_ADAGRAD_RUN_
namespace reprise {
namespace {

struct AdagradStepRun {
  float decay = 0;
  float epsilon = 0;
  float step_size = 0;
};

}  // namespace
}  // namespace reprise
#endif  // OPS_ADAGRAD_RUN_

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void AdagradStepLoop(const UpdateOperands& o, const AdagradStepRun& run,
                     int64_t begin, int64_t end) {
  const DF d;
  const VF scale = hn::Set(d, o.grad_scale);
  const VF decay = hn::Set(d, run.decay);
  const VF epsilon = hn::Set(d, run.epsilon);
  const VF step_size = hn::Set(d, run.step_size);
  ForEachVector(begin, end, [&](auto at) HWY_ATTR {
    const VF old = at.Load(o.param);
    const VF g = hn::MulAdd(decay, old, hn::Mul(scale, at.Load(o.grad)));
    const VF h = hn::MulAdd(g, g, at.Load(o.slot[0]));
    const VF root = hn::Add(hn::Sqrt(h), epsilon);
    if (o.new_slot[0] != nullptr) at.Store(h, o.new_slot[0]);
    if (o.new_param != nullptr) {
      at.Store(hn::NegMulAdd(step_size, hn::Div(g, root), old), o.new_param);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {

HWY_EXPORT(AdagradStepLoop);

namespace {

AdagradStepRun RunOf(const Attrs& attrs, double decay,
                     const UpdateOperands& operands) {
  const double decay_factor = AsWritten(attrs.Float("decay_factor"));
  AdagradStepRun run;
  run.decay = static_cast<float>(decay);
  run.epsilon = attrs.Float("epsilon");
  run.step_size = static_cast<float>(
      operands.lr / (1 + static_cast<double>(operands.step) * decay_factor));
  return run;
}

}  // namespace

std::vector<OpDef> AdagradOps() {
  TrainingStepSpec spec;
  spec.name = "Adagrad";
  spec.num_slots = 1;
  spec.attrs = {AttrSpec("decay_factor", 0.0f), AttrSpec("epsilon", 1e-6f)};
  spec.flops_per_element = 8;
  return TrainingStepOps(std::move(spec), "OnnxAdagradUpdate", RunOf,
                         [](const auto&... args) {
                           HWY_DYNAMIC_DISPATCH(AdagradStepLoop)(args...);
                         });
}

}  // namespace reprise
#endif  // HWY_ONCE
