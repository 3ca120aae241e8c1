// ReduceL2 over `axes`: the root of the sum of squares; 0 of nothing.
//
//   dx = x dy / y, 0 where y is
//
// The gradient reads x and y.
// Tested by tests/ops/reduce_test.cc.

#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/broadcast.h"
#include "ops/lib/grad.h"
#include "ops/lib/reduce.h"

namespace reprise {
namespace {

// y = a / b with broadcasting, 0 where b is 0.
//
//   da = dy / b, db = -sum(dy y) / b, both 0 where b is
RowLoop QuotientOrZeroLoop(DType dtype) {
  if (dtype != DType::kF32) return nullptr;
  return ScalarRowLoop<float>(
      [](float a, float b) { return b == 0 ? 0.0f : a / b; });
}

std::vector<ValueId> QuotientGrad(GradBuilder& b) {
  std::vector<ValueId> grads(2, kNoValue);
  const ValueId dy = b.out_grad(0);
  if (b.needs_grad(0)) {
    grads[0] = SumToInput(b, b.Add("QuotientOrZero", {dy, b.in(1)}), 0);
  }
  if (b.needs_grad(1)) {
    const ValueId sum = SumToInput(b, b.Add("Mul", {dy, b.out(0)}), 1);
    grads[1] = b.Add("QuotientOrZero", {b.Add("Neg", {sum}), b.in(1)});
  }
  return grads;
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  const ValueId share = b.Add("QuotientOrZero", {b.out_grad(0), b.out(0)});
  return {b.Add("Mul", {b.in(0), WithKeptDims(b, share)})};
}

}  // namespace

std::vector<OpDef> ReduceL2Ops() {
  OpDef op = ReduceOp("ReduceL2", Reducing::kL2);
  op.grad = Grad;

  BinarySpec spec;
  spec.name = "QuotientOrZero";
  spec.loop = QuotientOrZeroLoop;
  OpDef quotient = BinaryOp(std::move(spec));
  quotient.internal = true;
  quotient.grad = QuotientGrad;
  return {op, quotient};
}

}  // namespace reprise
