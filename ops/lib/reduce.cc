#include "ops/lib/reduce.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/autodiff.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/layout.h"
#include "ops/lib/reduce_kernels.h"

namespace reprise {
namespace {

bool TakesIntegers(Reducing reduction) {
  return reduction == Reducing::kSum || reduction == Reducing::kProd ||
         reduction == Reducing::kMax || reduction == Reducing::kMin;
}

InferredTypes Infer(absl::string_view name, Reducing reduction,
                    const OpArgs& args) {
  const TensorType& x = args.in[0];
  if (!TakesIntegers(reduction) ||
      (x.dtype != DType::kI32 && x.dtype != DType::kI64)) {
    RETURN_IF_ERROR(RequireF32(name, "x", x));
  }
  if (args.attrs.Has("axes")) {
    RETURN_IF_ERROR(
        NormalizeAxes(name, args.attrs.IntList("axes"), x.rank()).status());
  }
  const std::vector<int> axes = ReducedAxes(args.attrs, x.rank());
  const bool keep = args.attrs.Int("keepdims") != 0;
  Dims dims;
  for (int i = 0; i < x.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) {
      dims.push_back(x.dims[i]);
    } else if (keep) {
      dims.push_back(1);
    }
  }
  return OneType(name, x.dtype, std::move(dims));
}

absl::StatusOr<Description> Describe(const Signature& offered,
                                     Reducing reduction, const OpEnv& env) {
  Signature s = offered;
  Description d = DescribeRowMajor(
      s, absl::StrCat("hwy:", absl::AsciiStrToLower(s.op->name)),
      s.in[0].num_elements());
  // Any order of axes serves in which the kept ones come as in the result.
  const std::vector<int> axes = ReducedAxes(s.attrs, s.in[0].rank());
  bool fits = IsPermutation(s.in_layouts[0]);
  int last = -1;
  for (const int axis :
       fits ? AxisOrder(s.in_layouts[0], s.in[0].rank()) : axes) {
    if (s.in[0].dims[axis] == 1 ||
        std::binary_search(axes.begin(), axes.end(), axis)) {
      continue;
    }
    fits = fits && axis > last;
    last = axis;
  }
  if (!fits) s.in_layouts[0] = Layout();
  d.in_layouts = s.in_layouts;
  if (s.in[0].dtype != DType::kF32) return d;
  d.scratchpad_bytes = ReduceScratchpadBytes(s, reduction, env.threads);
  return d;
}

}  // namespace

std::vector<int> ReducedAxes(const Attrs& attrs, int rank) {
  std::vector<int> axes;
  if (attrs.Has("axes")) {
    for (const int64_t axis : attrs.IntList("axes")) {
      axes.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
    }
    std::sort(axes.begin(), axes.end());
  }
  if (axes.empty() && attrs.Int("noop_with_empty_axes") == 0) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  return axes;
}

OpDef ReduceOp(std::string name, Reducing reduction) {
  OpDef op;
  op.name = name;
  op.attrs = {AttrSpec("axes", AttrKind::kInts),
              AttrSpec("keepdims", int64_t{1}),
              AttrSpec("noop_with_empty_axes", int64_t{0})};
  op.infer = [name, reduction](const OpArgs& args) {
    return Infer(name, reduction, args);
  };
  op.describe = [reduction](const Signature& offered, const OpEnv& env) {
    return Describe(offered, reduction, env);
  };
  op.build = [reduction](const Signature& s,
                         const OpEnv& env) -> absl::StatusOr<Kernel> {
    return ReduceKernel(s, reduction, env.threads);
  };
  return op;
}

ValueId WithKeptDims(GradBuilder& b, ValueId value) {
  Dims kept = b.type(b.in(0)).dims;
  for (const int axis : ReducedAxes(b.attrs(), static_cast<int>(kept.size()))) {
    kept[axis] = 1;
  }
  if (b.type(value).dims == kept) return value;
  return b.Add("Reshape", {value},
               Attrs{{"shape", kept}, {"allowzero", int64_t{1}}});
}

std::vector<ValueId> ExtremeGrad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  Ints axes;
  for (const int axis : ReducedAxes(b.attrs(), b.type(b.in(0)).rank())) {
    axes.push_back(axis);
  }
  const ValueId equal =
      b.Add("EqualMask", {b.in(0), WithKeptDims(b, b.out(0))});
  const ValueId ties =
      b.Add("ReduceSum", {equal},
            Attrs{{"axes", axes}, {"noop_with_empty_axes", int64_t{1}}});
  const ValueId share = b.Add("Div", {WithKeptDims(b, b.out_grad(0)), ties});
  return {b.Add("Mul", {equal, share})};
}

ValueId SpreadOver(GradBuilder& b, ValueId dy, ValueId x) {
  const Dims dims = b.type(x).dims;
  const ValueId kept = WithKeptDims(b, dy);
  if (b.type(kept).dims == dims) return kept;
  return b.Add("Expand", {kept}, Attrs{{"shape", dims}});
}

}  // namespace reprise
