// Transpose: axis i of y is axis perm[i] of x; all axes reversed by default.
//
//   dx = dy with the inverse permutation
//
// The gradient reads no forward value. Tested by tests/ops/shape_test.cc.

#include "ops/lib/transpose.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/layout.h"

namespace reprise {
namespace {

Ints PermOf(const Attrs& attrs, int rank) {
  if (attrs.Has("perm")) return attrs.IntList("perm");
  Ints perm;
  for (int i = rank - 1; i >= 0; --i) perm.push_back(i);
  return perm;
}

InferredTypes Infer(const OpArgs& args) {
  const TensorType& x = args.in[0];
  const Ints perm = PermOf(args.attrs, x.rank());
  Ints sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool valid = static_cast<int>(perm.size()) == x.rank();
  for (size_t i = 0; i < sorted.size(); ++i) {
    valid = valid && sorted[i] == static_cast<int64_t>(i);
  }
  if (!valid) {
    return Invalid("Transpose: perm must hold each axis of ", ToString(x),
                   " once, got ", DimsToString(perm));
  }
  Dims dims;
  for (const int64_t axis : perm) dims.push_back(x.dims[axis]);
  return OneType("Transpose", x.dtype, std::move(dims));
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  const Ints perm = PermOf(b.attrs(), b.type(b.in(0)).rank());
  Ints inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    inverse[perm[i]] = static_cast<int64_t>(i);
  }
  return {b.Add("Transpose", {b.out_grad(0)}, Attrs{{"perm", inverse}})};
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  Description d = DescribeRowMajor(offered, "loop:transpose", /*flops=*/0);
  if (IsPermutation(offered.in_layouts[0])) d.in_layouts = offered.in_layouts;
  return d;
}

absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv& env) {
  std::vector<int> order;
  for (const int64_t axis : PermOf(s.attrs, s.in[0].rank())) {
    order.push_back(static_cast<int>(axis));
  }
  const Transposition transposition(s.in[0].dims,
                                    StridesOf(s.in[0].dims, s.in_layouts[0]),
                                    order, SizeOf(s.in[0].dtype), env.threads);
  return Kernel{[transposition](const Buffers& b) {
    transposition.Run(b.in[0], b.out[0]);
  }};
}

}  // namespace

std::vector<OpDef> TransposeOps() {
  OpDef op;
  op.name = "Transpose";
  op.attrs = {AttrSpec("perm", AttrKind::kInts)};
  op.infer = Infer;
  op.grad = Grad;
  op.describe = Describe;
  op.build = Build;
  return {op};
}

}  // namespace reprise
