// Neg, y = -x.
//
//   dx = -dy
//
// The gradient reads no forward value.
// Tested by tests/ops/pointwise_test.cc.

#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/pointwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/neg.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void NegLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y,
      [](DF d, VF x) HWY_ATTR {
        (void)d;
        return hn::Neg(x);
      },
      x);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(NegLoop);

PointwiseLoop Neg(const Attrs&) {
  return [](const float* const* in, float* y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(NegLoop)(in[0], y, n);
  };
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  return {b.Add("Neg", {b.out_grad(0)})};
}

}  // namespace

std::vector<OpDef> NegOps() {
  PointwiseSpec spec;
  spec.name = "Neg";
  spec.loop = Neg;
  OpDef op = PointwiseOp(std::move(spec));
  op.grad = Grad;
  return {op};
}

}  // namespace reprise
#endif  // HWY_ONCE
