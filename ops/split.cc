// Split: cuts x along `axis` into parts of the sizes in `split`, or into
// `num_outputs` equal ones, the last of which may be smaller.
//
//   dx = the parts' gradients one after the other, zeros where there is none
//
// The gradient reads no forward value. Tested by tests/ops/shape_test.cc.

#include <algorithm>
#include <climits>
#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/layout.h"
#include "ops/lib/strided_copy.h"

namespace reprise {
namespace {

int AxisOf(const Attrs& attrs, int rank) {
  const int64_t axis = attrs.Int("axis");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

InferredTypes Infer(const OpArgs& args) {
  const TensorType& x = args.in[0];
  const Attrs& attrs = args.attrs;
  ASSIGN_OR_RETURN(const int axis,
                   NormalizeAxis(attrs.Int("axis"), x.rank(), "Split"));
  const int64_t dim = x.dims[axis];
  if (attrs.Has("split") == attrs.Has("num_outputs")) {
    return Invalid("Split: exactly one of split and num_outputs must be given");
  }
  Ints sizes;
  if (attrs.Has("split")) {
    sizes = attrs.IntList("split");
  } else {
    const int64_t count = attrs.Int("num_outputs");
    const int64_t most = std::max<int64_t>(dim, 1);
    const int64_t size =
        count >= 1 && count <= most ? (dim + count - 1) / count : -1;
    if (size < 0 || size * (count - 1) > dim) {
      return Invalid("Split: num_outputs must cut ", dim,
                     " into parts of one size, the last one smaller, got ",
                     count);
    }
    sizes.assign(count, size);
    sizes.back() = dim - size * (count - 1);
  }
  int64_t rest = dim;
  std::vector<TensorType> types;
  for (const int64_t size : sizes) {
    if (size < 0 || size > rest) {
      rest = -1;
      break;
    }
    rest -= size;
    types.push_back(x);
    types.back().dims[axis] = size;
  }
  if (rest != 0 || types.empty()) {
    return Invalid("Split: sizes must add up to ", dim, ", got ",
                   DimsToString(sizes), " along axis ", axis, " of ",
                   ToString(x));
  }
  return types;
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  std::vector<ValueId> parts;
  for (int i = 0; i < b.num_outputs(); ++i) {
    const ValueId dy = b.out_grad(i);
    if (dy != kNoValue) {
      parts.push_back(dy);
      continue;
    }
    const TensorType type = b.type(b.out(i));
    parts.push_back(b.Fill(type, 0.0f));
  }
  return {b.Add("Concat", parts, Attrs{{"axis", b.attrs().Int("axis")}})};
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  Description d = DescribeRowMajor(offered, "loop:split", /*flops=*/0);
  const Layout& layout = offered.in_layouts[0];
  if (!IsPermutation(layout)) return d;
  d.in_layouts[0] = layout;
  for (size_t i = 0; i < offered.out.size(); ++i) {
    if (offered.out[i].present()) d.out_layouts[i] = layout;
  }
  return d;
}

absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv& env) {
  const TensorType& x = s.in[0];
  const int axis = AxisOf(s.attrs, x.rank());
  const std::vector<int> order = AxisOrder(s.in_layouts[0], x.rank());
  const Dims strides = StridesOf(x.dims, s.in_layouts[0]);
  // Absent outputs count too: the types come from the attributes.
  ASSIGN_OR_RETURN(const std::vector<TensorType> types,
                   Infer({absl::MakeConstSpan(s.in), s.attrs}));
  struct Part {
    int output;
    StridedCopy copy;
  };
  std::vector<Part> parts;
  int64_t start = 0;
  for (size_t i = 0; i < s.out.size(); ++i) {
    if (s.out[i].present()) {
      const Dims& dims = s.out[i].dims;
      const StridedSide from{InOrder(strides, order), start * strides[axis]};
      const StridedSide to{InOrder(StridesOf(dims, s.out_layouts[i]), order),
                           0};
      parts.push_back(
          {static_cast<int>(i), StridedCopy(InOrder(dims, order), from, to,
                                            SizeOf(x.dtype), env.threads)});
    }
    start += types[i].dims[axis];
  }
  return Kernel{[parts](const Buffers& b) {
    for (const Part& part : parts) part.copy.Run(b.in[0], b.out[part.output]);
  }};
}

}  // namespace

std::vector<OpDef> SplitOps() {
  OpDef op;
  op.name = "Split";
  op.max_outputs = INT_MAX;
  op.attrs = {AttrSpec("axis", int64_t{0}), AttrSpec("split", AttrKind::kInts),
              AttrSpec("num_outputs", AttrKind::kInt)};
  op.infer = Infer;
  op.grad = Grad;
  op.describe = Describe;
  op.build = Build;
  return {op};
}

}  // namespace reprise
