// LeakyRelu, y = x where x >= 0, else alpha x, and its gradient.
//
//   dx = dy where x > 0, else alpha dy
//
// The derivative at 0 is taken from below, as PyTorch does. Where alpha >= 0, y
// is positive exactly where x is: the gradient reads y, and x may be freed or
// overwritten by y. Otherwise it reads x.
// Tested by tests/ops/pointwise_test.cc.

#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/pointwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/leaky_relu.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void LeakyReluLoop(const float* x, float* y, int64_t n, float alpha) {
  Map(
      n, y,
      [=](DF d, VF x) HWY_ATTR {
        return hn::IfThenElse(hn::Lt(x, hn::Zero(d)),
                              hn::Mul(x, hn::Set(d, alpha)), x);
      },
      x);
}

void LeakyReluGradLoop(const float* kept, const float* dy, float* dx, int64_t n,
                       float alpha) {
  Map(
      n, dx,
      [=](DF d, VF kept, VF dy) HWY_ATTR {
        return hn::IfThenElse(hn::Gt(kept, hn::Zero(d)), dy,
                              hn::Mul(dy, hn::Set(d, alpha)));
      },
      kept, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(LeakyReluLoop);
HWY_EXPORT(LeakyReluGradLoop);

PointwiseLoop LeakyRelu(const Attrs& attrs) {
  return [alpha = attrs.Float("alpha")](const float* const* in, float* y,
                                        int64_t n) {
    HWY_DYNAMIC_DISPATCH(LeakyReluLoop)(in[0], y, n, alpha);
  };
}

PointwiseLoop LeakyReluGrad(const Attrs& attrs) {
  return [alpha = attrs.Float("alpha")](const float* const* in, float* dx,
                                        int64_t n) {
    HWY_DYNAMIC_DISPATCH(LeakyReluGradLoop)(in[0], in[1], dx, n, alpha);
  };
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  const ValueId kept = b.attrs().Float("alpha") >= 0 ? b.out(0) : b.in(0);
  return {b.Add("LeakyReluGrad", {kept, b.out_grad(0)}, b.attrs())};
}

}  // namespace

std::vector<OpDef> LeakyReluOps() {
  PointwiseSpec forward;
  forward.name = "LeakyRelu";
  forward.attrs = {AttrSpec("alpha", 0.01f)};
  forward.flops_per_element = 2;
  forward.loop = LeakyRelu;
  PointwiseSpec backward;
  backward.name = "LeakyReluGrad";
  backward.attrs = {AttrSpec("alpha", 0.01f)};
  backward.flops_per_element = 2;
  backward.loop = LeakyReluGrad;
  OpDef op = PointwiseOp(std::move(forward));
  op.grad = Grad;
  return {op, PointwiseGradOp(std::move(backward))};
}

}  // namespace reprise
#endif  // HWY_ONCE
