// Multiplication with broadcasting, y = a b.
//
//   da = dy b, db = dy a, each summed over the axes that were broadcast
//
// An operand is read only if the other one's gradient is wanted.
// Tested by tests/ops/binary_test.cc.

#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/broadcast.h"
#include "ops/lib/grad.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/mul.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void MulLoop(RowKind kind, const void* a, const void* b, void* y, int64_t n) {
  MapRow(kind, a, b, y, n,
         [](DF, VF a, VF b) HWY_ATTR { return hn::Mul(a, b); });
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(MulLoop);

RowLoop Loop(DType dtype) {
  if (dtype == DType::kF32) {
    return [](RowKind kind, const void* a, const void* b, void* y, int64_t n) {
      HWY_DYNAMIC_DISPATCH(MulLoop)(kind, a, b, y, n);
    };
  }
  return WrappingRowLoop(dtype, [](auto a, auto b) { return a * b; });
}

std::vector<ValueId> Grad(GradBuilder& b) {
  std::vector<ValueId> grads(2, kNoValue);
  for (int i = 0; i < 2; ++i) {
    if (!b.needs_grad(i)) continue;
    const ValueId product = b.Add("Mul", {b.out_grad(0), b.in(1 - i)});
    grads[i] = SumToInput(b, product, i);
  }
  return grads;
}

}  // namespace

std::vector<OpDef> MulOps() {
  BinarySpec spec;
  spec.name = "Mul";
  spec.loop = Loop;
  OpDef op = BinaryOp(std::move(spec));
  op.grad = Grad;
  return {op};
}

}  // namespace reprise
#endif  // HWY_ONCE
