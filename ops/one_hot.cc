// OneHot: for each index a row of `depth` elements along a new `axis`:
// values[1] at the index, values[0] elsewhere. Negative indices count from the
// end; one out of range has a row without a values[1].
//
//   dvalues = [sum of dy elsewhere, sum of dy at the indices]
//
// The gradient reads the indices and sums in double. Tested by
// tests/ops/order_test.cc.

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/autodiff.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"

namespace reprise {
namespace {

// The new axis, counted in y.
absl::StatusOr<int> AxisOf(const TensorType& indices, const Attrs& attrs) {
  return NormalizeAxis(attrs.Int("axis"), indices.rank() + 1, "OneHot");
}

InferredTypes InferRows(const TensorType& indices, DType dtype,
                        const Attrs& attrs) {
  if (indices.dtype != DType::kI32 && indices.dtype != DType::kI64 &&
      indices.dtype != DType::kF32) {
    return Invalid("OneHot: indices must be i32, i64 or f32, got ",
                   ToString(indices));
  }
  ASSIGN_OR_RETURN(const int axis, AxisOf(indices, attrs));
  const int64_t depth = attrs.Int("depth");
  if (depth < 0) return Invalid("OneHot: depth must be >= 0, got ", depth);
  Dims dims = indices.dims;
  dims.insert(dims.begin() + axis, depth);
  return OneType("OneHot", dtype, std::move(dims));
}

InferredTypes Infer(const OpArgs& args) {
  if (args.in[1].dims != Dims{2}) {
    return Invalid("OneHot: values must be [2], off and on, got ",
                   ToString(args.in[1]));
  }
  return InferRows(args.in[0], args.in[1].dtype, args.attrs);
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(1)) return {kNoValue, kNoValue};
  return {kNoValue, b.Add("OneHotGrad", {b.in(0), b.out_grad(0)}, b.attrs())};
}

InferredTypes GradInfer(const OpArgs& args) {
  ASSIGN_OR_RETURN(const std::vector<TensorType> rows,
                   InferRows(args.in[0], DType::kF32, args.attrs));
  if (args.in[1] != rows[0]) {
    return Invalid("OneHotGrad: dy must be ", ToString(rows[0]), ", got ",
                   ToString(args.in[1]));
  }
  return std::vector<TensorType>{{DType::kF32, {2}}};
}

// y as [outer, depth, inner], the indices as [outer, inner].
struct Shape {
  int64_t outer;
  int64_t depth;
  int64_t inner;
};

absl::StatusOr<Shape> ShapeOf(const Signature& s) {
  ASSIGN_OR_RETURN(const int axis, AxisOf(s.in[0], s.attrs));
  const absl::Span<const int64_t> dims = s.in[0].dims;
  return Shape{Product(dims.first(axis)), s.attrs.Int("depth"),
               Product(dims.subspan(axis))};
}

// The place of an index in a row, -1 if it has none. Of floats the whole part
// counts.
template <class I>
int64_t PlaceOf(I index, int64_t depth) {
  // False for NaN too.
  if (!(index >= static_cast<I>(-depth) && index < static_cast<I>(depth))) {
    return -1;
  }
  const int64_t place = static_cast<int64_t>(index);
  return place < 0 ? place + depth : place;
}

template <class I, class T>
Kernel MakeKernel(const Shape& shape, int threads) {
  return Kernel{[shape, threads](const Buffers& b) {
    const I* indices = static_cast<const I*>(b.in[0]);
    const T* values = static_cast<const T*>(b.in[1]);
    T* y = static_cast<T*>(b.out[0]);
    const T off = values[0];
    const T on = values[1];
    ParallelFor(threads, shape.outer * shape.depth, GrainOf(shape.inner),
                [&](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    const int64_t k = row % shape.depth;
                    const I* from = indices + row / shape.depth * shape.inner;
                    T* to = y + row * shape.inner;
                    for (int64_t j = 0; j < shape.inner; ++j) {
                      to[j] = PlaceOf(from[j], shape.depth) == k ? on : off;
                    }
                  }
                });
  }};
}

template <class I>
absl::StatusOr<Kernel> BuildAs(const Signature& s, const Shape& shape,
                               int threads) {
  switch (SizeOf(s.out[0].dtype)) {
    case 1:
      return MakeKernel<I, uint8_t>(shape, threads);
    case 4:
      return MakeKernel<I, uint32_t>(shape, threads);
    default:
      return MakeKernel<I, uint64_t>(shape, threads);
  }
}

absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv& env) {
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(s));
  if (s.out[0].num_elements() == 0) return Kernel{[](const Buffers&) {}};
  switch (s.in[0].dtype) {
    case DType::kI32:
      return BuildAs<int32_t>(s, shape, env.threads);
    case DType::kI64:
      return BuildAs<int64_t>(s, shape, env.threads);
    default:
      return BuildAs<float>(s, shape, env.threads);
  }
}

template <class I>
Kernel MakeGradKernel(const Shape& shape) {
  return Kernel{[shape](const Buffers& b) {
    const I* indices = static_cast<const I*>(b.in[0]);
    const float* dy = static_cast<const float*>(b.in[1]);
    double sums[2] = {0, 0};
    for (int64_t row = 0; row < shape.outer * shape.depth; ++row) {
      const int64_t k = row % shape.depth;
      const I* from = indices + row / shape.depth * shape.inner;
      for (int64_t j = 0; j < shape.inner; ++j) {
        sums[PlaceOf(from[j], shape.depth) == k ? 1 : 0] +=
            dy[row * shape.inner + j];
      }
    }
    float* dvalues = static_cast<float*>(b.out[0]);
    for (int i = 0; i < 2; ++i) dvalues[i] = static_cast<float>(sums[i]);
  }};
}

absl::StatusOr<Kernel> GradBuild(const Signature& s, const OpEnv&) {
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(s));
  switch (s.in[0].dtype) {
    case DType::kI32:
      return MakeGradKernel<int32_t>(shape);
    case DType::kI64:
      return MakeGradKernel<int64_t>(shape);
    default:
      return MakeGradKernel<float>(shape);
  }
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  return DescribeRowMajor(offered, "loop:onehot", /*flops=*/0);
}

}  // namespace

std::vector<OpDef> OneHotOps() {
  OpDef op;
  op.name = "OneHot";
  op.min_inputs = op.max_inputs = 2;
  op.attrs = {AttrSpec("axis", int64_t{-1}),
              AttrSpec("depth", AttrKind::kInt, AttrSpec::kRequired)};
  op.no_grad_inputs = {0};
  op.infer = Infer;
  op.grad = Grad;
  op.describe = Describe;
  op.build = Build;

  OpDef grad;
  grad.name = "OneHotGrad";
  grad.internal = true;
  grad.min_inputs = grad.max_inputs = 2;
  grad.attrs = op.attrs;
  grad.infer = GradInfer;
  grad.describe = Describe;
  grad.build = GradBuild;
  return {op, grad};
}

}  // namespace reprise
