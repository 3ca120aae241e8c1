// Exp, y = e^x, and its gradient.
//
//   dx = y dy
//
// The gradient reads y, so x may be freed or overwritten by y.
// Tested by tests/ops/pointwise_test.cc.

#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/pointwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/exp.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void ExpLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y, [](DF d, VF x) HWY_ATTR { return Exp(d, x); }, x);
}

void ExpGradLoop(const float* y, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF y, VF dy) HWY_ATTR {
        (void)d;
        return hn::Mul(y, dy);
      },
      y, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(ExpLoop);
HWY_EXPORT(ExpGradLoop);

PointwiseLoop Exp(const Attrs&) {
  return [](const float* const* in, float* y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(ExpLoop)(in[0], y, n);
  };
}

PointwiseLoop ExpGrad(const Attrs&) {
  return [](const float* const* in, float* dx, int64_t n) {
    HWY_DYNAMIC_DISPATCH(ExpGradLoop)(in[0], in[1], dx, n);
  };
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  return {b.Add("ExpGrad", {b.out(0), b.out_grad(0)})};
}

}  // namespace

std::vector<OpDef> ExpOps() {
  PointwiseSpec forward;
  forward.name = "Exp";
  forward.flops_per_element = 12;
  forward.loop = Exp;
  PointwiseSpec backward;
  backward.name = "ExpGrad";
  backward.flops_per_element = 1;
  backward.loop = ExpGrad;
  OpDef op = PointwiseOp(std::move(forward));
  op.grad = Grad;
  return {op, PointwiseGradOp(std::move(backward))};
}

}  // namespace reprise
#endif  // HWY_ONCE
