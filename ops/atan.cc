// Atan, y = arctan x.
//
//   dx = dy / (1 + x^2)
//
// Tested by tests/ops/unary_test.cc.

#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/atan.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void AtanLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y, [](DF d, VF x) HWY_ATTR { return KeepNan(x, hn::Atan(d, x)); }, x);
}

void AtanGradLoop(const float* x, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF x, VF dy)
          HWY_ATTR { return hn::Div(dy, hn::MulAdd(x, x, hn::Set(d, 1.0f))); },
      x, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(AtanLoop);
HWY_EXPORT(AtanGradLoop);

}  // namespace

std::vector<OpDef> AtanOps() {
  UnarySpec spec;
  spec.name = "Atan";
  spec.flops_per_element = 30;
  spec.loop = [](const float* x, float* y, int64_t n, const float*) {
    HWY_DYNAMIC_DISPATCH(AtanLoop)(x, y, n);
  };
  spec.grad_flops_per_element = 6;
  spec.grad_loop = [](const float* x, const float* dy, float* dx, int64_t n,
                      const float*) {
    HWY_DYNAMIC_DISPATCH(AtanGradLoop)(x, dy, dx, n);
  };
  return UnaryOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
