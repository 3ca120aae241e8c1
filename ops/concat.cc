// Concat: the operands one after the other along `axis`.
//
//   each operand's gradient is its slice of dy
//
// The gradient reads no forward value. Tested by tests/ops/shape_test.cc.

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

// The axis of a judged node, counted from the front.
int AxisOf(const Attrs& attrs, int rank) {
  const int64_t axis = attrs.Int("axis");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

InferredTypes Infer(const OpArgs& args) {
  const TensorType& first = args.in[0];
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(args.attrs.Int("axis"),
                                                 first.rank(), "Concat"));
  Dims dims = first.dims;
  dims[axis] = 0;
  for (const TensorType& in : args.in) {
    bool fits = in.dtype == first.dtype && in.rank() == first.rank();
    for (int i = 0; fits && i < in.rank(); ++i) {
      fits = i == axis || in.dims[i] == first.dims[i];
    }
    if (!fits) {
      return Invalid("Concat: operands must agree but along axis ", axis,
                     ", got ", ToString(first), " and ", ToString(in));
    }
    if (__builtin_add_overflow(dims[axis], in.dims[axis], &dims[axis])) {
      return Invalid("Concat: dims along axis ", axis, " overflow at ",
                     ToString(in));
    }
  }
  return OneType("Concat", first.dtype, std::move(dims));
}

std::vector<ValueId> Grad(GradBuilder& b) {
  std::vector<ValueId> grads(b.num_inputs(), kNoValue);
  const int axis = AxisOf(b.attrs(), b.type(b.in(0)).rank());
  int64_t start = 0;
  for (int i = 0; i < b.num_inputs(); ++i) {
    const int64_t end = start + b.type(b.in(i)).dims[axis];
    if (b.needs_grad(i)) {
      grads[i] = b.Add("Slice", {b.out_grad(0)},
                       Attrs{{"starts", Ints{start}},
                             {"ends", Ints{end}},
                             {"axes", Ints{axis}}});
    }
    start = end;
  }
  return grads;
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  Description d = DescribeRowMajor(offered, "loop:concat", /*flops=*/0);
  // One order of axes for all: that of the first operand.
  if (IsPermutation(offered.in_layouts[0])) {
    d.in_layouts.assign(offered.in.size(), offered.in_layouts[0]);
    d.out_layouts[0] = offered.in_layouts[0];
  }
  return d;
}

absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv& env) {
  const TensorType& y = s.out[0];
  const int axis = AxisOf(s.attrs, y.rank());
  const std::vector<int> order = AxisOrder(s.out_layouts[0], y.rank());
  const Dims strides = StridesOf(y.dims, s.out_layouts[0]);
  std::vector<StridedCopy> copies;
  int64_t start = 0;
  for (size_t i = 0; i < s.in.size(); ++i) {
    const Dims& dims = s.in[i].dims;
    const StridedSide from{InOrder(StridesOf(dims, s.in_layouts[i]), order), 0};
    const StridedSide to{InOrder(strides, order), start * strides[axis]};
    copies.emplace_back(InOrder(dims, order), from, to, SizeOf(y.dtype),
                        env.threads);
    start += dims[axis];
  }
  return Kernel{[copies](const Buffers& b) {
    for (size_t i = 0; i < copies.size(); ++i) {
      copies[i].Run(b.in[i], b.out[0]);
    }
  }};
}

}  // namespace

std::vector<OpDef> ConcatOps() {
  OpDef op;
  op.name = "Concat";
  op.max_inputs = INT_MAX;
  op.attrs = {AttrSpec("axis", AttrKind::kInt, AttrSpec::kRequired)};
  op.infer = Infer;
  op.grad = Grad;
  op.describe = Describe;
  op.build = Build;
  return {op};
}

}  // namespace reprise
