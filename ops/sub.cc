// Subtraction with broadcasting, y = a - b.
//
//   da = dy, db = -dy, each summed over the axes that were broadcast
//
// The sum comes before the sign: it may be much smaller. The gradient reads no
// forward value.
// Tested by tests/ops/binary_test.cc.

#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/broadcast.h"
#include "ops/lib/grad.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/sub.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void SubLoop(RowKind kind, const void* a, const void* b, void* y, int64_t n) {
  MapRow(kind, a, b, y, n,
         [](DF, VF a, VF b) HWY_ATTR { return hn::Sub(a, b); });
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(SubLoop);

RowLoop Loop(DType dtype) {
  if (dtype == DType::kF32) {
    return [](RowKind kind, const void* a, const void* b, void* y, int64_t n) {
      HWY_DYNAMIC_DISPATCH(SubLoop)(kind, a, b, y, n);
    };
  }
  return WrappingRowLoop(dtype, [](auto a, auto b) { return a - b; });
}

std::vector<ValueId> Grad(GradBuilder& b) {
  std::vector<ValueId> grads(2, kNoValue);
  const ValueId dy = b.out_grad(0);
  if (b.needs_grad(0)) grads[0] = SumToInput(b, dy, 0);
  if (b.needs_grad(1)) {
    grads[1] = b.Add("Neg", {SumToInput(b, dy, 1)});
  }
  return grads;
}

}  // namespace

std::vector<OpDef> SubOps() {
  BinarySpec spec;
  spec.name = "Sub";
  spec.loop = Loop;
  OpDef op = BinaryOp(std::move(spec));
  op.grad = Grad;
  return {op};
}

}  // namespace reprise
#endif  // HWY_ONCE
