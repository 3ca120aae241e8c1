// Sqrt, y = sqrt(x), and its gradient.
//
//   dx = dy / (2 y)
//
// The gradient reads y, so x may be freed or overwritten by y.
// Tested by tests/ops/pointwise_test.cc.

#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/pointwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/sqrt.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void SqrtLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y,
      [](DF d, VF x) HWY_ATTR {
        (void)d;
        return hn::Sqrt(x);
      },
      x);
}

void SqrtGradLoop(const float* y, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF y, VF dy) HWY_ATTR {
        (void)d;
        return hn::Div(dy, hn::Add(y, y));
      },
      y, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(SqrtLoop);
HWY_EXPORT(SqrtGradLoop);

PointwiseLoop Sqrt(const Attrs&) {
  return [](const float* const* in, float* y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(SqrtLoop)(in[0], y, n);
  };
}

PointwiseLoop SqrtGrad(const Attrs&) {
  return [](const float* const* in, float* dx, int64_t n) {
    HWY_DYNAMIC_DISPATCH(SqrtGradLoop)(in[0], in[1], dx, n);
  };
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  return {b.Add("SqrtGrad", {b.out(0), b.out_grad(0)})};
}

}  // namespace

std::vector<OpDef> SqrtOps() {
  PointwiseSpec forward;
  forward.name = "Sqrt";
  forward.flops_per_element = 1;
  forward.loop = Sqrt;
  PointwiseSpec backward;
  backward.name = "SqrtGrad";
  backward.flops_per_element = 2;
  backward.loop = SqrtGrad;
  OpDef op = PointwiseOp(std::move(forward));
  op.grad = Grad;
  return {op, PointwiseGradOp(std::move(backward))};
}

}  // namespace reprise
#endif  // HWY_ONCE
