// WeightedSum: y = sum_i weights[i] x_i, of operands of one type. It totals the
// losses of a graph, is what Sum and Mean become, and scales where a gradient
// needs that.
//
//   dx_i = weights[i] dy
//
// Tested by tests/ops/weighted_sum_test.cc.

#include <climits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/autodiff.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"

namespace reprise {
namespace {

InferredTypes Infer(const OpArgs& args) {
  RETURN_IF_ERROR(RequireSameF32("WeightedSum", args));
  const size_t num_weights = args.attrs.FloatList("weights").size();
  if (num_weights != args.in.size()) {
    return Invalid("WeightedSum: takes one weight for each operand, got ",
                   num_weights, " for ", args.in.size());
  }
  return std::vector<TensorType>{args.in[0]};
}

std::vector<ValueId> Grad(GradBuilder& b) {
  std::vector<ValueId> grads(b.num_inputs(), kNoValue);
  const Floats weights = b.attrs().FloatList("weights");
  const ValueId dy = b.out_grad(0);
  for (int i = 0; i < b.num_inputs(); ++i) {
    if (!b.needs_grad(i)) continue;
    grads[i] = weights[i] == 1 ? dy
                               : b.Add("WeightedSum", {dy},
                                       {{"weights", Floats{weights[i]}}});
  }
  return grads;
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  const int64_t flops = 2 * static_cast<int64_t>(offered.in.size()) *
                        offered.in[0].num_elements();
  Description description = DescribeRowMajor(offered, "loop", flops);
  // Each element is read from all operands before it is written.
  for (size_t i = 0; i < offered.in.size(); ++i) {
    AllowOverwrite({static_cast<int>(i)}, description);
  }
  return description;
}

void SumRange(const Floats& weights, const Buffers& buffers, int64_t begin,
              int64_t end) {
  float* y = static_cast<float*>(buffers.out[0]);
  for (int64_t i = begin; i < end; ++i) {
    float sum = 0;
    for (size_t k = 0; k < weights.size(); ++k) {
      sum += weights[k] * static_cast<const float*>(buffers.in[k])[i];
    }
    y[i] = sum;
  }
}

absl::StatusOr<Kernel> Build(const Signature& signature, const OpEnv& env) {
  const Floats weights = signature.attrs.FloatList("weights");
  const int64_t n = signature.in[0].num_elements();
  const int64_t grain = GrainOf(static_cast<int64_t>(weights.size()));
  const int threads = env.threads;
  return Kernel{[=](const Buffers& buffers) {
    ParallelFor(threads, n, grain, [&](int64_t begin, int64_t end) {
      SumRange(weights, buffers, begin, end);
    });
  }};
}

}  // namespace

std::vector<OpDef> WeightedSumOps() {
  OpDef op;
  op.name = "WeightedSum";
  op.internal = true;
  op.max_inputs = INT_MAX;
  op.attrs = {AttrSpec("weights", AttrKind::kFloats, AttrSpec::kRequired)};
  op.infer = Infer;
  op.grad = Grad;
  op.describe = Describe;
  op.build = Build;
  return {op};
}

}  // namespace reprise
