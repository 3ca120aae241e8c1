// ThresholdedRelu, y = x where x > alpha, else 0.
//
//   dx = dy where x > alpha, else 0
//
// Where alpha >= 0, y > alpha exactly where x is: the gradient reads y, and x
// may be freed or overwritten by y. Otherwise it reads x.
// Tested by tests/ops/unary_test.cc.

#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/thresholded_relu.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void ThresholdedReluLoop(const float* x, float* y, int64_t n,
                         const float* params) {
  const float alpha = params[0];
  Map(
      n, y,
      [=](DF d, VF x) HWY_ATTR {
        return hn::IfThenElse(hn::Le(x, hn::Set(d, alpha)), hn::Zero(d), x);
      },
      x);
}

void ThresholdedReluGradLoop(const float* kept, const float* dy, float* dx,
                             int64_t n, const float* params) {
  const float alpha = params[0];
  Map(
      n, dx,
      [=](DF d, VF kept, VF dy) HWY_ATTR {
        return hn::IfThenElseZero(hn::Gt(kept, hn::Set(d, alpha)), dy);
      },
      kept, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(ThresholdedReluLoop);
HWY_EXPORT(ThresholdedReluGradLoop);

bool KeepsResult(const Attrs& attrs) { return attrs.Float("alpha") >= 0; }

}  // namespace

std::vector<OpDef> ThresholdedReluOps() {
  UnarySpec spec;
  spec.name = "ThresholdedRelu";
  spec.attrs = {AttrSpec("alpha", 1.0f)};
  spec.loop = [](const float* x, float* y, int64_t n, const float* params) {
    HWY_DYNAMIC_DISPATCH(ThresholdedReluLoop)(x, y, n, params);
  };
  spec.grad_flops_per_element = 1;
  spec.grad_loop = [](const float* kept, const float* dy, float* dx, int64_t n,
                      const float* params) {
    HWY_DYNAMIC_DISPATCH(ThresholdedReluGradLoop)(kept, dy, dx, n, params);
  };
  spec.keeps_result = KeepsResult;
  return UnaryOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
