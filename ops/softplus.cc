// Softplus, y = ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|).
//
//   dx = dy / (1 + e^-x) = dy (1 - e^-y)
//
// The gradient reads y, so x may be freed or overwritten by y.
// Tested by tests/ops/unary_test.cc.

#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/softplus.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void SoftplusLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y, [](DF d, VF x) HWY_ATTR { return Softplus(d, x); }, x);
}

void SoftplusGradLoop(const float* y, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF y, VF dy)
          HWY_ATTR { return hn::Mul(dy, hn::Neg(Expm1(d, hn::Neg(y)))); },
      y, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(SoftplusLoop);
HWY_EXPORT(SoftplusGradLoop);

}  // namespace

std::vector<OpDef> SoftplusOps() {
  UnarySpec spec;
  spec.name = "Softplus";
  spec.flops_per_element = 40;
  spec.loop = [](const float* x, float* y, int64_t n, const float*) {
    HWY_DYNAMIC_DISPATCH(SoftplusLoop)(x, y, n);
  };
  spec.grad_flops_per_element = 30;
  spec.grad_loop = [](const float* y, const float* dy, float* dx, int64_t n,
                      const float*) {
    HWY_DYNAMIC_DISPATCH(SoftplusGradLoop)(y, dy, dx, n);
  };
  spec.keeps_result = Always;
  return UnaryOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
