// ReduceSumSquare over `axes`: the sum of squares; 0 of nothing.
//
//   dx = 2 x dy
//
// The gradient reads x.
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
  const ValueId dy = WithKeptDims(b, b.out_grad(0));
  return {b.Add("Mul", {b.in(0), b.Add("Add", {dy, dy})})};
}

}  // namespace

std::vector<OpDef> ReduceSumSquareOps() {
  OpDef op = ReduceOp("ReduceSumSquare", Reducing::kSumSquare);
  op.grad = Grad;
  return {op};
}

}  // namespace reprise
