// Erf, the error function.
//
//   dx = 2 / sqrt(pi) e^(-x^2) dy
//
// Tested by tests/ops/unary_test.cc.

#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/erf.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void ErfLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y, [](DF d, VF x) HWY_ATTR { return Erf(d, x); }, x);
}

void ErfGradLoop(const float* x, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF x, VF dy) HWY_ATTR {
        const VF e = Exp(d, hn::Neg(hn::Mul(x, x)));
        return hn::Mul(dy, hn::Mul(e, hn::Set(d, 1.12837917f)));
      },
      x, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(ErfLoop);
HWY_EXPORT(ErfGradLoop);

}  // namespace

std::vector<OpDef> ErfOps() {
  UnarySpec spec;
  spec.name = "Erf";
  spec.flops_per_element = 40;
  spec.loop = [](const float* x, float* y, int64_t n, const float*) {
    HWY_DYNAMIC_DISPATCH(ErfLoop)(x, y, n);
  };
  spec.grad_flops_per_element = 24;
  spec.grad_loop = [](const float* x, const float* dy, float* dx, int64_t n,
                      const float*) {
    HWY_DYNAMIC_DISPATCH(ErfGradLoop)(x, dy, dx, n);
  };
  return UnaryOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
