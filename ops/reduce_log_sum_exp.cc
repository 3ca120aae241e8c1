// ReduceLogSumExp over `axes`: ln of the sum of e^x; -inf of nothing. Taken
// from the maximum, so that nothing overflows on the way.
//
//   dx = dy e^(x - y)
//
// The gradient reads x and y.
// Tested by tests/ops/reduce_test.cc.

#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/broadcast.h"
#include "ops/lib/reduce.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce_log_sum_exp.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void ExpOfDifferenceLoop(RowKind kind, const void* a, const void* b, void* y,
                         int64_t n) {
  MapRow(kind, a, b, y, n,
         [](DF d, VF a, VF b) HWY_ATTR { return Exp(d, hn::Sub(a, b)); });
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(ExpOfDifferenceLoop);

RowLoop Loop(DType dtype) {
  if (dtype != DType::kF32) return nullptr;
  return [](RowKind kind, const void* a, const void* b, void* y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(ExpOfDifferenceLoop)(kind, a, b, y, n);
  };
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  const ValueId shares =
      b.Add("ExpOfDifference", {b.in(0), WithKeptDims(b, b.out(0))});
  return {b.Add("Mul", {shares, WithKeptDims(b, b.out_grad(0))})};
}

}  // namespace

std::vector<OpDef> ReduceLogSumExpOps() {
  OpDef op = ReduceOp("ReduceLogSumExp", Reducing::kLogSumExp);
  op.grad = Grad;

  BinarySpec spec;
  spec.name = "ExpOfDifference";  // e^(a - b)
  spec.flops_per_element = 20;
  spec.loop = Loop;
  OpDef difference = BinaryOp(std::move(spec));
  difference.internal = true;
  return {op, difference};
}

}  // namespace reprise
#endif  // HWY_ONCE
