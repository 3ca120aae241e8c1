// Elu, y = x where x >= 0, else alpha (e^x - 1), and its gradient.
//
//   from y (alpha >= 0): dx = dy where y > 0, else (y + alpha) dy
//   from x:              dx = dy where x > 0, else alpha e^x dy
//
// With alpha >= 0 the gradient reads y, and x may be freed or overwritten by y.
// Tested by tests/ops/pointwise_test.cc.

#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/pointwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elu.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void EluLoop(const float* x, float* y, int64_t n, float alpha) {
  Map(
      n, y,
      [=](DF d, VF x) HWY_ATTR {
        return hn::IfThenElse(hn::Lt(x, hn::Zero(d)),
                              hn::Mul(hn::Set(d, alpha), Expm1(d, x)), x);
      },
      x);
}

void EluGradLoop(const float* y, const float* dy, float* dx, int64_t n,
                 float alpha) {
  Map(
      n, dx,
      [=](DF d, VF y, VF dy) HWY_ATTR {
        return hn::IfThenElse(hn::Gt(y, hn::Zero(d)), dy,
                              hn::Mul(dy, hn::Add(y, hn::Set(d, alpha))));
      },
      y, dy);
}

void EluGradFromXLoop(const float* x, const float* dy, float* dx, int64_t n,
                      float alpha) {
  Map(
      n, dx,
      [=](DF d, VF x, VF dy) HWY_ATTR {
        return hn::IfThenElse(
            hn::Gt(x, hn::Zero(d)), dy,
            hn::Mul(dy, hn::Mul(hn::Set(d, alpha), Exp(d, x))));
      },
      x, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(EluLoop);
HWY_EXPORT(EluGradLoop);
HWY_EXPORT(EluGradFromXLoop);

PointwiseLoop Elu(const Attrs& attrs) {
  return [alpha = attrs.Float("alpha")](const float* const* in, float* y,
                                        int64_t n) {
    HWY_DYNAMIC_DISPATCH(EluLoop)(in[0], y, n, alpha);
  };
}

PointwiseLoop EluGrad(const Attrs& attrs) {
  return [alpha = attrs.Float("alpha")](const float* const* in, float* dx,
                                        int64_t n) {
    HWY_DYNAMIC_DISPATCH(EluGradLoop)(in[0], in[1], dx, n, alpha);
  };
}

PointwiseLoop EluGradFromX(const Attrs& attrs) {
  return [alpha = attrs.Float("alpha")](const float* const* in, float* dx,
                                        int64_t n) {
    HWY_DYNAMIC_DISPATCH(EluGradFromXLoop)(in[0], in[1], dx, n, alpha);
  };
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  if (b.attrs().Float("alpha") >= 0) {
    return {b.Add("EluGrad", {b.out(0), b.out_grad(0)}, b.attrs())};
  }
  return {b.Add("EluGradFromX", {b.in(0), b.out_grad(0)}, b.attrs())};
}

}  // namespace

std::vector<OpDef> EluOps() {
  const std::vector<AttrSpec> attrs = {AttrSpec("alpha", 1.0f)};
  PointwiseSpec forward;
  forward.name = "Elu";
  forward.attrs = attrs;
  forward.flops_per_element = 14;
  forward.loop = Elu;
  PointwiseSpec backward;
  backward.name = "EluGrad";
  backward.attrs = attrs;
  backward.flops_per_element = 2;
  backward.loop = EluGrad;
  PointwiseSpec from_x;
  from_x.name = "EluGradFromX";
  from_x.attrs = attrs;
  from_x.flops_per_element = 14;
  from_x.loop = EluGradFromX;
  OpDef op = PointwiseOp(std::move(forward));
  op.grad = Grad;
  return {op, PointwiseGradOp(std::move(backward)),
          PointwiseGradOp(std::move(from_x))};
}

}  // namespace reprise
#endif  // HWY_ONCE
