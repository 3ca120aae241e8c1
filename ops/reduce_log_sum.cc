// ReduceLogSum over `axes`: the logarithm of the sum; -inf of nothing.
//
//   dx = dy / sum = dy e^-y
//
// The gradient reads y.
// Tested by tests/ops/reduce_test.cc.

#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/reduce.h"

namespace reprise {
namespace {

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  const ValueId inverse = b.Add("Exp", {b.Add("Neg", {b.out(0)})});
  const ValueId share = b.Add("Mul", {inverse, b.out_grad(0)});
  return {SpreadOver(b, share, b.in(0))};
}

}  // namespace

std::vector<OpDef> ReduceLogSumOps() {
  OpDef op = ReduceOp("ReduceLogSum", Reducing::kLogSum);
  op.grad = Grad;
  return {op};
}

}  // namespace reprise
