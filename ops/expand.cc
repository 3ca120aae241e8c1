// Expand: broadcasts x to the dims that x and the attribute `shape` have under
// the broadcasting rule.
//
//   dx = dy summed over the axes that were broadcast
//
// The gradient reads no forward value. Tested by tests/ops/shape_test.cc.

#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/grad.h"
#include "ops/lib/infer.h"
#include "ops/lib/layout.h"
#include "ops/lib/strided_copy.h"

namespace reprise {
namespace {

InferredTypes Infer(const OpArgs& args) {
  const TensorType& x = args.in[0];
  ASSIGN_OR_RETURN(
      Dims dims, BroadcastDims(x.dims, args.attrs.IntList("shape"), "Expand"));
  return OneType("Expand", x.dtype, std::move(dims));
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  return {SumToInput(b, b.out_grad(0), 0)};
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  return DescribeRowMajor(offered, "loop:expand", /*flops=*/0);
}

absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv& env) {
  const Dims& x = s.in[0].dims;
  const Dims& y = s.out[0].dims;
  const Dims own = StridesOf(x, Layout());
  StridedSide from;
  from.strides = Dims(y.size(), 0);
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] != 1) from.strides[y.size() - x.size() + i] = own[i];
  }
  StridedSide to;
  to.strides = StridesOf(y, Layout());
  const StridedCopy copy(y, from, to, SizeOf(s.out[0].dtype), env.threads);
  return Kernel{[copy](const Buffers& b) { copy.Run(b.in[0], b.out[0]); }};
}

}  // namespace

std::vector<OpDef> ExpandOps() {
  OpDef op;
  op.name = "Expand";
  op.attrs = {AttrSpec("shape", AttrKind::kInts, AttrSpec::kRequired)};
  op.infer = Infer;
  op.grad = Grad;
  op.describe = Describe;
  op.build = Build;
  return {op};
}

}  // namespace reprise
