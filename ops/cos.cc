// Cos, y = cos x.
//
//   dx = -dy sin x
//
// Tested by tests/ops/unary_test.cc.

#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cos.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void CosLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y, [](DF d, VF x) HWY_ATTR { return Cosine(d, x); }, x);
}

void CosGradLoop(const float* x, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF x, VF dy)
          HWY_ATTR { return hn::Neg(hn::Mul(dy, Sine(d, x))); },
      x, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(CosLoop);
HWY_EXPORT(CosGradLoop);

}  // namespace

std::vector<OpDef> CosOps() {
  UnarySpec spec;
  spec.name = "Cos";
  spec.flops_per_element = 30;
  spec.loop = [](const float* x, float* y, int64_t n, const float*) {
    HWY_DYNAMIC_DISPATCH(CosLoop)(x, y, n);
  };
  spec.grad_flops_per_element = 6;
  spec.grad_loop = [](const float* x, const float* dy, float* dx, int64_t n,
                      const float*) {
    HWY_DYNAMIC_DISPATCH(CosGradLoop)(x, dy, dx, n);
  };
  return UnaryOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
