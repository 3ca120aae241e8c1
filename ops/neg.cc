// Neg, y = -x; of integers too, where the lowest one stays itself.
//
//   dx = -dy
//
// The gradient reads no forward value.
// Tested by tests/ops/pointwise_test.cc.

#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/unary.h"

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
      n, y, [](DF, VF x) HWY_ATTR { return hn::Neg(x); }, x);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(NegLoop);

ElementLoop Loop(DType dtype, const Attrs&) {
  if (dtype == DType::kF32) {
    return [](const void* x, void* y, int64_t n) {
      HWY_DYNAMIC_DISPATCH(NegLoop)
      (static_cast<const float*>(x), static_cast<float*>(y), n);
    };
  }
  return WrappingLoop(dtype, [](auto x) { return 0 - x; });
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  return {b.Add("Neg", {b.out_grad(0)})};
}

}  // namespace

std::vector<OpDef> NegOps() {
  ElementwiseSpec spec;
  spec.name = "Neg";
  spec.loop = Loop;
  OpDef op = ElementwiseOp(std::move(spec));
  op.grad = Grad;
  return {op};
}

}  // namespace reprise
#endif  // HWY_ONCE
