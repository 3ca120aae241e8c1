// RunningAverage: running' = momentum running + (1 - momentum) batch, the
// update of BatchNormalization's statistics. Tested by
// tests/ops/batch_normalization_test.cc.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"

namespace reprise {
namespace {

InferredTypes Infer(const OpArgs& args) {
  RETURN_IF_ERROR(RequireSameF32("RunningAverage", args));
  return std::vector<TensorType>{args.in[0]};
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  return DescribeRowMajor(offered, "loop", 3 * offered.in[0].num_elements());
}

absl::StatusOr<Kernel> Build(const Signature& signature, const OpEnv&) {
  const float momentum = signature.attrs.Float("momentum");
  const int64_t n = signature.in[0].num_elements();
  return Kernel{[=](const Buffers& buffers) {
    const float* running = static_cast<const float*>(buffers.in[0]);
    const float* batch = static_cast<const float*>(buffers.in[1]);
    float* y = static_cast<float*>(buffers.out[0]);
    for (int64_t i = 0; i < n; ++i) {
      y[i] = momentum * running[i] + (1 - momentum) * batch[i];
    }
  }};
}

}  // namespace

std::vector<OpDef> RunningAverageOps() {
  OpDef op;
  op.name = "RunningAverage";
  op.internal = true;
  op.effect = Effect::kUpdate;
  op.min_inputs = 2;
  op.max_inputs = 2;
  op.attrs = {AttrSpec("momentum", 0.9f)};
  op.must_overwrite = {{0, 0}};
  op.infer = Infer;
  op.describe = Describe;
  op.build = Build;
  return {op};
}

}  // namespace reprise
