// Momentum as ONNX defines it (ai.onnx.preview.training), a node of its own,
// and OnnxMomentumUpdate, the same rule on parameters in training.
//
//   g  = G + norm_coefficient X
//   V' = alpha V + beta' g,  beta' = beta, 1 where T is 0
//   X' = X - R V',           mode "standard"
//   X' = X - R (g + alpha V'), mode "nesterov"
//
// T counts completed steps.
// Tested by tests/ops/training_step_test.cc.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/op.h"
#include "ops/lib/infer.h"
#include "ops/lib/simd.h"
#include "ops/lib/training_step.h"
#include "ops/lib/update.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/momentum.cc"
#include "hwy/foreach_target.h"  // after simd.h
#include "ops/lib/update-inl.h"

#ifndef OPS_MOMENTUM_RUN_
#define OPS_MOMENTUM_RUN_
namespace reprise {
namespace {

struct MomentumStepRun {
  float decay = 0;
  float alpha = 0;
  float beta = 0;
  float lr = 0;
  // X' = X - lr (of_gradient g + of_velocity V')
  float of_gradient = 0;
  float of_velocity = 1;
};

}  // namespace
}  // namespace reprise
#endif  // OPS_MOMENTUM_RUN_

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void MomentumStepLoop(const UpdateOperands& o, const MomentumStepRun& run,
                      int64_t begin, int64_t end) {
  const DF d;
  const VF scale = hn::Set(d, o.grad_scale);
  const VF decay = hn::Set(d, run.decay);
  const VF alpha = hn::Set(d, run.alpha);
  const VF beta = hn::Set(d, run.beta);
  const VF lr = hn::Set(d, run.lr);
  const VF of_gradient = hn::Set(d, run.of_gradient);
  const VF of_velocity = hn::Set(d, run.of_velocity);
  ForEachVector(begin, end, [&](auto at) HWY_ATTR {
    const VF old = at.Load(o.param);
    const VF g = hn::MulAdd(decay, old, hn::Mul(scale, at.Load(o.grad)));
    const VF v = hn::MulAdd(alpha, at.Load(o.slot[0]), hn::Mul(beta, g));
    const VF move = hn::MulAdd(of_velocity, v, hn::Mul(of_gradient, g));
    if (o.new_slot[0] != nullptr) at.Store(v, o.new_slot[0]);
    if (o.new_param != nullptr)
      at.Store(hn::NegMulAdd(lr, move, old), o.new_param);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {

HWY_EXPORT(MomentumStepLoop);

namespace {

MomentumStepRun RunOf(const Attrs& attrs, double decay,
                      const UpdateOperands& operands) {
  MomentumStepRun run;
  run.decay = static_cast<float>(decay);
  run.alpha = attrs.Float("alpha");
  run.beta = operands.step > 0 ? attrs.Float("beta") : 1.0f;
  run.lr = static_cast<float>(operands.lr);
  if (attrs.String("mode") == "nesterov") {
    run.of_gradient = 1;
    run.of_velocity = run.alpha;
  }
  return run;
}

absl::Status Judge(const Attrs& attrs) {
  const std::string& mode = attrs.String("mode");
  if (mode == "standard" || mode == "nesterov") return absl::OkStatus();
  return Invalid("Momentum: mode must be \"standard\" or \"nesterov\", got \"",
                 mode, "\"");
}

}  // namespace

std::vector<OpDef> MomentumOps() {
  TrainingStepSpec spec;
  spec.name = "Momentum";
  spec.num_slots = 1;
  spec.attrs = {AttrSpec("alpha", 0.9f), AttrSpec("beta", 1.0f),
                AttrSpec("mode", std::string("standard"))};
  spec.judge = Judge;
  spec.flops_per_element = 8;
  return TrainingStepOps(std::move(spec), "OnnxMomentumUpdate", RunOf,
                         [](const auto&... args) {
                           HWY_DYNAMIC_DISPATCH(MomentumStepLoop)(args...);
                         });
}

}  // namespace reprise
#endif  // HWY_ONCE
