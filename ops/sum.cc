// Sum of any number of operands that broadcast to each other.
//
//   dx_i = dy, summed over the axes that were broadcast
//
// The gradient reads no forward value. In the step graph it is a WeightedSum of
// operands of one type, a chain of Add otherwise.
// Tested by tests/ops/variadic_test.cc.

#include <vector>

#include "core/op.h"
#include "ops/lib/variadic.h"

namespace reprise {

std::vector<OpDef> SumOps() {
  return {VariadicOp("Sum", {DType::kF32},
                     [](ExpandBuilder& b, const std::vector<ValueId>& x) {
                       return AddAll(b, x, /*weight=*/1);
                     })};
}

}  // namespace reprise
