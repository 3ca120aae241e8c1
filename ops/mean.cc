// Mean of any number n of operands that broadcast to each other.
//
//   dx_i = dy / n, summed over the axes that were broadcast
//
// The gradient reads no forward value. In the step graph it is a WeightedSum of
// operands of one type; otherwise that of a chain of Add.
// Tested by tests/ops/variadic_test.cc.

#include <vector>

#include "core/op.h"
#include "ops/lib/variadic.h"

namespace reprise {

std::vector<OpDef> MeanOps() {
  return {VariadicOp("Mean", {DType::kF32},
                     [](ExpandBuilder& b, const std::vector<ValueId>& x) {
                       return AddAll(b, x, 1.0f / static_cast<float>(x.size()));
                     })};
}

}  // namespace reprise
