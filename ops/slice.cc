// Slice: along each of `axes` (all by default) the elements from `starts` up to
// `ends`, every `steps`-th. Negative positions count from the end, positions
// outside are clamped, a negative step walks backwards.
//
//   dx = dy at those elements, 0 elsewhere
//
// The gradient reads no forward value. Tested by tests/ops/shape_test.cc.

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/layout.h"
#include "ops/lib/parallel.h"
#include "ops/lib/strided_copy.h"

namespace reprise {
namespace {

// What is taken along one axis.
struct Range {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};

// Returns a position counted from the front and clamped to [low, high].
int64_t Clamp(int64_t position, int64_t dim, int64_t low, int64_t high) {
  if (position < 0) position = position < -dim ? low : position + dim;
  return std::clamp(position, low, high);
}

Range MakeRange(int64_t start, int64_t end, int64_t step, int64_t dim) {
  Range range;
  range.step = step;
  if (dim == 0) return range;
  if (step > 0) {
    range.start = Clamp(start, dim, 0, dim);
    const int64_t length = Clamp(end, dim, 0, dim) - range.start;
    if (length > 0) range.count = (length - 1) / step + 1;
  } else {
    range.start = Clamp(start, dim, 0, dim - 1);
    const int64_t length = range.start - Clamp(end, dim, -1, dim - 1);
    // -step overflows for the smallest number; there one element is taken.
    if (length > 0) range.count = (1 - length) / step + 1;
  }
  return range;
}

absl::StatusOr<std::vector<Range>> RangesOf(absl::string_view op,
                                            const Attrs& attrs,
                                            const Dims& dims) {
  const Ints& starts = attrs.IntList("starts");
  const Ints& ends = attrs.IntList("ends");
  const int rank = static_cast<int>(dims.size());
  Ints axes;
  if (attrs.Has("axes")) {
    axes = attrs.IntList("axes");
  } else {
    for (size_t i = 0; i < starts.size(); ++i) {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  const Ints steps =
      attrs.Has("steps") ? attrs.IntList("steps") : Ints(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return Invalid(op, ": starts, ends, axes and steps must be equally long, ",
                   "got ", starts.size(), ", ", ends.size(), ", ", axes.size(),
                   " and ", steps.size());
  }
  RETURN_IF_ERROR(NormalizeAxes(op, axes, rank).status());
  std::vector<Range> ranges;
  for (const int64_t dim : dims) ranges.push_back({0, 1, dim});
  for (size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0) return Invalid(op, ": steps must not be 0");
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    ranges[axis] = MakeRange(starts[i], ends[i], steps[i], dims[axis]);
  }
  return ranges;
}

InferredTypes Infer(const OpArgs& args) {
  const TensorType& x = args.in[0];
  ASSIGN_OR_RETURN(const std::vector<Range> ranges,
                   RangesOf("Slice", args.attrs, x.dims));
  Dims dims;
  for (const Range& range : ranges) dims.push_back(range.count);
  return OneType("Slice", x.dtype, std::move(dims));
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  Attrs attrs = b.attrs();
  attrs.Set("dims", Ints(b.type(b.in(0)).dims));
  return {b.Add("SliceGrad", {b.out_grad(0)}, std::move(attrs))};
}

InferredTypes GradInfer(const OpArgs& args) {
  return OneType("SliceGrad", args.in[0].dtype, args.attrs.IntList("dims"));
}

// The side of a copy on which the slice lies inside a tensor of `dims`.
StridedSide WholeSide(const std::vector<Range>& ranges, const Dims& dims,
                      const Layout& layout) {
  StridedSide side;
  side.strides = StridesOf(dims, layout);
  for (size_t i = 0; i < ranges.size(); ++i) {
    side.offset += ranges[i].start * side.strides[i];
    // A step is only taken between two elements.
    side.strides[i] *= ranges[i].count > 1 ? ranges[i].step : 1;
  }
  return side;
}

// Slicing to or from a tensor in one order of axes.
absl::StatusOr<StridedCopy> MakeCopy(const Attrs& attrs,
                                     const TensorType& whole,
                                     const TensorType& part,
                                     const Layout& layout, bool from_whole,
                                     int threads) {
  ASSIGN_OR_RETURN(const std::vector<Range> ranges,
                   RangesOf("Slice", attrs, whole.dims));
  const std::vector<int> order = AxisOrder(layout, whole.rank());
  StridedSide in_whole = WholeSide(ranges, whole.dims, layout);
  in_whole.strides = InOrder(in_whole.strides, order);
  StridedSide in_part;
  in_part.strides = InOrder(StridesOf(part.dims, layout), order);
  return StridedCopy(InOrder(part.dims, order), from_whole ? in_whole : in_part,
                     from_whole ? in_part : in_whole, SizeOf(whole.dtype),
                     threads);
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  Description d = DescribeRowMajor(offered, "loop:slice", /*flops=*/0);
  // Of the operand only what is taken is read.
  d.bytes_moved = offered.out[0].bytes() +
                  std::min(offered.in[0].bytes(), offered.out[0].bytes());
  if (IsPermutation(offered.in_layouts[0])) {
    d.in_layouts[0] = d.out_layouts[0] = offered.in_layouts[0];
  }
  return d;
}

absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv& env) {
  ASSIGN_OR_RETURN(const StridedCopy copy,
                   MakeCopy(s.attrs, s.in[0], s.out[0], s.in_layouts[0],
                            /*from_whole=*/true, env.threads));
  return Kernel{[copy](const Buffers& b) { copy.Run(b.in[0], b.out[0]); }};
}

absl::StatusOr<Kernel> GradBuild(const Signature& s, const OpEnv& env) {
  ASSIGN_OR_RETURN(const StridedCopy copy,
                   MakeCopy(s.attrs, s.out[0], s.in[0], s.in_layouts[0],
                            /*from_whole=*/false, env.threads));
  const int64_t bytes = s.out[0].bytes();
  const int threads = env.threads;
  return Kernel{[copy, bytes, threads](const Buffers& b) {
    char* dx = static_cast<char*>(b.out[0]);
    ParallelFor(threads, bytes, 4 * kElementsPerThread,
                [dx](int64_t begin, int64_t end) {
                  std::memset(dx + begin, 0, static_cast<size_t>(end - begin));
                });
    copy.Run(b.in[0], dx);
  }};
}

}  // namespace

std::vector<OpDef> SliceOps() {
  OpDef op;
  op.name = "Slice";
  op.attrs = {AttrSpec("starts", AttrKind::kInts, AttrSpec::kRequired),
              AttrSpec("ends", AttrKind::kInts, AttrSpec::kRequired),
              AttrSpec("axes", AttrKind::kInts),
              AttrSpec("steps", AttrKind::kInts)};
  op.infer = Infer;
  op.grad = Grad;
  op.describe = Describe;
  op.build = Build;

  OpDef grad;
  grad.name = "SliceGrad";
  grad.internal = true;
  grad.attrs = op.attrs;
  grad.attrs.emplace_back("dims", AttrKind::kInts, AttrSpec::kRequired);
  grad.infer = GradInfer;
  grad.describe = Describe;
  grad.build = GradBuild;
  return {op, grad};
}

}  // namespace reprise
