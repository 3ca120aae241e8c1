// Tanh, y = tanh x, and its gradient.
//
//   dx = (1 - y^2) dy
//
// The gradient reads y, so x may be freed or overwritten by y.
// Tested by tests/ops/pointwise_test.cc.

#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/pointwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/tanh.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void TanhLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y, [](DF d, VF x) HWY_ATTR { return Tanh(d, x); }, x);
}

void TanhGradLoop(const float* y, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF y, VF dy) HWY_ATTR {
        return hn::Mul(hn::NegMulAdd(y, y, hn::Set(d, 1.0f)), dy);
      },
      y, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(TanhLoop);
HWY_EXPORT(TanhGradLoop);

PointwiseLoop Tanh(const Attrs&) {
  return [](const float* const* in, float* y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(TanhLoop)(in[0], y, n);
  };
}

PointwiseLoop TanhGrad(const Attrs&) {
  return [](const float* const* in, float* dx, int64_t n) {
    HWY_DYNAMIC_DISPATCH(TanhGradLoop)(in[0], in[1], dx, n);
  };
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  return {b.Add("TanhGrad", {b.out(0), b.out_grad(0)})};
}

}  // namespace

std::vector<OpDef> TanhOps() {
  PointwiseSpec forward;
  forward.name = "Tanh";
  forward.flops_per_element = 28;
  forward.loop = Tanh;
  PointwiseSpec backward;
  backward.name = "TanhGrad";
  backward.flops_per_element = 3;
  backward.loop = TanhGrad;
  OpDef op = PointwiseOp(std::move(forward));
  op.grad = Grad;
  return {op, PointwiseGradOp(std::move(backward))};
}

}  // namespace reprise
#endif  // HWY_ONCE
