// Swish, y = x s with s = 1 / (1 + e^(-alpha x)); SiLU where alpha is 1.
//
//   dx = dy s (1 + alpha x (1 - s))
//
// Tested by tests/ops/unary_test.cc.

#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/swish.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void SwishLoop(const float* x, float* y, int64_t n, const float* params) {
  const float alpha = params[0];
  Map(
      n, y,
      [=](DF d, VF x) HWY_ATTR {
        return hn::Mul(x, Sigmoid(d, hn::Mul(x, hn::Set(d, alpha))));
      },
      x);
}

void SwishGradLoop(const float* x, const float* dy, float* dx, int64_t n,
                   const float* params) {
  const float alpha = params[0];
  Map(
      n, dx,
      [=](DF d, VF x, VF dy) HWY_ATTR {
        const VF scaled = hn::Mul(x, hn::Set(d, alpha));
        const VF s = Sigmoid(d, scaled);
        const VF rest = Sigmoid(d, hn::Neg(scaled));
        return hn::Mul(dy,
                       hn::Mul(s, hn::MulAdd(scaled, rest, hn::Set(d, 1.0f))));
      },
      x, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(SwishLoop);
HWY_EXPORT(SwishGradLoop);

}  // namespace

std::vector<OpDef> SwishOps() {
  UnarySpec spec;
  spec.name = "Swish";
  spec.attrs = {AttrSpec("alpha", 1.0f)};
  spec.flops_per_element = 24;
  spec.loop = [](const float* x, float* y, int64_t n, const float* params) {
    HWY_DYNAMIC_DISPATCH(SwishLoop)(x, y, n, params);
  };
  spec.grad_flops_per_element = 48;
  spec.grad_loop = [](const float* x, const float* dy, float* dx, int64_t n,
                      const float* params) {
    HWY_DYNAMIC_DISPATCH(SwishGradLoop)(x, dy, dx, n, params);
  };
  return UnaryOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
