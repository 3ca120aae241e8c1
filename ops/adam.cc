// Adam as ONNX defines it (ai.onnx.preview.training), a node of its own, and
// OnnxAdamUpdate, the same rule on parameters in training.
//
//   g  = G + norm_coefficient X
//   V' = alpha V + (1 - alpha) g
//   H' = beta H + (1 - beta) g^2
//   r  = R sqrt(1 - beta^T) / (1 - alpha^T), R itself where T is 0
//   X' = (1 - norm_coefficient_post) (X - r V' / (sqrt(H') + epsilon))
//
// T counts completed steps: unlike PyTorch's, the first step is not corrected,
// and epsilon joins the root before the correction.
// Tested by tests/ops/training_step_test.cc.

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/simd.h"
#include "ops/lib/training_step.h"
#include "ops/lib/update.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/adam.cc"
#include "hwy/foreach_target.h"  // after simd.h
#include "ops/lib/update-inl.h"

#ifndef OPS_ADAM_RUN_
#define OPS_ADAM_RUN_
namespace reprise {
namespace {

struct AdamStepRun {
  float decay = 0;
  float alpha = 0;
  float share1 = 0;  // 1 - alpha
  float beta = 0;
  float share2 = 0;  // 1 - beta
  float epsilon = 0;
  float step_size = 0;
  float keep = 1;  // of the result
};

}  // namespace
}  // namespace reprise
#endif  // OPS_ADAM_RUN_

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void AdamStepLoop(const UpdateOperands& o, const AdamStepRun& run,
                  int64_t begin, int64_t end) {
  const DF d;
  const VF scale = hn::Set(d, o.grad_scale);
  const VF decay = hn::Set(d, run.decay);
  const VF alpha = hn::Set(d, run.alpha);
  const VF share1 = hn::Set(d, run.share1);
  const VF beta = hn::Set(d, run.beta);
  const VF share2 = hn::Set(d, run.share2);
  const VF epsilon = hn::Set(d, run.epsilon);
  const VF step_size = hn::Set(d, run.step_size);
  const VF keep = hn::Set(d, run.keep);
  ForEachVector(begin, end, [&](auto at) HWY_ATTR {
    const VF old = at.Load(o.param);
    const VF g = hn::MulAdd(decay, old, hn::Mul(scale, at.Load(o.grad)));
    const VF v = hn::MulAdd(alpha, at.Load(o.slot[0]), hn::Mul(share1, g));
    const VF h =
        hn::MulAdd(beta, at.Load(o.slot[1]), hn::Mul(hn::Mul(share2, g), g));
    const VF root = hn::Add(hn::Sqrt(h), epsilon);
    const VF moved = hn::NegMulAdd(step_size, hn::Div(v, root), old);
    if (o.new_slot[0] != nullptr) at.Store(v, o.new_slot[0]);
    if (o.new_slot[1] != nullptr) at.Store(h, o.new_slot[1]);
    if (o.new_param != nullptr) at.Store(hn::Mul(keep, moved), o.new_param);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {

HWY_EXPORT(AdamStepLoop);

namespace {

AdamStepRun RunOf(const Attrs& attrs, double decay,
                  const UpdateOperands& operands) {
  const double alpha = AsWritten(attrs.Float("alpha"));
  const double beta = AsWritten(attrs.Float("beta"));
  const double t = static_cast<double>(operands.step);
  const double correction =
      operands.step > 0
          ? std::sqrt(1 - std::pow(beta, t)) / (1 - std::pow(alpha, t))
          : 1;
  AdamStepRun run;
  run.decay = static_cast<float>(decay);
  run.alpha = static_cast<float>(alpha);
  run.share1 = static_cast<float>(1 - alpha);
  run.beta = static_cast<float>(beta);
  run.share2 = static_cast<float>(1 - beta);
  run.epsilon = attrs.Float("epsilon");
  run.step_size = static_cast<float>(operands.lr * correction);
  run.keep =
      static_cast<float>(1 - AsWritten(attrs.Float("norm_coefficient_post")));
  return run;
}

}  // namespace

std::vector<OpDef> AdamOps() {
  TrainingStepSpec spec;
  spec.name = "Adam";
  spec.num_slots = 2;
  spec.attrs = {AttrSpec("alpha", 0.9f), AttrSpec("beta", 0.999f),
                AttrSpec("epsilon", 1e-6f),
                AttrSpec("norm_coefficient_post", 0.0f)};
  spec.flops_per_element = 16;
  return TrainingStepOps(std::move(spec), "OnnxAdamUpdate", RunOf,
                         [](const auto&... args) {
                           HWY_DYNAMIC_DISPATCH(AdamStepLoop)(args...);
                         });
}

}  // namespace reprise
#endif  // HWY_ONCE
