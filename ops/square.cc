// Square, y = x^2, and its gradient.
//
//   dx = 2 x dy
//
// The gradient reads x. Not an ONNX operator (Mul(x, x) there).
// Tested by tests/ops/pointwise_test.cc.

#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/pointwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/square.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void SquareLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y,
      [](DF d, VF x) HWY_ATTR {
        (void)d;
        return hn::Mul(x, x);
      },
      x);
}

void SquareGradLoop(const float* x, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF x, VF dy) HWY_ATTR {
        (void)d;
        return hn::Mul(hn::Add(x, x), dy);
      },
      x, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(SquareLoop);
HWY_EXPORT(SquareGradLoop);

PointwiseLoop Square(const Attrs&) {
  return [](const float* const* in, float* y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(SquareLoop)(in[0], y, n);
  };
}

PointwiseLoop SquareGrad(const Attrs&) {
  return [](const float* const* in, float* dx, int64_t n) {
    HWY_DYNAMIC_DISPATCH(SquareGradLoop)(in[0], in[1], dx, n);
  };
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  return {b.Add("SquareGrad", {b.in(0), b.out_grad(0)})};
}

}  // namespace

std::vector<OpDef> SquareOps() {
  PointwiseSpec forward;
  forward.name = "Square";
  forward.flops_per_element = 1;
  forward.loop = Square;
  PointwiseSpec backward;
  backward.name = "SquareGrad";
  backward.flops_per_element = 2;
  backward.loop = SquareGrad;
  OpDef op = PointwiseOp(std::move(forward));
  op.grad = Grad;
  return {op, PointwiseGradOp(std::move(backward))};
}

}  // namespace reprise
#endif  // HWY_ONCE
