// IsNaN: which elements are NaN, BOOL. No gradient.
// Tested by tests/ops/compare_test.cc.

#include <cstdint>
#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/is_nan.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void IsNanLoop(const float* x, uint8_t* y, int64_t n) {
  MapToMask(
      n, y, [](DF, VF x) HWY_ATTR { return hn::IsNaN(x); }, x);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(IsNanLoop);

ElementLoop Loop(DType dtype, const Attrs&) {
  if (dtype != DType::kF32) return nullptr;
  return [](const void* x, void* y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(IsNanLoop)
    (static_cast<const float*>(x), static_cast<uint8_t*>(y), n);
  };
}

}  // namespace

std::vector<OpDef> IsNanOps() {
  ElementwiseSpec spec;
  spec.name = "IsNaN";
  spec.loop = Loop;
  spec.result = DType::kBool;
  return {ElementwiseOp(std::move(spec))};
}

}  // namespace reprise
#endif  // HWY_ONCE
