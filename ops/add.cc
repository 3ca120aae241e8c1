// Addition with broadcasting, y = a + b.
//
//   da = dy, db = dy, each summed over the axes that were broadcast
//
// The gradient reads no forward value.
// Tested by tests/ops/binary_test.cc.

#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/broadcast.h"
#include "ops/lib/grad.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/add.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void AddLoop(RowKind kind, const void* a, const void* b, void* y, int64_t n) {
  MapRow(kind, a, b, y, n,
         [](DF, VF a, VF b) HWY_ATTR { return hn::Add(a, b); });
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(AddLoop);

RowLoop Loop(DType dtype) {
  if (dtype == DType::kF32) {
    return [](RowKind kind, const void* a, const void* b, void* y, int64_t n) {
      HWY_DYNAMIC_DISPATCH(AddLoop)(kind, a, b, y, n);
    };
  }
  return WrappingRowLoop(dtype, [](auto a, auto b) { return a + b; });
}

std::vector<ValueId> Grad(GradBuilder& b) {
  std::vector<ValueId> grads(2, kNoValue);
  for (int i = 0; i < 2; ++i) {
    if (b.needs_grad(i)) grads[i] = SumToInput(b, b.out_grad(0), i);
  }
  return grads;
}

}  // namespace

std::vector<OpDef> AddOps() {
  BinarySpec spec;
  spec.name = "Add";
  spec.loop = Loop;
  OpDef op = BinaryOp(std::move(spec));
  op.grad = Grad;
  return {op};
}

}  // namespace reprise
#endif  // HWY_ONCE
