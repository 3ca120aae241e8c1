// SgdUpdate: gradient descent with momentum, as in torch.optim.SGD.
//
//   g  = grad_scale grad + weight_decay p
//   m' = g at the first step, then momentum m + (1 - dampening) g
//   p' = p - lr (nesterov ? g + momentum m' : m')
//
// Without momentum p' = p - lr g and there is no slot.
// Tested by tests/ops/sgd_update_test.cc.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/simd.h"
#include "ops/lib/update.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/sgd_update.cc"
#include "hwy/foreach_target.h"  // after simd.h
#include "ops/lib/update-inl.h"

#ifndef OPS_SGD_UPDATE_RUN_
#define OPS_SGD_UPDATE_RUN_
namespace reprise {
namespace {

struct SgdRun {
  float lr = 0;
  float weight_decay = 0;
  float momentum = 0;    // of the old buffer in the new one
  float share = 1;       // of the gradient in the new buffer
  float look_ahead = 0;  // nesterov: of the new buffer in the step
  bool nesterov = false;
};

}  // namespace
}  // namespace reprise
#endif  // OPS_SGD_UPDATE_RUN_

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void SgdLoop(const UpdateOperands& o, const SgdRun& run, int64_t begin,
             int64_t end) {
  const DF d;
  const VF lr = hn::Set(d, run.lr);
  const VF decay = hn::Set(d, run.weight_decay);
  const VF scale = hn::Set(d, o.grad_scale);
  const VF momentum = hn::Set(d, run.momentum);
  const VF share = hn::Set(d, run.share);
  const VF look_ahead = hn::Set(d, run.look_ahead);
  const bool has_momentum = o.slot[0] != nullptr;
  ForEachVector(begin, end, [&](auto at) HWY_ATTR {
    const VF p = at.Load(o.param);
    VF g = hn::MulAdd(decay, p, hn::Mul(scale, at.Load(o.grad)));
    if (has_momentum) {
      const VF m = hn::MulAdd(momentum, at.Load(o.slot[0]), hn::Mul(share, g));
      at.Store(m, o.new_slot[0]);
      g = run.nesterov ? hn::MulAdd(look_ahead, m, g) : m;
    }
    at.Store(hn::NegMulAdd(lr, g, p), o.new_param);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {

HWY_EXPORT(SgdLoop);

namespace {

absl::StatusOr<Kernel> Build(const Signature& signature, const OpEnv& env) {
  const Attrs& attrs = signature.attrs;
  const double momentum = AsWritten(attrs.Float("momentum"));
  const double dampening = AsWritten(attrs.Float("dampening"));
  SgdRun constants;
  constants.weight_decay = attrs.Float("weight_decay");
  constants.nesterov = attrs.Bool("nesterov");
  constants.look_ahead = static_cast<float>(momentum);
  const auto prepare = [=](const UpdateOperands& operands) {
    SgdRun run = constants;
    run.lr = static_cast<float>(operands.lr);
    const bool first = operands.step == 0;
    run.momentum = first ? 0.0f : static_cast<float>(momentum);
    run.share = first ? 1.0f : static_cast<float>(1 - dampening);
    return run;
  };
  return UpdateKernel(signature, env, prepare, [](const auto&... args) {
    HWY_DYNAMIC_DISPATCH(SgdLoop)(args...);
  });
}

}  // namespace

std::vector<OpDef> SgdUpdateOps() {
  OpDef op = UpdateOp("SgdUpdate", /*num_slots=*/1, /*required_slots=*/0,
                      {AttrSpec("momentum", 0.0f), AttrSpec("dampening", 0.0f),
                       AttrSpec("nesterov", false)},
                      /*flops=*/7);
  const auto infer = op.infer;
  op.infer = [infer](const OpArgs& args) -> InferredTypes {
    if ((args.attrs.Float("momentum") != 0) != HasSlot(args.in, 0)) {
      return Invalid("SgdUpdate: takes a momentum slot iff momentum is not 0, ",
                     "got momentum ", args.attrs.Float("momentum"));
    }
    return infer(args);
  };
  op.build = Build;
  return {op};
}

}  // namespace reprise
#endif  // HWY_ONCE
