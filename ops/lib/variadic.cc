#include "ops/lib/variadic.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "core/status_macros.h"
#include "ops/lib/infer.h"

namespace reprise {

OpDef VariadicOp(
    std::string name, std::vector<DType> dtypes,
    std::function<ValueId(ExpandBuilder&, const std::vector<ValueId>&)>
        combine) {
  OpDef op;
  op.name = name;
  op.max_inputs = INT_MAX;
  op.infer = [name,
              dtypes = std::move(dtypes)](const OpArgs& args) -> InferredTypes {
    const TensorType& first = args.in[0];
    Dims dims = first.dims;
    for (const TensorType& type : args.in) {
      if (type.dtype != first.dtype ||
          std::count(dtypes.begin(), dtypes.end(), type.dtype) == 0) {
        return Invalid(name, ": operands must be of one type that it takes, ",
                       "got ", ToString(first), " and ", ToString(type));
      }
      ASSIGN_OR_RETURN(dims, BroadcastDims(dims, type.dims, name));
    }
    return OneType(name, first.dtype, std::move(dims));
  };
  op.expand = [combine = std::move(combine)](ExpandBuilder& b) {
    std::vector<ValueId> operands;
    for (int i = 0; i < b.num_inputs(); ++i) operands.push_back(b.in(i));
    b.SetOut(0, operands.size() == 1
                    ? b.Add("Identity", {b.in(0)}, {}, /*num_outputs=*/1)[0]
                    : combine(b, operands));
    return absl::OkStatus();
  };
  return op;
}

ValueId Chain(ExpandBuilder& b, const std::string& op,
              const std::vector<ValueId>& operands) {
  ValueId result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    result = b.Add(op, {result, operands[i]}, {}, /*num_outputs=*/1)[0];
  }
  return result;
}

ValueId AddAll(ExpandBuilder& b, const std::vector<ValueId>& operands,
               float weight) {
  std::vector<ValueId> terms = operands;
  for (const ValueId operand : operands) {
    if (b.type(operand) == b.type(operands[0])) continue;
    terms = {Chain(b, "Add", operands)};
    if (weight == 1) return terms[0];
    break;
  }
  return b.Add("WeightedSum", terms,
               {{"weights", Floats(terms.size(), weight)}},
               /*num_outputs=*/1)[0];
}

}  // namespace reprise
