// Division with broadcasting, y = a / b. Integers: towards zero; by zero: 0.
//
//   da = dy / b, summed over the axes that were broadcast
//   db = -sum(dy y) / b, the sum over the axes along which b was broadcast
//
// The gradient reads b, and y in place of a, so a may be freed or overwritten.
// Tested by tests/ops/binary_test.cc.

#include <limits>
#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/broadcast.h"
#include "ops/lib/grad.h"
#include "ops/lib/pointwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/div.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void DivLoop(RowKind kind, const void* a, const void* b, void* y, int64_t n) {
  MapRow(kind, a, b, y, n,
         [](DF, VF a, VF b) HWY_ATTR { return hn::Div(a, b); });
}

void NegDivLoop(const float* a, const float* b, float* y, int64_t n) {
  Map(
      n, y, [](DF, VF a, VF b) HWY_ATTR { return hn::Neg(hn::Div(a, b)); }, a,
      b);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(DivLoop);
HWY_EXPORT(NegDivLoop);

// Without the two cases that C++ leaves undefined.
template <class T>
T Quotient(T a, T b) {
  if (b == 0) return 0;
  if (b == -1) return a == std::numeric_limits<T>::min() ? a : -a;
  return a / b;
}

RowLoop Loop(DType dtype) {
  if (dtype == DType::kF32) {
    return [](RowKind kind, const void* a, const void* b, void* y, int64_t n) {
      HWY_DYNAMIC_DISPATCH(DivLoop)(kind, a, b, y, n);
    };
  }
  if (dtype == DType::kI32) return ScalarRowLoop<int32_t>(Quotient<int32_t>);
  if (dtype == DType::kI64) return ScalarRowLoop<int64_t>(Quotient<int64_t>);
  return nullptr;
}

PointwiseLoop NegDiv(const Attrs&) {
  return [](const float* const* in, float* y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(NegDivLoop)(in[0], in[1], y, n);
  };
}

std::vector<ValueId> Grad(GradBuilder& b) {
  std::vector<ValueId> grads(2, kNoValue);
  const ValueId dy = b.out_grad(0);
  if (b.needs_grad(0)) {
    grads[0] = SumToInput(b, b.Add("Div", {dy, b.in(1)}), 0);
  }
  if (b.needs_grad(1)) {
    const ValueId sum = SumToInput(b, b.Add("Mul", {dy, b.out(0)}), 1);
    grads[1] = b.Add("NegDiv", {sum, b.in(1)});
  }
  return grads;
}

}  // namespace

std::vector<OpDef> DivOps() {
  BinarySpec spec;
  spec.name = "Div";
  spec.loop = Loop;
  OpDef op = BinaryOp(std::move(spec));
  op.grad = Grad;
  PointwiseSpec neg_div;
  neg_div.name = "NegDiv";  // y = -a / b
  neg_div.loop = NegDiv;
  return {op, PointwiseGradOp(std::move(neg_div))};
}

}  // namespace reprise
#endif  // HWY_ONCE
