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

// One axis of the walk, strides in elements; 0 where an operand is broadcast.
struct Axis {
  int64_t dim;
  int64_t a;
  int64_t b;
};

// Rows of `row` elements, and the axes over which they repeat.
struct Walk {
  std::vector<Axis> outer;  // outermost first
  int64_t row = 1;
  RowKind kind = RowKind::kBoth;
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
  const Dims a = BroadcastStrides(s.in[0].dims, s.in_layouts[0], rank);
  const Dims b = BroadcastStrides(s.in[1].dims, s.in_layouts[1], rank);
  std::vector<Axis> axes;
  for (const int axis : AxisOrder(s.out_layouts[0], rank)) {
    if (dims[axis] == 1) continue;
    const Axis next{dims[axis], a[axis], b[axis]};
    if (!axes.empty() && axes.back().a == next.a * next.dim &&
        axes.back().b == next.b * next.dim) {
      axes.back() = {axes.back().dim * next.dim, next.a, next.b};
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
  if (inner.a == 0) walk.kind = RowKind::kScalarA;
  if (inner.b == 0) walk.kind = RowKind::kScalarB;
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
  for (int i = 0; i < 2; ++i) {
    if (offered.in[i].dims != out.dims) continue;
    d.in_layouts[i] = layout;
    d.may_overwrite.push_back({i, 0});
  }
  d.out_layouts[0] = layout;
  return d;
}

Kernel Build(const Signature& signature, RowLoop loop, int threads) {
  const Walk walk = MakeWalk(signature);
  const int64_t size = SizeOf(signature.out[0].dtype);
  const int64_t n = signature.out[0].num_elements();
  const auto run = [=](const char* a, const char* b, char* y, int64_t begin,
                       int64_t end) {
    const int num_outer = static_cast<int>(walk.outer.size());
    std::array<int64_t, kMaxRank> index = {};
    int64_t at_a = 0;
    int64_t at_b = 0;
    int64_t row = begin / walk.row;
    for (int i = num_outer - 1; i >= 0; --i) {
      index[i] = row % walk.outer[i].dim;
      row /= walk.outer[i].dim;
      at_a += index[i] * walk.outer[i].a;
      at_b += index[i] * walk.outer[i].b;
    }
    int64_t skip = begin % walk.row;
    while (begin < end) {
      const int64_t count = std::min(walk.row - skip, end - begin);
      const int64_t skip_a = walk.kind == RowKind::kScalarA ? 0 : skip;
      const int64_t skip_b = walk.kind == RowKind::kScalarB ? 0 : skip;
      loop(walk.kind, a + (at_a + skip_a) * size, b + (at_b + skip_b) * size,
           y + begin * size, count);
      begin += count;
      skip = 0;
      for (int i = num_outer - 1; i >= 0; --i) {
        const Axis& axis = walk.outer[i];
        at_a += axis.a;
        at_b += axis.b;
        if (++index[i] < axis.dim) break;
        index[i] = 0;
        at_a -= axis.a * axis.dim;
        at_b -= axis.b * axis.dim;
      }
    }
  };
  return Kernel{[run, n, threads](const Buffers& buffers) {
    ParallelFor(threads, n, kElementsPerThread,
                [&](int64_t begin, int64_t end) {
                  run(static_cast<const char*>(buffers.in[0]),
                      static_cast<const char*>(buffers.in[1]),
                      static_cast<char*>(buffers.out[0]), begin, end);
                });
  }};
}

}  // namespace

OpDef BinaryOp(BinarySpec spec) {
  OpDef op;
  op.name = spec.name;
  op.min_inputs = op.max_inputs = 2;
  op.infer = [name = spec.name,
              loop = spec.loop](const OpArgs& args) -> InferredTypes {
    const TensorType& a = args.in[0];
    const TensorType& b = args.in[1];
    if (a.dtype != b.dtype || loop(a.dtype) == nullptr) {
      return Invalid(name, ": operands must be of one numeric type, got ",
                     ToString(a), " and ", ToString(b));
    }
    ASSIGN_OR_RETURN(Dims dims, BroadcastDims(a.dims, b.dims, name));
    return OneType(name, a.dtype, std::move(dims));
  };
  op.describe = [flops = spec.flops_per_element](
                    const Signature& offered,
                    const OpEnv&) -> absl::StatusOr<Description> {
    return Describe(offered, flops);
  };
  op.build = [loop = std::move(spec.loop)](
                 const Signature& signature,
                 const OpEnv& env) -> absl::StatusOr<Kernel> {
    return Build(signature, loop(signature.out[0].dtype), env.threads);
  };
  return op;
}

}  // namespace reprise
