// CumSum: running sums along `axis`, of what comes before and of the element
// itself; without it if `exclusive`; from the other end if `reverse`.
//
//   dx = the running sums of dy from the other end
//
// Floats are summed in double. The gradient reads no forward value. Tested by
// tests/ops/order_test.cc.

#include <algorithm>
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

InferredTypes Infer(const OpArgs& args) {
  const TensorType& x = args.in[0];
  if (x.dtype != DType::kF32 && x.dtype != DType::kI32 &&
      x.dtype != DType::kI64) {
    return Invalid("CumSum: x must be f32, i32 or i64, got ", ToString(x));
  }
  RETURN_IF_ERROR(
      NormalizeAxis(args.attrs.Int("axis"), x.rank(), "CumSum").status());
  return std::vector<TensorType>{x};
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  Attrs attrs = b.attrs();
  attrs.Set("reverse", int64_t{attrs.Int("reverse") == 0 ? 1 : 0});
  return {b.Add("CumSum", {b.out_grad(0)}, std::move(attrs))};
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  Description d =
      DescribeRowMajor(offered, "loop:cumsum", offered.in[0].num_elements());
  AllowOverwrite({0}, d);
  return d;
}

// x as [outer, dim, inner].
struct Shape {
  int64_t outer;
  int64_t dim;
  int64_t inner;
  bool exclusive;
  bool reverse;
};

// Columns that are summed side by side.
constexpr int64_t kBlock = 16;

// Sum: what holds a running sum of T.
template <class T, class Sum>
Kernel MakeKernel(const Shape& shape, int threads) {
  return Kernel{[shape, threads](const Buffers& b) {
    const T* x = static_cast<const T*>(b.in[0]);
    T* y = static_cast<T*>(b.out[0]);
    const int64_t blocks = (shape.inner + kBlock - 1) / kBlock;
    ParallelFor(threads, shape.outer * blocks, GrainOf(shape.dim * kBlock),
                [&](int64_t begin, int64_t end) {
                  for (int64_t item = begin; item < end; ++item) {
                    const int64_t first = item % blocks * kBlock;
                    const int64_t count = std::min(kBlock, shape.inner - first);
                    const int64_t start =
                        item / blocks * shape.dim * shape.inner + first;
                    Sum sums[kBlock] = {};
                    for (int64_t k = 0; k < shape.dim; ++k) {
                      const int64_t row = shape.reverse ? shape.dim - 1 - k : k;
                      const int64_t at = start + row * shape.inner;
                      for (int64_t j = 0; j < count; ++j) {
                        const Sum element = static_cast<Sum>(x[at + j]);
                        const Sum before = sums[j];
                        sums[j] += element;
                        y[at + j] =
                            static_cast<T>(shape.exclusive ? before : sums[j]);
                      }
                    }
                  }
                });
  }};
}

absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv& env) {
  const absl::Span<const int64_t> dims = s.in[0].dims;
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(s.attrs.Int("axis"),
                                                 s.in[0].rank(), "CumSum"));
  const Shape shape = {
      Product(dims.first(axis)), dims[axis], Product(dims.subspan(axis + 1)),
      s.attrs.Int("exclusive") != 0, s.attrs.Int("reverse") != 0};
  // Integers wrap around.
  if (s.in[0].dtype == DType::kI32) {
    return MakeKernel<int32_t, uint32_t>(shape, env.threads);
  }
  if (s.in[0].dtype == DType::kI64) {
    return MakeKernel<int64_t, uint64_t>(shape, env.threads);
  }
  return MakeKernel<float, double>(shape, env.threads);
}

}  // namespace

std::vector<OpDef> CumSumOps() {
  OpDef op;
  op.name = "CumSum";
  op.attrs = {AttrSpec("axis", AttrKind::kInt, AttrSpec::kRequired),
              AttrSpec("exclusive", int64_t{0}),
              AttrSpec("reverse", int64_t{0})};
  op.infer = Infer;
  op.grad = Grad;
  op.describe = Describe;
  op.build = Build;
  return {op};
}

}  // namespace reprise
