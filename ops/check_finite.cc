// CheckFinite: a copy of the total loss, which the executor reads before any
// update runs: a loss that is not finite ends the step there.
// Tested by tests/ops/check_finite_test.cc.

#include <vector>

#include "absl/status/statusor.h"
#include "core/op.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"

namespace reprise {
namespace {

InferredTypes Infer(const OpArgs& args) {
  if (args.in[0] != TensorType{DType::kF32, {}}) {
    return Invalid("CheckFinite: operand must be f32[], got ",
                   ToString(args.in[0]));
  }
  return std::vector<TensorType>{args.in[0]};
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  Description description = DescribeRowMajor(offered, "loop", 0);
  AllowOverwrite({0}, description);
  return description;
}

absl::StatusOr<Kernel> Build(const Signature&, const OpEnv&) {
  return Kernel{[](const Buffers& buffers) {
    *static_cast<float*>(buffers.out[0]) =
        *static_cast<const float*>(buffers.in[0]);
  }};
}

}  // namespace

std::vector<OpDef> CheckFiniteOps() {
  OpDef op;
  op.name = "CheckFinite";
  op.internal = true;
  op.effect = Effect::kGuard;
  op.infer = Infer;
  op.describe = Describe;
  op.build = Build;
  return {op};
}

}  // namespace reprise
