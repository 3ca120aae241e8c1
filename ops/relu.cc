// Relu, y = max(x, 0), and its gradient.
//
//   dx = dy where y > 0, else 0
//
// The gradient reads y, so x may be freed or overwritten by y. NaN stays NaN.
// Tested by tests/ops/pointwise_test.cc.

#include "ops/lib/relu.h"

#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/pointwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/relu.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void ReluGradLoop(const float* y, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF y, VF dy)
          HWY_ATTR { return hn::IfThenElseZero(hn::Gt(y, hn::Zero(d)), dy); },
      y, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(ReluGradLoop);

PointwiseLoop Relu(const Attrs&) {
  return
      [](const float* const* in, float* y, int64_t n) { ReluOf(in[0], y, n); };
}

PointwiseLoop ReluGrad(const Attrs&) {
  return [](const float* const* in, float* dx, int64_t n) {
    HWY_DYNAMIC_DISPATCH(ReluGradLoop)(in[0], in[1], dx, n);
  };
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  return {b.Add("ReluGrad", {b.out(0), b.out_grad(0)})};
}

}  // namespace

std::vector<OpDef> ReluOps() {
  PointwiseSpec forward;
  forward.name = "Relu";
  forward.flops_per_element = 1;
  forward.loop = Relu;
  PointwiseSpec backward;
  backward.name = "ReluGrad";
  backward.flops_per_element = 1;
  backward.loop = ReluGrad;
  OpDef op = PointwiseOp(std::move(forward));
  op.grad = Grad;
  return {op, PointwiseGradOp(std::move(backward))};
}

}  // namespace reprise
#endif  // HWY_ONCE
