// Cosh, y = (e^x + e^-x) / 2.
//
//   dx = dy sinh x
//
// Tested by tests/ops/unary_test.cc.

#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cosh.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void CoshLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y, [](DF d, VF x) HWY_ATTR { return CosineHyperbolic(d, x); }, x);
}

void CoshGradLoop(const float* x, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF x, VF dy)
          HWY_ATTR { return hn::Mul(dy, SineHyperbolic(d, x)); },
      x, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(CoshLoop);
HWY_EXPORT(CoshGradLoop);

}  // namespace

std::vector<OpDef> CoshOps() {
  UnarySpec spec;
  spec.name = "Cosh";
  spec.flops_per_element = 30;
  spec.loop = [](const float* x, float* y, int64_t n, const float*) {
    HWY_DYNAMIC_DISPATCH(CoshLoop)(x, y, n);
  };
  spec.grad_flops_per_element = 6;
  spec.grad_loop = [](const float* x, const float* dy, float* dx, int64_t n,
                      const float*) {
    HWY_DYNAMIC_DISPATCH(CoshGradLoop)(x, dy, dx, n);
  };
  return UnaryOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
