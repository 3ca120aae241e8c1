// TopK: the `k` largest (or smallest) elements along `axis`, largest first, and
// where they are, as INT64. Of equal ones the first come first. NaN counts as
// larger than every number.
//
//   dx = dy at the elements that were taken, 0 elsewhere
//
// `sorted` 0 leaves the order open in ONNX; it is the same here. The gradient
// reads the positions. Tested by tests/ops/order_test.cc.

#include <algorithm>
#include <cstdint>
#include <numeric>
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

InferredTypes Infer(const OpArgs& args) {
  const TensorType& x = args.in[0];
  if (x.dtype != DType::kF32 && x.dtype != DType::kI32 &&
      x.dtype != DType::kI64) {
    return Invalid("TopK: x must be f32, i32 or i64, got ", ToString(x));
  }
  ASSIGN_OR_RETURN(const int axis,
                   NormalizeAxis(args.attrs.Int("axis"), x.rank(), "TopK"));
  const int64_t k = args.attrs.Int("k");
  if (k < 0) return Invalid("TopK: k must be at least 0, got ", k);
  if (k > x.dims[axis]) {
    return Invalid("TopK: k must be at most the ", x.dims[axis],
                   " elements along axis ", axis, " of ", ToString(x), ", got ",
                   k);
  }
  TensorType values = x;
  values.dims[axis] = k;
  return std::vector<TensorType>{values, {DType::kI64, values.dims}};
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0) || b.out_grad(0) == kNoValue) return {kNoValue};
  return {b.Add(
      "GatherElementsGrad", {b.out(1), b.out_grad(0)},
      {{"axis", b.attrs().Int("axis")}, {"dims", Ints(b.type(b.in(0)).dims)}})};
}

// x as [outer, dim, inner].
struct Shape {
  int64_t outer;
  int64_t dim;
  int64_t inner;
  int64_t k;
  bool largest;

  int64_t lanes() const { return outer * inner; }
};

absl::StatusOr<Shape> ShapeOf(const Signature& s) {
  const absl::Span<const int64_t> dims = s.in[0].dims;
  ASSIGN_OR_RETURN(const int axis,
                   NormalizeAxis(s.attrs.Int("axis"), s.in[0].rank(), "TopK"));
  return Shape{Product(dims.first(axis)), dims[axis],
               Product(dims.subspan(axis + 1)), s.attrs.Int("k"),
               s.attrs.Int("largest") != 0};
}

// Each thread sorts positions of one lane at a time.
absl::StatusOr<Description> Describe(const Signature& offered,
                                     const OpEnv& env) {
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(offered));
  Description d =
      DescribeRowMajor(offered, "loop:topk", 8 * offered.in[0].num_elements());
  d.scratchpad_bytes = env.threads * shape.dim * 8;
  return d;
}

// Whether a comes before b among the largest.
template <class T>
bool Larger(T a, T b) {
  if (a != a) return b == b;  // NaN is larger than all but NaN
  return a > b;
}

template <class T>
Kernel MakeKernel(const Shape& shape, int threads) {
  return Kernel{[shape, threads](const Buffers& b) {
    const T* x = static_cast<const T*>(b.in[0]);
    T* values = static_cast<T*>(b.out[0]);
    int64_t* indices = static_cast<int64_t*>(b.out[1]);
    int64_t* scratch = static_cast<int64_t*>(b.scratchpad);
    const int64_t lanes = shape.lanes();
    const int64_t chunks =
        std::min<int64_t>(threads, std::max<int64_t>(1, lanes));
    const int64_t grain = std::max<int64_t>(1, GrainOf(8 * shape.dim) / lanes);
    // One item for each thread's positions.
    ParallelFor(threads, chunks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        int64_t* order = scratch + chunk * shape.dim;
        for (int64_t lane = lanes * chunk / chunks;
             lane < lanes * (chunk + 1) / chunks; ++lane) {
          const int64_t outer = lane / shape.inner;
          const int64_t inner = lane % shape.inner;
          const T* from = x + outer * shape.dim * shape.inner + inner;
          std::iota(order, order + shape.dim, int64_t{0});
          const auto before = [&](int64_t i, int64_t j) {
            const T a = from[i * shape.inner];
            const T c = from[j * shape.inner];
            if (shape.largest ? Larger(a, c) : Larger(c, a)) return true;
            if (shape.largest ? Larger(c, a) : Larger(a, c)) return false;
            return i < j;
          };
          if (shape.k < shape.dim) {
            std::nth_element(order, order + shape.k, order + shape.dim, before);
          }
          std::sort(order, order + shape.k, before);
          for (int64_t i = 0; i < shape.k; ++i) {
            const int64_t to = (outer * shape.k + i) * shape.inner + inner;
            if (values != nullptr) values[to] = from[order[i] * shape.inner];
            if (indices != nullptr) indices[to] = order[i];
          }
        }
      }
    });
  }};
}

absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv& env) {
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(s));
  if (shape.lanes() == 0 || shape.k == 0) {
    return Kernel{[](const Buffers&) {}};
  }
  Kernel kernel =
      s.in[0].dtype == DType::kF32   ? MakeKernel<float>(shape, env.threads)
      : s.in[0].dtype == DType::kI32 ? MakeKernel<int32_t>(shape, env.threads)
                                     : MakeKernel<int64_t>(shape, env.threads);
  if (s.out.size() > 1) return kernel;
  return Kernel{[kernel](const Buffers& b) {
    void* const out[2] = {b.out[0], nullptr};
    Buffers with_second = b;
    with_second.out = out;
    kernel.run(with_second);
  }};
}

}  // namespace

std::vector<OpDef> TopKOps() {
  OpDef op;
  op.name = "TopK";
  op.max_outputs = 2;
  op.attrs = {AttrSpec("axis", int64_t{-1}),
              AttrSpec("k", AttrKind::kInt, AttrSpec::kRequired),
              AttrSpec("largest", int64_t{1}), AttrSpec("sorted", int64_t{1})};
  op.infer = Infer;
  op.grad = Grad;
  op.describe = Describe;
  op.build = Build;
  return {op};
}

}  // namespace reprise
