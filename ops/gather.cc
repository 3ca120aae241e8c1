// Gather: the entries of `data` along `axis` that `indices` names; an embedding
// where data is a table [rows, width] and axis is 0.
//
//   y[a, i, b] = data[a, indices[i], b]
//   ddata[a, r, b] = sum of dy[a, i, b] over all i with indices[i] = r
//
// Negative indices count from the end. An index out of range is data, not a
// property of the model: its entries of y are NaN (zeros for integers), which a
// loss shows at once, and it adds to no gradient. The gradient reads the
// indices; it adds in the order of i, whatever the number of threads. Tested by
// tests/ops/gather_test.cc.

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"

namespace reprise {
namespace {

// data as [outer, rows, inner], y as [outer, count, inner].
struct Shape {
  int64_t outer = 1;
  int64_t rows = 1;
  int64_t inner = 1;
  int64_t count = 1;
};

int AxisOf(const Attrs& attrs, const Dims& data) {
  const int64_t axis = attrs.Int("axis");
  return static_cast<int>(axis < 0 ? axis + static_cast<int64_t>(data.size())
                                   : axis);
}

Shape ShapeOf(const Attrs& attrs, const Dims& data, const TensorType& indices) {
  const int axis = AxisOf(attrs, data);
  const absl::Span<const int64_t> dims = data;
  return {Product(dims.first(axis)), dims[axis],
          Product(dims.subspan(axis + 1)), indices.num_elements()};
}

absl::Status CheckIndices(absl::string_view op, const TensorType& indices) {
  if (indices.dtype == DType::kI32 || indices.dtype == DType::kI64) {
    return absl::OkStatus();
  }
  return Invalid(op, ": indices must be i32 or i64, got ", ToString(indices));
}

InferredTypes Infer(const OpArgs& args) {
  const TensorType& data = args.in[0];
  const TensorType& indices = args.in[1];
  RETURN_IF_ERROR(CheckIndices("Gather", indices));
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(args.attrs.Int("axis"),
                                                 data.rank(), "Gather"));
  Dims dims(data.dims.begin(), data.dims.begin() + axis);
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), data.dims.begin() + axis + 1, data.dims.end());
  return OneType("Gather", data.dtype, std::move(dims));
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue, kNoValue};
  Attrs attrs = b.attrs();
  attrs.Set("dims", Ints(b.type(b.in(0)).dims));
  return {b.Add("GatherGrad", {b.in(1), b.out_grad(0)}, std::move(attrs)),
          kNoValue};
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  Description d = DescribeRowMajor(offered, "loop:gather", /*flops=*/0);
  d.bytes_moved = 2 * offered.out[0].bytes() + offered.in[1].bytes();
  return d;
}

// Returns indices[i] as a row, -1 if it names none.
template <class I>
int64_t RowOf(const I* indices, int64_t i, int64_t rows) {
  const int64_t index = indices[i];
  if (index < -rows || index >= rows) return -1;
  return index < 0 ? index + rows : index;
}

template <class I>
Kernel MakeKernel(const Shape& shape, DType dtype, int threads) {
  const int64_t size = SizeOf(dtype);
  return Kernel{[shape, dtype, size, threads](const Buffers& b) {
    const char* data = static_cast<const char*>(b.in[0]);
    const I* indices = static_cast<const I*>(b.in[1]);
    char* y = static_cast<char*>(b.out[0]);
    const size_t bytes = static_cast<size_t>(shape.inner * size);
    if (bytes == 0) return;
    ParallelFor(
        threads, shape.outer * shape.count, GrainOf(shape.inner),
        [&](int64_t begin, int64_t end) {
          for (int64_t item = begin; item < end; ++item) {
            const int64_t outer = item / shape.count;
            const int64_t row = RowOf(indices, item % shape.count, shape.rows);
            char* to = y + item * shape.inner * size;
            if (row >= 0) {
              std::memcpy(
                  to, data + (outer * shape.rows + row) * shape.inner * size,
                  bytes);
            } else if (dtype == DType::kF32) {
              std::fill_n(reinterpret_cast<float*>(to), shape.inner,
                          std::numeric_limits<float>::quiet_NaN());
            } else {
              std::memset(to, 0, bytes);
            }
          }
        });
  }};
}

absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv& env) {
  const Shape shape = ShapeOf(s.attrs, s.in[0].dims, s.in[1]);
  const DType dtype = s.in[0].dtype;
  return s.in[1].dtype == DType::kI32
             ? MakeKernel<int32_t>(shape, dtype, env.threads)
             : MakeKernel<int64_t>(shape, dtype, env.threads);
}

// (indices, dy) -> ddata
InferredTypes GradInfer(const OpArgs& args) {
  RETURN_IF_ERROR(CheckIndices("GatherGrad", args.in[0]));
  RETURN_IF_ERROR(RequireF32("GatherGrad", "dy", args.in[1]));
  return OneType("GatherGrad", DType::kF32, args.attrs.IntList("dims"));
}

absl::StatusOr<Description> GradDescribe(const Signature& offered,
                                         const OpEnv&) {
  return DescribeRowMajor(offered, "loop:gathergrad",
                          offered.in[1].num_elements());
}

// Adds up what falls on rows [row_begin, row_end) and columns [begin, end).
template <class I>
void ScatterAdd(const Shape& shape, const I* indices, const float* dy,
                int64_t row_begin, int64_t row_end, int64_t begin, int64_t end,
                float* ddata) {
  for (int64_t outer = 0; outer < shape.outer; ++outer) {
    float* table = ddata + outer * shape.rows * shape.inner;
    for (int64_t r = row_begin; r < row_end; ++r) {
      std::fill(table + r * shape.inner + begin, table + r * shape.inner + end,
                0.0f);
    }
    for (int64_t i = 0; i < shape.count; ++i) {
      const int64_t row = RowOf(indices, i, shape.rows);
      if (row < row_begin || row >= row_end) continue;
      const float* from = dy + (outer * shape.count + i) * shape.inner;
      float* to = table + row * shape.inner;
      for (int64_t j = begin; j < end; ++j) to[j] += from[j];
    }
  }
}

template <class I>
Kernel MakeGradKernel(const Shape& shape, int threads) {
  return Kernel{[shape, threads](const Buffers& b) {
    const I* indices = static_cast<const I*>(b.in[0]);
    const float* dy = static_cast<const float*>(b.in[1]);
    float* ddata = static_cast<float*>(b.out[0]);
    const int64_t work = shape.outer * (shape.rows + shape.count);
    // Each thread owns columns, or rows where there are too few columns: in
    // either case an element's additions happen in the order of the indices.
    if (shape.inner >= 16 * threads) {
      ParallelFor(
          threads, shape.inner, GrainOf(work), [&](int64_t begin, int64_t end) {
            ScatterAdd(shape, indices, dy, 0, shape.rows, begin, end, ddata);
          });
    } else {
      const int64_t per_row =
          work * shape.inner / std::max<int64_t>(1, shape.rows);
      ParallelFor(threads, shape.rows, GrainOf(per_row),
                  [&](int64_t begin, int64_t end) {
                    ScatterAdd(shape, indices, dy, begin, end, 0, shape.inner,
                               ddata);
                  });
    }
  }};
}

absl::StatusOr<Kernel> GradBuild(const Signature& s, const OpEnv& env) {
  const Shape shape = ShapeOf(s.attrs, s.out[0].dims, s.in[0]);
  return s.in[0].dtype == DType::kI32
             ? MakeGradKernel<int32_t>(shape, env.threads)
             : MakeGradKernel<int64_t>(shape, env.threads);
}

}  // namespace

std::vector<OpDef> GatherOps() {
  OpDef op;
  op.name = "Gather";
  op.min_inputs = op.max_inputs = 2;
  op.attrs = {AttrSpec("axis", int64_t{0})};
  op.infer = Infer;
  op.grad = Grad;
  op.no_grad_inputs = {1};
  op.describe = Describe;
  op.build = Build;

  OpDef grad;
  grad.name = "GatherGrad";
  grad.internal = true;
  grad.min_inputs = grad.max_inputs = 2;
  grad.attrs = {AttrSpec("axis", int64_t{0}),
                AttrSpec("dims", AttrKind::kInts, AttrSpec::kRequired)};
  grad.infer = GradInfer;
  grad.describe = GradDescribe;
  grad.build = GradBuild;
  return {op, grad};
}

}  // namespace reprise
