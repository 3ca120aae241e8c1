// Mish, y = x t with t = tanh(ln(1 + e^x)).
//
// With e = e^x and n = e (e + 2), t = n / (n + 2), which is 1 from x = 20 on.
//
//   dx = dy (t + x (1 - t^2) / (1 + e^-x)) = dy (t + 4 x e (e + 1) / (n + 2)^2)
//
// Tested by tests/ops/unary_test.cc.

#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/mish.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void MishLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y,
      [](DF d, VF x) HWY_ATTR {
        const VF e = Exp(d, CutTo(x, hn::Set(d, -150.0f), hn::Set(d, 20.0f)));
        const VF two = hn::Set(d, 2.0f);
        const VF m = hn::Mul(e, hn::Add(e, two));
        return hn::Mul(x, hn::Div(m, hn::Add(m, two)));
      },
      x);
}

void MishGradLoop(const float* x, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF x, VF dy) HWY_ATTR {
        const VF top = hn::Set(d, 20.0f);
        const VF cut = CutTo(x, hn::Set(d, -150.0f), top);
        const VF e = Exp(d, cut);
        const VF one = hn::Set(d, 1.0f);
        const VF two = hn::Set(d, 2.0f);
        const VF m = hn::Mul(e, hn::Add(e, two));
        const VF bottom = hn::Add(m, two);
        const VF t = hn::Div(m, bottom);
        const VF rest =
            hn::Div(hn::Mul(hn::Set(d, 4.0f), hn::Mul(e, hn::Add(e, one))),
                    hn::Mul(bottom, bottom));
        const VF slope = hn::MulAdd(cut, rest, t);
        return hn::Mul(dy, hn::IfThenElse(hn::Gt(x, top), one, slope));
      },
      x, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(MishLoop);
HWY_EXPORT(MishGradLoop);

}  // namespace

std::vector<OpDef> MishOps() {
  UnarySpec spec;
  spec.name = "Mish";
  spec.flops_per_element = 28;
  spec.loop = [](const float* x, float* y, int64_t n, const float*) {
    HWY_DYNAMIC_DISPATCH(MishLoop)(x, y, n);
  };
  spec.grad_flops_per_element = 36;
  spec.grad_loop = [](const float* x, const float* dy, float* dx, int64_t n,
                      const float*) {
    HWY_DYNAMIC_DISPATCH(MishGradLoop)(x, dy, dx, n);
  };
  return UnaryOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
