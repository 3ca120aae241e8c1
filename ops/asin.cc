// Asin, y = arcsin x; NaN where |x| > 1.
//
//   dx = dy / sqrt((1 - x) (1 + x))
//
// Tested by tests/ops/unary_test.cc.

#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/asin.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void AsinLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y,
      [](DF d, VF x) HWY_ATTR { return Outside(d, x, 1.0f, hn::Asin(d, x)); },
      x);
}

void AsinGradLoop(const float* x, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF x, VF dy) HWY_ATTR {
        const VF one = hn::Set(d, 1.0f);
        return hn::Div(dy, hn::Sqrt(hn::Mul(hn::Sub(one, x), hn::Add(one, x))));
      },
      x, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(AsinLoop);
HWY_EXPORT(AsinGradLoop);

}  // namespace

std::vector<OpDef> AsinOps() {
  UnarySpec spec;
  spec.name = "Asin";
  spec.flops_per_element = 30;
  spec.loop = [](const float* x, float* y, int64_t n, const float*) {
    HWY_DYNAMIC_DISPATCH(AsinLoop)(x, y, n);
  };
  spec.grad_flops_per_element = 6;
  spec.grad_loop = [](const float* x, const float* dy, float* dx, int64_t n,
                      const float*) {
    HWY_DYNAMIC_DISPATCH(AsinGradLoop)(x, dy, dx, n);
  };
  return UnaryOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
