// Sigmoid, y = 1 / (1 + e^-x), and its gradient.
//
//   dx = y (1 - y) dy
//
// The gradient reads y, so x may be freed or overwritten by y.
// Tested by tests/ops/pointwise_test.cc.

#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/pointwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/sigmoid.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void SigmoidLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y, [](DF d, VF x) HWY_ATTR { return Sigmoid(d, x); }, x);
}

void SigmoidGradLoop(const float* y, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF y, VF dy) HWY_ATTR {
        return hn::Mul(hn::Mul(y, hn::Sub(hn::Set(d, 1.0f), y)), dy);
      },
      y, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(SigmoidLoop);
HWY_EXPORT(SigmoidGradLoop);

PointwiseLoop Sigmoid(const Attrs&) {
  return [](const float* const* in, float* y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(SigmoidLoop)(in[0], y, n);
  };
}

PointwiseLoop SigmoidGrad(const Attrs&) {
  return [](const float* const* in, float* dx, int64_t n) {
    HWY_DYNAMIC_DISPATCH(SigmoidGradLoop)(in[0], in[1], dx, n);
  };
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  return {b.Add("SigmoidGrad", {b.out(0), b.out_grad(0)})};
}

}  // namespace

std::vector<OpDef> SigmoidOps() {
  PointwiseSpec forward;
  forward.name = "Sigmoid";
  forward.flops_per_element = 14;
  forward.loop = Sigmoid;
  PointwiseSpec backward;
  backward.name = "SigmoidGrad";
  backward.flops_per_element = 3;
  backward.loop = SigmoidGrad;
  OpDef op = PointwiseOp(std::move(forward));
  op.grad = Grad;
  return {op, PointwiseGradOp(std::move(backward))};
}

}  // namespace reprise
#endif  // HWY_ONCE
