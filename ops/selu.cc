// Selu, y = gamma x where x > 0, else gamma alpha (e^x - 1), and its gradient.
//
//   dx = gamma dy where x > 0, else gamma alpha e^x dy = (y + gamma alpha) dy
//
// Where alpha >= 0 and gamma > 0, y is positive exactly where x is: the
// gradient reads y, and x may be freed or overwritten by y. Otherwise it reads
// x. Tested by tests/ops/unary_test.cc.

#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/selu.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void SeluLoop(const float* x, float* y, int64_t n, const float* params) {
  const float alpha = params[0];
  const float gamma = params[1];
  Map(
      n, y,
      [=](DF d, VF x) HWY_ATTR {
        const VF gamma_x = hn::Mul(x, hn::Set(d, gamma));
        const VF below =
            hn::Mul(hn::Mul(Expm1(d, x), hn::Set(d, alpha)), hn::Set(d, gamma));
        return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), gamma_x, below);
      },
      x);
}

void SeluGradLoop(const float* kept, const float* dy, float* dx, int64_t n,
                  const float* params) {
  const float alpha = params[0];
  const float gamma = params[1];
  if (alpha >= 0 && gamma > 0) {
    Map(
        n, dx,
        [=](DF d, VF y, VF dy) HWY_ATTR {
          const VF above = hn::Set(d, gamma);
          const VF below = hn::Add(y, hn::Set(d, gamma * alpha));
          return hn::Mul(dy,
                         hn::IfThenElse(hn::Gt(y, hn::Zero(d)), above, below));
        },
        kept, dy);
    return;
  }
  Map(
      n, dx,
      [=](DF d, VF x, VF dy) HWY_ATTR {
        const VF above = hn::Set(d, gamma);
        const VF below = hn::Mul(Exp(d, x), hn::Set(d, gamma * alpha));
        return hn::Mul(dy,
                       hn::IfThenElse(hn::Gt(x, hn::Zero(d)), above, below));
      },
      kept, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(SeluLoop);
HWY_EXPORT(SeluGradLoop);

bool KeepsResult(const Attrs& attrs) {
  return attrs.Float("alpha") >= 0 && attrs.Float("gamma") > 0;
}

}  // namespace

std::vector<OpDef> SeluOps() {
  UnarySpec spec;
  spec.name = "Selu";
  spec.attrs = {AttrSpec("alpha", 1.67326319f), AttrSpec("gamma", 1.05070102f)};
  spec.flops_per_element = 30;
  spec.loop = [](const float* x, float* y, int64_t n, const float* params) {
    HWY_DYNAMIC_DISPATCH(SeluLoop)(x, y, n, params);
  };
  spec.grad_flops_per_element = 4;
  spec.grad_loop = [](const float* kept, const float* dy, float* dx, int64_t n,
                      const float* params) {
    HWY_DYNAMIC_DISPATCH(SeluGradLoop)(kept, dy, dx, n, params);
  };
  spec.keeps_result = KeepsResult;
  return UnaryOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
