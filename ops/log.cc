// Log, y = ln x, and its gradient.
//
//   dx = dy / x
//
// y = -inf at 0 and NaN below. The gradient reads x.
// Tested by tests/ops/pointwise_test.cc.

#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/pointwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/log.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void LogLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y, [](DF d, VF x) HWY_ATTR { return Log(d, x); }, x);
}

void LogGradLoop(const float* x, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF x, VF dy) HWY_ATTR {
        (void)d;
        return hn::Div(dy, x);
      },
      x, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(LogLoop);
HWY_EXPORT(LogGradLoop);

PointwiseLoop Log(const Attrs&) {
  return [](const float* const* in, float* y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(LogLoop)(in[0], y, n);
  };
}

PointwiseLoop LogGrad(const Attrs&) {
  return [](const float* const* in, float* dx, int64_t n) {
    HWY_DYNAMIC_DISPATCH(LogGradLoop)(in[0], in[1], dx, n);
  };
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  return {b.Add("LogGrad", {b.in(0), b.out_grad(0)})};
}

}  // namespace

std::vector<OpDef> LogOps() {
  PointwiseSpec forward;
  forward.name = "Log";
  forward.flops_per_element = 18;
  forward.loop = Log;
  PointwiseSpec backward;
  backward.name = "LogGrad";
  backward.flops_per_element = 1;
  backward.loop = LogGrad;
  OpDef op = PointwiseOp(std::move(forward));
  op.grad = Grad;
  return {op, PointwiseGradOp(std::move(backward))};
}

}  // namespace reprise
#endif  // HWY_ONCE
