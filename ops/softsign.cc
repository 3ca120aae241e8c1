// Softsign, y = x / (1 + |x|).
//
//   dx = dy / (1 + |x|)^2
//
// The gradient reads x: 1 - |y| would have lost its digits where |x| is large.
// Tested by tests/ops/unary_test.cc.

#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/softsign.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void SoftsignLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y,
      [](DF d, VF x) HWY_ATTR {
        return hn::Div(x, hn::Add(hn::Set(d, 1.0f), hn::Abs(x)));
      },
      x);
}

void SoftsignGradLoop(const float* x, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF x, VF dy) HWY_ATTR {
        const VF share =
            hn::Div(hn::Set(d, 1.0f), hn::Add(hn::Set(d, 1.0f), hn::Abs(x)));
        return hn::Mul(dy, hn::Mul(share, share));
      },
      x, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(SoftsignLoop);
HWY_EXPORT(SoftsignGradLoop);

}  // namespace

std::vector<OpDef> SoftsignOps() {
  UnarySpec spec;
  spec.name = "Softsign";
  spec.flops_per_element = 3;
  spec.loop = [](const float* x, float* y, int64_t n, const float*) {
    HWY_DYNAMIC_DISPATCH(SoftsignLoop)(x, y, n);
  };
  spec.grad_flops_per_element = 4;
  spec.grad_loop = [](const float* x, const float* dy, float* dx, int64_t n,
                      const float*) {
    HWY_DYNAMIC_DISPATCH(SoftsignGradLoop)(x, dy, dx, n);
  };
  return UnaryOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
