// AdagradUpdate: as in torch.optim.Adagrad.
//
//   g  = grad_scale grad + weight_decay p
//   s' = s + g^2
//   p' = p - lr / (1 + step lr_decay) g / (sqrt(s') + epsilon)
//
// Source: Duchi, Hazan and Singer (2011), JMLR 12, 2121-2159.
// Tested by tests/ops/adagrad_update_test.cc.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/op.h"
#include "ops/lib/simd.h"
#include "ops/lib/update.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/adagrad_update.cc"
#include "hwy/foreach_target.h"  // after simd.h
#include "ops/lib/update-inl.h"

#ifndef OPS_ADAGRAD_UPDATE_RUN_
#define OPS_ADAGRAD_UPDATE_RUN_
namespace reprise {
namespace {

struct AdagradRun {
  float lr = 0;  // decayed
  float weight_decay = 0;
  float epsilon = 0;
};

}  // namespace
}  // namespace reprise
#endif  // OPS_ADAGRAD_UPDATE_RUN_

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void AdagradLoop(const UpdateOperands& o, const AdagradRun& run, int64_t begin,
                 int64_t end) {
  const DF d;
  const VF lr = hn::Set(d, run.lr);
  const VF decay = hn::Set(d, run.weight_decay);
  const VF scale = hn::Set(d, o.grad_scale);
  const VF epsilon = hn::Set(d, run.epsilon);
  ForEachVector(begin, end, [&](auto at) HWY_ATTR {
    const VF p = at.Load(o.param);
    const VF g = hn::MulAdd(decay, p, hn::Mul(scale, at.Load(o.grad)));
    const VF sum = hn::MulAdd(g, g, at.Load(o.slot[0]));
    at.Store(sum, o.new_slot[0]);
    const VF root = hn::Add(hn::Sqrt(sum), epsilon);
    at.Store(hn::NegMulAdd(lr, hn::Div(g, root), p), o.new_param);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {

HWY_EXPORT(AdagradLoop);

namespace {

absl::StatusOr<Kernel> Build(const Signature& signature, const OpEnv& env) {
  const Attrs& attrs = signature.attrs;
  const double lr_decay = AsWritten(attrs.Float("lr_decay"));
  AdagradRun constants;
  constants.weight_decay = attrs.Float("weight_decay");
  constants.epsilon = attrs.Float("epsilon");
  const auto prepare = [=](const UpdateOperands& operands) {
    AdagradRun run = constants;
    const double steps = static_cast<double>(operands.step);
    run.lr = static_cast<float>(operands.lr / (1 + steps * lr_decay));
    return run;
  };
  return UpdateKernel(signature, env, prepare, [](const auto&... args) {
    HWY_DYNAMIC_DISPATCH(AdagradLoop)(args...);
  });
}

}  // namespace

std::vector<OpDef> AdagradUpdateOps() {
  OpDef op = UpdateOp("AdagradUpdate", /*num_slots=*/1, /*required_slots=*/1,
                      {AttrSpec("lr_decay", 0.0f), AttrSpec("epsilon", 1e-10f)},
                      /*flops=*/9);
  op.build = Build;
  return {op};
}

}  // namespace reprise
#endif  // HWY_ONCE
