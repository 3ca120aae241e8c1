// Gelu, y = x Phi(x) with Phi the distribution function of the standard normal,
// and its gradient; with approximate = "tanh", Phi is replaced by
// T(x) = (1 + tanh u) / 2, u = sqrt(2 / pi) (x + 0.044715 x^3).
//
//   dx = (Phi(x) + x phi(x)) dy, phi the density
//   dx = (T + x 2 T (1 - T) u') dy, as tanh' u = 1 - tanh^2 u = 4 T (1 - T)
//
// The gradient reads x.
// Tested by tests/ops/pointwise_test.cc.

#include <string>
#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/infer.h"
#include "ops/lib/pointwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gelu.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

// T(x) = 1 / (1 + e^-2u), which is (1 + tanh u) / 2.
HWY_INLINE VF TanhGate(DF d, VF x) {
  const VF z = hn::Mul(x, x);
  const VF v =
      hn::MulAdd(z, hn::Set(d, 0.0713548162f), hn::Set(d, 1.59576912f));
  return Sigmoid(d, hn::Mul(x, v));
}

void GeluLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y,
      [](DF d, VF x)
          HWY_ATTR { return hn::Mul(x, NormalOf(d, x).distribution); },
      x);
}

void GeluTanhLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y, [](DF d, VF x) HWY_ATTR { return hn::Mul(x, TanhGate(d, x)); }, x);
}

void GeluGradLoop(const float* x, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF x, VF dy) HWY_ATTR {
        const Normal normal = NormalOf(d, x);
        return hn::Mul(hn::MulAdd(x, normal.density, normal.distribution), dy);
      },
      x, dy);
}

void GeluGradTanhLoop(const float* x, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF x, VF dy) HWY_ATTR {
        const VF gate = TanhGate(d, x);
        // 2 u' = 2 sqrt(2 / pi) (1 + 3 * 0.044715 x^2).
        const VF slope = hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.214064449f),
                                    hn::Set(d, 1.59576912f));
        const VF bend =
            hn::Mul(hn::Mul(gate, hn::Sub(hn::Set(d, 1.0f), gate)), slope);
        return hn::Mul(hn::MulAdd(x, bend, gate), dy);
      },
      x, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(GeluLoop);
HWY_EXPORT(GeluTanhLoop);
HWY_EXPORT(GeluGradLoop);
HWY_EXPORT(GeluGradTanhLoop);

PointwiseLoop Gelu(const Attrs& attrs) {
  if (attrs.String("approximate") == "tanh") {
    return [](const float* const* in, float* y, int64_t n) {
      HWY_DYNAMIC_DISPATCH(GeluTanhLoop)(in[0], y, n);
    };
  }
  return [](const float* const* in, float* y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(GeluLoop)(in[0], y, n);
  };
}

PointwiseLoop GeluGrad(const Attrs& attrs) {
  if (attrs.String("approximate") == "tanh") {
    return [](const float* const* in, float* dx, int64_t n) {
      HWY_DYNAMIC_DISPATCH(GeluGradTanhLoop)(in[0], in[1], dx, n);
    };
  }
  return [](const float* const* in, float* dx, int64_t n) {
    HWY_DYNAMIC_DISPATCH(GeluGradLoop)(in[0], in[1], dx, n);
  };
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  return {b.Add("GeluGrad", {b.in(0), b.out_grad(0)}, b.attrs())};
}

InferredTypes Infer(const OpArgs& args) {
  RETURN_IF_ERROR(RequireSameF32("Gelu", args));
  const std::string& approximate = args.attrs.String("approximate");
  if (approximate != "none" && approximate != "tanh") {
    return Invalid("Gelu: approximate must be \"none\" or \"tanh\", got \"",
                   approximate, "\"");
  }
  return std::vector<TensorType>{args.in[0]};
}

}  // namespace

std::vector<OpDef> GeluOps() {
  const std::vector<AttrSpec> attrs = {
      AttrSpec("approximate", std::string("none"))};
  PointwiseSpec forward;
  forward.name = "Gelu";
  forward.attrs = attrs;
  forward.flops_per_element = 30;
  forward.loop = Gelu;
  PointwiseSpec backward;
  backward.name = "GeluGrad";
  backward.attrs = attrs;
  backward.flops_per_element = 34;
  backward.loop = GeluGrad;
  OpDef op = PointwiseOp(std::move(forward));
  op.infer = Infer;
  op.grad = Grad;
  return {op, PointwiseGradOp(std::move(backward))};
}

}  // namespace reprise
#endif  // HWY_ONCE
