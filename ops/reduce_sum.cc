// ReduceSum over `axes`.
//
//   dx = dy at every element of the sum
//
// The gradient reads no forward value. Tested by tests/ops/reduce_test.cc.

#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/reduce.h"

namespace reprise {
namespace {

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  return {SpreadOver(b, b.out_grad(0), b.in(0))};
}

}  // namespace

std::vector<OpDef> ReduceSumOps() {
  OpDef op = ReduceOp("ReduceSum", Reducing::kSum);
  op.grad = Grad;
  return {op};
}

}  // namespace reprise
