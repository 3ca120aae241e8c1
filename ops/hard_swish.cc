// HardSwish, y = x h with h = x / 6 + 1/2, cut to [0, 1].
//
//   dx = 0 where x < -3, dy (x / 3 + 1/2) up to 3, dy beyond
//
// The derivative at the two bounds is the middle one, as PyTorch has it.
// Tested by tests/ops/unary_test.cc.

#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/hard_swish.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void HardSwishLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y,
      [](DF d, VF x) HWY_ATTR {
        const VF line = hn::MulAdd(x, hn::Set(d, 1.0f / 6), hn::Set(d, 0.5f));
        return hn::Mul(x, CutTo(line, hn::Zero(d), hn::Set(d, 1.0f)));
      },
      x);
}

void HardSwishGradLoop(const float* x, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF x, VF dy) HWY_ATTR {
        const VF three = hn::Set(d, 3.0f);
        const VF slope = hn::MulAdd(x, hn::Set(d, 1.0f / 3), hn::Set(d, 0.5f));
        const VF low =
            hn::IfThenElse(hn::Lt(x, hn::Neg(three)), hn::Zero(d), slope);
        return hn::Mul(dy,
                       hn::IfThenElse(hn::Gt(x, three), hn::Set(d, 1.0f), low));
      },
      x, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(HardSwishLoop);
HWY_EXPORT(HardSwishGradLoop);

}  // namespace

std::vector<OpDef> HardSwishOps() {
  UnarySpec spec;
  spec.name = "HardSwish";
  spec.flops_per_element = 5;
  spec.loop = [](const float* x, float* y, int64_t n, const float*) {
    HWY_DYNAMIC_DISPATCH(HardSwishLoop)(x, y, n);
  };
  spec.grad_flops_per_element = 5;
  spec.grad_loop = [](const float* x, const float* dy, float* dx, int64_t n,
                      const float*) {
    HWY_DYNAMIC_DISPATCH(HardSwishGradLoop)(x, dy, dx, n);
  };
  return UnaryOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
