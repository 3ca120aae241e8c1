// Identity: the operand under another name. Tested by tests/ops/view_test.cc.

#include <vector>

#include "core/op.h"
#include "ops/lib/infer.h"
#include "ops/lib/views.h"

namespace reprise {

std::vector<OpDef> IdentityOps() {
  OpDef op = ViewOp("Identity");
  op.infer = [](const OpArgs& args) -> InferredTypes {
    return std::vector<TensorType>{args.in[0]};
  };
  return {op};
}

}  // namespace reprise
