// Celu, y = x where x > 0, else alpha (e^(x / alpha) - 1); alpha is not 0.
//
//   dx = dy where x > 0, else e^(x / alpha) dy = (1 + y / alpha) dy
//
// y is positive exactly where x is: the gradient reads y, so x may be freed or
// overwritten by y.
// Tested by tests/ops/unary_test.cc.

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/op.h"
#include "ops/lib/infer.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/celu.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void CeluLoop(const float* x, float* y, int64_t n, const float* params) {
  const float alpha = params[0];
  Map(
      n, y,
      [=](DF d, VF x) HWY_ATTR {
        const VF below =
            hn::Mul(Expm1(d, hn::Div(x, hn::Set(d, alpha))), hn::Set(d, alpha));
        return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, below);
      },
      x);
}

void CeluGradLoop(const float* y, const float* dy, float* dx, int64_t n,
                  const float* params) {
  const float alpha = params[0];
  Map(
      n, dx,
      [=](DF d, VF y, VF dy) HWY_ATTR {
        const VF below =
            hn::Add(hn::Div(y, hn::Set(d, alpha)), hn::Set(d, 1.0f));
        return hn::IfThenElse(hn::Gt(y, hn::Zero(d)), dy, hn::Mul(dy, below));
      },
      y, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(CeluLoop);
HWY_EXPORT(CeluGradLoop);

absl::Status Judge(const Attrs& attrs) {
  if (attrs.Float("alpha") != 0) return absl::OkStatus();
  return Invalid("Celu: alpha must not be 0");
}

}  // namespace

std::vector<OpDef> CeluOps() {
  UnarySpec spec;
  spec.name = "Celu";
  spec.attrs = {AttrSpec("alpha", 1.0f)};
  spec.flops_per_element = 30;
  spec.loop = [](const float* x, float* y, int64_t n, const float* params) {
    HWY_DYNAMIC_DISPATCH(CeluLoop)(x, y, n, params);
  };
  spec.grad_flops_per_element = 4;
  spec.grad_loop = [](const float* y, const float* dy, float* dx, int64_t n,
                      const float* params) {
    HWY_DYNAMIC_DISPATCH(CeluGradLoop)(y, dy, dx, n, params);
  };
  spec.keeps_result = Always;
  spec.judge = Judge;
  return UnaryOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
