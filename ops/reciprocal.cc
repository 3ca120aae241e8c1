// Reciprocal, y = 1 / x.
//
//   dx = -dy y^2
//
// The gradient reads y, so x may be freed or overwritten by y.
// Tested by tests/ops/unary_test.cc.

#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reciprocal.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void ReciprocalLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y, [](DF d, VF x) HWY_ATTR { return hn::Div(hn::Set(d, 1.0f), x); },
      x);
}

void ReciprocalGradLoop(const float* y, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF, VF y, VF dy)
          HWY_ATTR { return hn::Neg(hn::Mul(dy, hn::Mul(y, y))); },
      y, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(ReciprocalLoop);
HWY_EXPORT(ReciprocalGradLoop);

}  // namespace

std::vector<OpDef> ReciprocalOps() {
  UnarySpec spec;
  spec.name = "Reciprocal";
  spec.loop = [](const float* x, float* y, int64_t n, const float*) {
    HWY_DYNAMIC_DISPATCH(ReciprocalLoop)(x, y, n);
  };
  spec.grad_loop = [](const float* y, const float* dy, float* dx, int64_t n,
                      const float*) {
    HWY_DYNAMIC_DISPATCH(ReciprocalGradLoop)(y, dy, dx, n);
  };
  spec.keeps_result = Always;
  return UnaryOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
