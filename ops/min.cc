// Min of any number of operands that broadcast to each other; NaN where one is.
//
//   da = dy where a < b, dy / 2 where they are equal, 0 elsewhere; so for b
//
// In the step graph it is a chain of Smaller(a, b), whose gradient reads both:
// of three equal operands the last one gets half. Integers too.
// Tested by tests/ops/variadic_test.cc.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/broadcast.h"
#include "ops/lib/extremes.h"
#include "ops/lib/variadic.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/min.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void SmallerLoop(RowKind kind, const void* a, const void* b, void* y,
                 int64_t n) {
  MapRow(kind, a, b, y, n, [](DF, VF a, VF b) HWY_ATTR {
    return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), b, a);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(SmallerLoop);

RowLoop Loop(DType dtype) {
  if (dtype == DType::kI32) {
    return ScalarRowLoop<int32_t>(
        [](int32_t a, int32_t b) { return std::min(a, b); });
  }
  if (dtype == DType::kI64) {
    return ScalarRowLoop<int64_t>(
        [](int64_t a, int64_t b) { return std::min(a, b); });
  }
  if (dtype != DType::kF32) return nullptr;
  return [](RowKind kind, const void* a, const void* b, void* y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(SmallerLoop)(kind, a, b, y, n);
  };
}

// LargerGrad is that of Max.
std::vector<ValueId> Grad(GradBuilder& b) {
  return ExtremesGrad(b, /*larger=*/false);
}

}  // namespace

std::vector<OpDef> MinOps() {
  OpDef op = VariadicOp("Min", {DType::kF32, DType::kI32, DType::kI64},
                        [](ExpandBuilder& b, const std::vector<ValueId>& x) {
                          return Chain(b, "Smaller", x);
                        });
  BinarySpec spec;
  spec.name = "Smaller";
  spec.loop = Loop;
  OpDef smaller = BinaryOp(std::move(spec));
  smaller.internal = true;
  smaller.grad = Grad;
  return {op, smaller};
}

}  // namespace reprise
#endif  // HWY_ONCE
