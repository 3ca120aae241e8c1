// IsInf: which elements are infinite, BOOL, of the signs that detect_negative
// and detect_positive name. No gradient.
// Tested by tests/ops/compare_test.cc.

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/is_inf.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

// Which elements are `low` or `high`.
void IsInfLoop(const float* x, uint8_t* y, int64_t n, float low, float high) {
  MapToMask(
      n, y,
      [=](DF d, VF x) HWY_ATTR {
        return hn::Or(hn::Eq(x, hn::Set(d, low)), hn::Eq(x, hn::Set(d, high)));
      },
      x);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(IsInfLoop);

ElementLoop Loop(DType dtype, const Attrs& attrs) {
  if (dtype != DType::kF32) return nullptr;
  // NaN equals nothing.
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float low = attrs.Int("detect_negative") != 0 ? -kInfinity : kNone;
  const float high = attrs.Int("detect_positive") != 0 ? kInfinity : kNone;
  return [low, high](const void* x, void* y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(IsInfLoop)
    (static_cast<const float*>(x), static_cast<uint8_t*>(y), n, low, high);
  };
}

}  // namespace

std::vector<OpDef> IsInfOps() {
  ElementwiseSpec spec;
  spec.name = "IsInf";
  spec.attrs = {AttrSpec("detect_negative", int64_t{1}),
                AttrSpec("detect_positive", int64_t{1})};
  spec.loop = Loop;
  spec.result = DType::kBool;
  return {ElementwiseOp(std::move(spec))};
}

}  // namespace reprise
#endif  // HWY_ONCE
