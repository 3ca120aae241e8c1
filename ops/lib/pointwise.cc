#include "ops/lib/pointwise.h"

#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"

namespace reprise {
namespace {

// Inputs of the widest pointwise operator.
constexpr int kMaxInputs = 4;

Description Describe(const Signature& offered, int64_t flops_per_element) {
  const Layout layout = CommonLayout(offered);
  Description d = DescribeRowMajor(
      offered, absl::StrCat("hwy:", absl::AsciiStrToLower(offered.op->name)),
      flops_per_element * offered.out[0].num_elements());
  for (size_t i = 0; i < offered.in.size(); ++i) {
    d.in_layouts[i] = layout;
    d.may_overwrite.push_back({static_cast<int>(i), 0});
  }
  d.out_layouts[0] = layout;
  return d;
}

Kernel Build(const Signature& signature, PointwiseLoop loop, int threads) {
  const int num_inputs = static_cast<int>(signature.in.size());
  const int64_t n = signature.out[0].num_elements();
  return Kernel{[loop = std::move(loop), num_inputs, n,
                 threads](const Buffers& b) {
    ParallelFor(
        threads, n, kElementsPerThread, [&](int64_t begin, int64_t end) {
          std::array<const float*, kMaxInputs> in = {};
          for (int i = 0; i < num_inputs; ++i) {
            in[i] = static_cast<const float*>(b.in[i]) + begin;
          }
          loop(in.data(), static_cast<float*>(b.out[0]) + begin, end - begin);
        });
  }};
}

}  // namespace

OpDef PointwiseOp(PointwiseSpec spec) {
  REPRISE_CHECK(spec.num_inputs <= kMaxInputs);
  OpDef op;
  op.name = spec.name;
  op.min_inputs = op.max_inputs = spec.num_inputs;
  op.attrs = std::move(spec.attrs);
  op.infer = [name = spec.name](const OpArgs& args) -> InferredTypes {
    RETURN_IF_ERROR(RequireSameF32(name, args));
    return std::vector<TensorType>{args.in[0]};
  };
  op.describe = [flops = spec.flops_per_element](
                    const Signature& offered,
                    const OpEnv&) -> absl::StatusOr<Description> {
    return Describe(offered, flops);
  };
  op.build = [loop = std::move(spec.loop)](
                 const Signature& signature,
                 const OpEnv& env) -> absl::StatusOr<Kernel> {
    return Build(signature, loop(signature.attrs), env.threads);
  };
  return op;
}

OpDef PointwiseGradOp(PointwiseSpec spec) {
  spec.num_inputs = 2;
  OpDef op = PointwiseOp(std::move(spec));
  op.internal = true;
  return op;
}

}  // namespace reprise
