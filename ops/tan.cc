// Tan, y = tan x.
//
//   dx = dy (1 + y^2)
//
// The gradient reads y, so x may be freed or overwritten by y.
// Tested by tests/ops/unary_test.cc.

#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/tan.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void TanLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y,
      [](DF d, VF x) HWY_ATTR { return hn::Div(Sine(d, x), Cosine(d, x)); }, x);
}

void TanGradLoop(const float* y, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF y, VF dy)
          HWY_ATTR { return hn::Mul(dy, hn::MulAdd(y, y, hn::Set(d, 1.0f))); },
      y, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(TanLoop);
HWY_EXPORT(TanGradLoop);

}  // namespace

std::vector<OpDef> TanOps() {
  UnarySpec spec;
  spec.name = "Tan";
  spec.flops_per_element = 60;
  spec.loop = [](const float* x, float* y, int64_t n, const float*) {
    HWY_DYNAMIC_DISPATCH(TanLoop)(x, y, n);
  };
  spec.grad_flops_per_element = 4;
  spec.grad_loop = [](const float* y, const float* dy, float* dx, int64_t n,
                      const float*) {
    HWY_DYNAMIC_DISPATCH(TanGradLoop)(y, dy, dx, n);
  };
  spec.keeps_result = Always;
  return UnaryOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
