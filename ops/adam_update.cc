// AdamUpdate: Adam, and AdamW where `decoupled`, as in torch.optim.
//
//   p  = p (1 - lr weight_decay)           decoupled
//   g  = grad_scale grad + weight_decay p  otherwise
//   m' = m + (1 - beta1) (g - m)
//   v' = beta2 v + (1 - beta2) g^2
//   p' = p - lr / (1 - beta1^t) m' / (sqrt(v') / sqrt(1 - beta2^t) + epsilon)
//
// t counts steps from 1; its powers are computed in double.
// Source: Kingma and Ba (2015), arXiv:1412.6980; Loshchilov and Hutter (2019),
// arXiv:1711.05101.
// Tested by tests/ops/adam_update_test.cc.

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/op.h"
#include "ops/lib/simd.h"
#include "ops/lib/update.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/adam_update.cc"
#include "hwy/foreach_target.h"  // after simd.h
#include "ops/lib/update-inl.h"

#ifndef OPS_ADAM_UPDATE_RUN_
#define OPS_ADAM_UPDATE_RUN_
namespace reprise {
namespace {

struct AdamRun {
  float keep = 1;          // of the parameter, if decay is decoupled
  float weight_decay = 0;  // added to the gradient
  float share1 = 0;        // 1 - beta1
  float beta2 = 0;
  float share2 = 0;        // 1 - beta2
  float step_size = 0;     // lr over the first correction
  float inverse_root = 1;  // 1 / sqrt of the second correction
  float epsilon = 0;
};

}  // namespace
}  // namespace reprise
#endif  // OPS_ADAM_UPDATE_RUN_

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void AdamLoop(const UpdateOperands& o, const AdamRun& run, int64_t begin,
              int64_t end) {
  const DF d;
  const VF keep = hn::Set(d, run.keep);
  const VF decay = hn::Set(d, run.weight_decay);
  const VF scale = hn::Set(d, o.grad_scale);
  const VF share1 = hn::Set(d, run.share1);
  const VF beta2 = hn::Set(d, run.beta2);
  const VF share2 = hn::Set(d, run.share2);
  const VF step_size = hn::Set(d, run.step_size);
  const VF inverse_root = hn::Set(d, run.inverse_root);
  const VF epsilon = hn::Set(d, run.epsilon);
  ForEachVector(begin, end, [&](auto at) HWY_ATTR {
    const VF old = at.Load(o.param);
    const VF g = hn::MulAdd(decay, old, hn::Mul(scale, at.Load(o.grad)));
    const VF m = at.Load(o.slot[0]);
    const VF new_m = hn::MulAdd(share1, hn::Sub(g, m), m);
    const VF new_v =
        hn::MulAdd(beta2, at.Load(o.slot[1]), hn::Mul(hn::Mul(share2, g), g));
    at.Store(new_m, o.new_slot[0]);
    at.Store(new_v, o.new_slot[1]);
    const VF root = hn::MulAdd(hn::Sqrt(new_v), inverse_root, epsilon);
    at.Store(hn::NegMulAdd(step_size, hn::Div(new_m, root), hn::Mul(keep, old)),
             o.new_param);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {

HWY_EXPORT(AdamLoop);

namespace {

absl::StatusOr<Kernel> Build(const Signature& signature, const OpEnv& env) {
  const Attrs& attrs = signature.attrs;
  const double beta1 = AsWritten(attrs.Float("beta1"));
  const double beta2 = AsWritten(attrs.Float("beta2"));
  const double decay = AsWritten(attrs.Float("weight_decay"));
  const bool decoupled = attrs.Bool("decoupled");
  const float epsilon = attrs.Float("epsilon");
  const auto prepare = [=](const UpdateOperands& operands) {
    const double t = static_cast<double>(operands.step) + 1;
    AdamRun run;
    run.keep = decoupled ? static_cast<float>(1 - operands.lr * decay) : 1.0f;
    run.weight_decay = decoupled ? 0.0f : static_cast<float>(decay);
    run.share1 = static_cast<float>(1 - beta1);
    run.beta2 = static_cast<float>(beta2);
    run.share2 = static_cast<float>(1 - beta2);
    run.step_size = static_cast<float>(operands.lr / (1 - std::pow(beta1, t)));
    run.inverse_root =
        static_cast<float>(1 / std::sqrt(1 - std::pow(beta2, t)));
    run.epsilon = epsilon;
    return run;
  };
  return UpdateKernel(signature, env, prepare, [](const auto&... args) {
    HWY_DYNAMIC_DISPATCH(AdamLoop)(args...);
  });
}

}  // namespace

std::vector<OpDef> AdamUpdateOps() {
  OpDef op =
      UpdateOp("AdamUpdate", /*num_slots=*/2, /*required_slots=*/2,
               {AttrSpec("beta1", 0.9f), AttrSpec("beta2", 0.999f),
                AttrSpec("epsilon", 1e-8f), AttrSpec("decoupled", false)},
               /*flops=*/14);
  op.build = Build;
  return {op};
}

}  // namespace reprise
#endif  // HWY_ONCE
