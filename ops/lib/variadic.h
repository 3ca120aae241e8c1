// Operators of any number of operands that broadcast to each other.

#ifndef OPS_LIB_VARIADIC_H_
#define OPS_LIB_VARIADIC_H_

#include <functional>
#include <string>
#include <vector>

#include "core/expand.h"
#include "core/op.h"

namespace reprise {

// Returns the operator that the step graph replaces by what `combine` adds for
// its operands, two or more; one operand alone is the result. All operands have
// one of the element types `dtypes`.
OpDef VariadicOp(
    std::string name, std::vector<DType> dtypes,
    std::function<ValueId(ExpandBuilder&, const std::vector<ValueId>&)>
        combine);

// Adds op(op(a, b), c)... .
ValueId Chain(ExpandBuilder& b, const std::string& op,
              const std::vector<ValueId>& operands);

// Adds `weight` times the sum of the operands.
ValueId AddAll(ExpandBuilder& b, const std::vector<ValueId>& operands,
               float weight);

}  // namespace reprise

#endif  // OPS_LIB_VARIADIC_H_
