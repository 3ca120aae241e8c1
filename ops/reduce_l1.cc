// ReduceL1 over `axes`: the sum of magnitudes; 0 of nothing.
//
//   dx = dy sign(x)
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
  const ValueId signs = b.Add("Sign", {b.in(0)});
  return {b.Add("Mul", {signs, WithKeptDims(b, b.out_grad(0))})};
}

}  // namespace

std::vector<OpDef> ReduceL1Ops() {
  OpDef op = ReduceOp("ReduceL1", Reducing::kL1);
  op.grad = Grad;
  return {op};
}

}  // namespace reprise
