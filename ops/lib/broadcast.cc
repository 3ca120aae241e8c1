#include "ops/lib/broadcast.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/layout.h"
#include "ops/lib/parallel.h"

namespace reprise {
namespace {

// One axis of the walk, with each operand's stride in elements; 0 where it is
// broadcast.
struct Axis {
  int64_t dim = 1;
  std::array<int64_t, kMaxBroadcastInputs> stride = {};
};

// Rows of `row` elements, and the axes over which they repeat.
struct Walk {
  std::vector<Axis> outer;  // outermost first
  int64_t row = 1;
  unsigned scalars = 0;  // bit i: operand i is one element in a row
};

// Returns the strides of an operand along the axes of the output.
Dims BroadcastStrides(const Dims& dims, const Layout& layout, int out_rank) {
  const int rank = static_cast<int>(dims.size());
  const Dims own = StridesOf(dims, layout);
  Dims strides(out_rank, 0);
  for (int i = 0; i < rank; ++i) {
    if (dims[i] != 1) strides[out_rank - rank + i] = own[i];
  }
  return strides;
}

Walk MakeWalk(const Signature& s) {
  const Dims& dims = s.out[0].dims;
  const int rank = s.out[0].rank();
  const size_t num_inputs = s.in.size();
  std::array<Dims, kMaxBroadcastInputs> strides;
  for (size_t i = 0; i < num_inputs; ++i) {
    strides[i] = BroadcastStrides(s.in[i].dims, s.in_layouts[i], rank);
  }
  std::vector<Axis> axes;
  for (const int axis : AxisOrder(s.out_layouts[0], rank)) {
    if (dims[axis] == 1) continue;
    Axis next;
    next.dim = dims[axis];
    bool merges = !axes.empty();
    for (size_t i = 0; i < num_inputs; ++i) {
      next.stride[i] = strides[i][axis];
      merges = merges && axes.back().stride[i] == next.stride[i] * next.dim;
    }
    if (merges) {
      next.dim *= axes.back().dim;
      axes.back() = next;
    } else {
      axes.push_back(next);
    }
  }
  Walk walk;
  if (axes.empty()) return walk;
  const Axis inner = axes.back();
  axes.pop_back();
  walk.outer = std::move(axes);
  walk.row = inner.dim;
  for (size_t i = 0; i < num_inputs; ++i) {
    if (inner.stride[i] == 0) walk.scalars |= 1u << i;
  }
  return walk;
}

// Whether an operand whose elements lie in row-major order can be walked while
// the output is in `layout`: its axes above 1 must come in ascending order.
bool FitsRowMajor(const TensorType& operand, const TensorType& out,
                  const Layout& layout) {
  const int shift = out.rank() - operand.rank();
  int last = -1;
  for (const int axis : AxisOrder(layout, out.rank())) {
    const int own = axis - shift;
    if (own < 0 || operand.dims[own] == 1) continue;
    if (own < last) return false;
    last = own;
  }
  return true;
}

Description Describe(const Signature& offered, int64_t flops_per_element) {
  const TensorType& out = offered.out[0];
  Layout layout = CommonLayout(offered);
  for (const TensorType& in : offered.in) {
    if (in.dims != out.dims && !FitsRowMajor(in, out, layout)) {
      layout = Layout();
    }
  }
  Description d = DescribeRowMajor(
      offered, absl::StrCat("hwy:", absl::AsciiStrToLower(offered.op->name)),
      flops_per_element * out.num_elements());
  for (size_t i = 0; i < offered.in.size(); ++i) {
    if (offered.in[i].dims != out.dims) continue;
    d.in_layouts[i] = layout;
    if (offered.in[i].dtype != out.dtype) continue;
    d.may_overwrite.push_back({static_cast<int>(i), 0});
  }
  d.out_layouts[0] = layout;
  return d;
}

// Elements [begin, end) of the output, in the order of the walk.
void RunRange(const Walk& walk, const BroadcastRow& row,
              const std::array<int64_t, kMaxBroadcastInputs>& sizes,
              int64_t out_size, int num_inputs, const Buffers& buffers,
              int64_t begin, int64_t end) {
  const int num_outer = static_cast<int>(walk.outer.size());
  std::array<int64_t, kMaxRank> index = {};
  std::array<int64_t, kMaxBroadcastInputs> at = {};
  int64_t rest = begin / walk.row;
  for (int k = num_outer - 1; k >= 0; --k) {
    const Axis& axis = walk.outer[k];
    index[k] = rest % axis.dim;
    rest /= axis.dim;
    for (int i = 0; i < num_inputs; ++i) at[i] += index[k] * axis.stride[i];
  }
  char* y = static_cast<char*>(buffers.out[0]);
  int64_t skip = begin % walk.row;
  while (begin < end) {
    const int64_t count = std::min(walk.row - skip, end - begin);
    std::array<const void*, kMaxBroadcastInputs> in = {};
    for (int i = 0; i < num_inputs; ++i) {
      const bool scalar = ((walk.scalars >> i) & 1u) != 0;
      in[i] = static_cast<const char*>(buffers.in[i]) +
              (at[i] + (scalar ? 0 : skip)) * sizes[i];
    }
    row(walk.scalars, in.data(), y + begin * out_size, count);
    begin += count;
    skip = 0;
    for (int k = num_outer - 1; k >= 0; --k) {
      const Axis& axis = walk.outer[k];
      for (int i = 0; i < num_inputs; ++i) at[i] += axis.stride[i];
      if (++index[k] < axis.dim) break;
      index[k] = 0;
      for (int i = 0; i < num_inputs; ++i) at[i] -= axis.stride[i] * axis.dim;
    }
  }
}

Kernel Build(const Signature& signature, BroadcastRow row, int threads) {
  const int num_inputs = static_cast<int>(signature.in.size());
  std::array<int64_t, kMaxBroadcastInputs> sizes = {};
  for (int i = 0; i < num_inputs; ++i) {
    sizes[i] = SizeOf(signature.in[i].dtype);
  }
  const int64_t out_size = SizeOf(signature.out[0].dtype);
  const int64_t n = signature.out[0].num_elements();
  return Kernel{[=, walk = MakeWalk(signature),
                 row = std::move(row)](const Buffers& buffers) {
    ParallelFor(
        threads, n, kElementsPerThread, [&](int64_t begin, int64_t end) {
          RunRange(walk, row, sizes, out_size, num_inputs, buffers, begin, end);
        });
  }};
}

RowKind KindOf(unsigned scalars) {
  if ((scalars & 1u) != 0) return RowKind::kScalarA;
  return (scalars & 2u) != 0 ? RowKind::kScalarB : RowKind::kBoth;
}

}  // namespace

OpDef BroadcastOp(BroadcastSpec spec) {
  REPRISE_CHECK(spec.num_inputs <= kMaxBroadcastInputs);
  OpDef op;
  op.name = spec.name;
  op.min_inputs = op.max_inputs = spec.num_inputs;
  op.attrs = std::move(spec.attrs);
  op.infer = [name = spec.name, result = std::move(spec.result)](
                 const OpArgs& args) -> InferredTypes {
    ASSIGN_OR_RETURN(const DType dtype, result(args));
    Dims dims = args.in[0].dims;
    for (size_t i = 1; i < args.in.size(); ++i) {
      ASSIGN_OR_RETURN(dims, BroadcastDims(dims, args.in[i].dims, name));
    }
    return OneType(name, dtype, std::move(dims));
  };
  op.describe = [flops = spec.flops_per_element](
                    const Signature& offered,
                    const OpEnv&) -> absl::StatusOr<Description> {
    return Describe(offered, flops);
  };
  op.build = [row = std::move(spec.row)](
                 const Signature& signature,
                 const OpEnv& env) -> absl::StatusOr<Kernel> {
    return Build(signature, row(signature), env.threads);
  };
  return op;
}

OpDef BinaryOp(BinarySpec spec) {
  BroadcastSpec general;
  general.name = spec.name;
  general.flops_per_element = spec.flops_per_element;
  general.result = [name = spec.name, loop = spec.loop, result = spec.result](
                       const OpArgs& args) -> absl::StatusOr<DType> {
    const TensorType& a = args.in[0];
    const TensorType& b = args.in[1];
    if (a.dtype != b.dtype || loop(a.dtype) == nullptr) {
      return Invalid(name, ": operands must be of one type that it takes, got ",
                     ToString(a), " and ", ToString(b));
    }
    return result == DType::kNone ? a.dtype : result;
  };
  general.row = [loop = std::move(spec.loop)](const Signature& s) {
    return [row = loop(s.in[0].dtype)](unsigned scalars, const void* const* in,
                                       void* y, int64_t n) {
      row(KindOf(scalars), in[0], in[1], y, n);
    };
  };
  return BroadcastOp(std::move(general));
}

}  // namespace reprise
