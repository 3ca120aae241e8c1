// HardSigmoid, y = alpha x + beta, cut to [0, 1].
//
//   dx = alpha dy where 0 < y < 1, else 0
//
// The gradient reads y, so x may be freed or overwritten by y.
// Tested by tests/ops/unary_test.cc.

#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/hard_sigmoid.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void HardSigmoidLoop(const float* x, float* y, int64_t n, const float* params) {
  const float alpha = params[0];
  const float beta = params[1];
  Map(
      n, y,
      [=](DF d, VF x) HWY_ATTR {
        const VF line = hn::MulAdd(x, hn::Set(d, alpha), hn::Set(d, beta));
        return CutTo(line, hn::Zero(d), hn::Set(d, 1.0f));
      },
      x);
}

void HardSigmoidGradLoop(const float* y, const float* dy, float* dx, int64_t n,
                         const float* params) {
  const float alpha = params[0];
  Map(
      n, dx,
      [=](DF d, VF y, VF dy) HWY_ATTR {
        const auto inside =
            hn::And(hn::Gt(y, hn::Zero(d)), hn::Lt(y, hn::Set(d, 1.0f)));
        return hn::IfThenElseZero(inside, hn::Mul(dy, hn::Set(d, alpha)));
      },
      y, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(HardSigmoidLoop);
HWY_EXPORT(HardSigmoidGradLoop);

}  // namespace

std::vector<OpDef> HardSigmoidOps() {
  UnarySpec spec;
  spec.name = "HardSigmoid";
  spec.attrs = {AttrSpec("alpha", 0.2f), AttrSpec("beta", 0.5f)};
  spec.flops_per_element = 4;
  spec.loop = [](const float* x, float* y, int64_t n, const float* params) {
    HWY_DYNAMIC_DISPATCH(HardSigmoidLoop)(x, y, n, params);
  };
  spec.grad_flops_per_element = 3;
  spec.grad_loop = [](const float* y, const float* dy, float* dx, int64_t n,
                      const float* params) {
    HWY_DYNAMIC_DISPATCH(HardSigmoidGradLoop)(y, dy, dx, n, params);
  };
  spec.keeps_result = Always;
  return UnaryOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
