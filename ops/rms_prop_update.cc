// RmsPropUpdate: as in torch.optim.RMSprop.
//
//   g  = grad_scale grad + weight_decay p
//   v' = alpha v + (1 - alpha) g^2
//   a' = a + (1 - alpha) (g - a)                             centered
//   r  = sqrt(centered ? v' - a'^2 : v') + epsilon
//   b' = momentum b + g / r                                  with momentum
//   p' = p - lr (momentum ? b' : g / r)
//
// v' - a'^2 is a variance: where rounding makes it negative it counts as 0.
// Slots: v, then b if momentum is not 0, then a if centered.
// Source: Tieleman and Hinton (2012), lecture 6.5 of "Neural networks for
// machine learning"; the centered form: Graves (2013), arXiv:1308.0850.
// Tested by tests/ops/rms_prop_update_test.cc.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/op.h"
#include "ops/lib/simd.h"
#include "ops/lib/update.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/rms_prop_update.cc"
#include "hwy/foreach_target.h"  // after simd.h
#include "ops/lib/update-inl.h"

#ifndef OPS_RMS_PROP_UPDATE_RUN_
#define OPS_RMS_PROP_UPDATE_RUN_
namespace reprise {
namespace {

struct RmsPropRun {
  float lr = 0;
  float weight_decay = 0;
  float alpha = 0;
  float share = 0;  // 1 - alpha
  float epsilon = 0;
  float momentum = 0;
};

}  // namespace
}  // namespace reprise
#endif  // OPS_RMS_PROP_UPDATE_RUN_

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void RmsPropLoop(const UpdateOperands& o, const RmsPropRun& run, int64_t begin,
                 int64_t end) {
  const DF d;
  const VF lr = hn::Set(d, run.lr);
  const VF decay = hn::Set(d, run.weight_decay);
  const VF scale = hn::Set(d, o.grad_scale);
  const VF alpha = hn::Set(d, run.alpha);
  const VF share = hn::Set(d, run.share);
  const VF epsilon = hn::Set(d, run.epsilon);
  const VF momentum = hn::Set(d, run.momentum);
  const bool has_momentum = o.slot[1] != nullptr;
  const bool centered = o.slot[2] != nullptr;
  ForEachVector(begin, end, [&](auto at) HWY_ATTR {
    const VF p = at.Load(o.param);
    const VF g = hn::MulAdd(decay, p, hn::Mul(scale, at.Load(o.grad)));
    const VF v =
        hn::MulAdd(alpha, at.Load(o.slot[0]), hn::Mul(hn::Mul(share, g), g));
    at.Store(v, o.new_slot[0]);
    VF variance = v;
    if (centered) {
      const VF a = at.Load(o.slot[2]);
      const VF new_a = hn::MulAdd(share, hn::Sub(g, a), a);
      at.Store(new_a, o.new_slot[2]);
      variance = hn::Max(hn::NegMulAdd(new_a, new_a, v), hn::Zero(d));
    }
    VF step = hn::Div(g, hn::Add(hn::Sqrt(variance), epsilon));
    if (has_momentum) {
      step = hn::MulAdd(momentum, at.Load(o.slot[1]), step);
      at.Store(step, o.new_slot[1]);
    }
    at.Store(hn::NegMulAdd(lr, step, p), o.new_param);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {

HWY_EXPORT(RmsPropLoop);

namespace {

absl::StatusOr<Kernel> Build(const Signature& signature, const OpEnv& env) {
  const Attrs& attrs = signature.attrs;
  RmsPropRun constants;
  constants.weight_decay = attrs.Float("weight_decay");
  constants.alpha = attrs.Float("alpha");
  constants.share = static_cast<float>(1 - AsWritten(attrs.Float("alpha")));
  constants.epsilon = attrs.Float("epsilon");
  constants.momentum = attrs.Float("momentum");
  const auto prepare = [=](const UpdateOperands& operands) {
    RmsPropRun run = constants;
    run.lr = static_cast<float>(operands.lr);
    return run;
  };
  return UpdateKernel(signature, env, prepare, [](const auto&... args) {
    HWY_DYNAMIC_DISPATCH(RmsPropLoop)(args...);
  });
}

}  // namespace

std::vector<OpDef> RmsPropUpdateOps() {
  OpDef op = UpdateOp("RmsPropUpdate", /*num_slots=*/3, /*required_slots=*/1,
                      {AttrSpec("alpha", 0.99f), AttrSpec("epsilon", 1e-8f),
                       AttrSpec("momentum", 0.0f), AttrSpec("centered", false)},
                      /*flops=*/14);
  const auto infer = op.infer;
  op.infer = [infer](const OpArgs& args) -> InferredTypes {
    if ((args.attrs.Float("momentum") != 0) != HasSlot(args.in, 1) ||
        args.attrs.Bool("centered") != HasSlot(args.in, 2)) {
      return Invalid(
          "RmsPropUpdate: takes a momentum slot iff momentum is not ",
          "0 and a mean slot iff centered, got momentum ",
          args.attrs.Float("momentum"), ", centered ",
          args.attrs.Bool("centered"));
    }
    return infer(args);
  };
  op.build = Build;
  return {op};
}

}  // namespace reprise
#endif  // HWY_ONCE
