// Clip, y = min(max(x, low), high); `min` and `max`, operands in ONNX, are
// attributes, absent bounds infinite. NaN stays NaN.
//
//   dx = dy where low < y < high, else 0
//
// So the derivative at a bound is 0, as Relu's. The gradient reads y, so x may
// be freed or overwritten by y.
// Tested by tests/ops/unary_test.cc.

#include <limits>
#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/clip.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void ClipLoop(const float* x, float* y, int64_t n, const float* params) {
  const float low = params[0];
  const float high = params[1];
  Map(
      n, y,
      [=](DF d, VF x)
          HWY_ATTR { return CutTo(x, hn::Set(d, low), hn::Set(d, high)); },
      x);
}

void ClipGradLoop(const float* y, const float* dy, float* dx, int64_t n,
                  const float* params) {
  const float low = params[0];
  const float high = params[1];
  Map(
      n, dx,
      [=](DF d, VF y, VF dy) HWY_ATTR {
        const auto inside =
            hn::And(hn::Gt(y, hn::Set(d, low)), hn::Lt(y, hn::Set(d, high)));
        return hn::IfThenElseZero(inside, dy);
      },
      y, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(ClipLoop);
HWY_EXPORT(ClipGradLoop);

}  // namespace

std::vector<OpDef> ClipOps() {
  UnarySpec spec;
  spec.name = "Clip";
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  spec.attrs = {AttrSpec("min", -kInfinity).Allowing(FloatRange::kInfinite),
                AttrSpec("max", kInfinity).Allowing(FloatRange::kInfinite)};
  spec.flops_per_element = 2;
  spec.loop = [](const float* x, float* y, int64_t n, const float* params) {
    HWY_DYNAMIC_DISPATCH(ClipLoop)(x, y, n, params);
  };
  spec.grad_loop = [](const float* y, const float* dy, float* dx, int64_t n,
                      const float* params) {
    HWY_DYNAMIC_DISPATCH(ClipGradLoop)(y, dy, dx, n, params);
  };
  spec.keeps_result = Always;
  return UnaryOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
