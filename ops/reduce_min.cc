// ReduceMin over `axes`: inf where there is nothing to compare, NaN where there
// is a NaN.
//
//   dx = dy / k at each of the k elements that equal the minimum, 0 elsewhere
//
// Ties share the gradient equally, as for ReduceMax. The gradient reads x and
// y. Tested by tests/ops/reduce_test.cc.

#include <vector>

#include "core/op.h"
#include "ops/lib/reduce.h"

namespace reprise {

std::vector<OpDef> ReduceMinOps() {
  OpDef op = ReduceOp("ReduceMin", Reducing::kMin);
  op.grad = ExtremeGrad;
  return {op};
}

}  // namespace reprise
