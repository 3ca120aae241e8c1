// ArgMax and ArgMin: where along `axis` the largest (smallest) element is, as
// INT64; the first of several, the last if `select_last_index`. A NaN is larger
// and smaller than every number.
//
// Positions have no gradient. Tested by tests/ops/order_test.cc.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"

namespace reprise {
namespace {

InferredTypes Infer(const std::string& op, const OpArgs& args) {
  const TensorType& x = args.in[0];
  ASSIGN_OR_RETURN(const int axis,
                   NormalizeAxis(args.attrs.Int("axis"), x.rank(), op));
  if (x.dims[axis] == 0) {
    return Invalid(op, ": x must have elements along axis ", axis, ", got ",
                   ToString(x));
  }
  Dims dims = x.dims;
  dims[axis] = 1;
  if (args.attrs.Int("keepdims") == 0) dims.erase(dims.begin() + axis);
  return OneType(op, DType::kI64, std::move(dims));
}

// x as [outer, dim, inner].
struct Shape {
  int64_t outer;
  int64_t dim;
  int64_t inner;
  bool last;
};

// Columns that are compared side by side.
constexpr int64_t kBlock = 16;

template <class T, bool kMax>
Kernel MakeKernel(const Shape& shape, int threads) {
  return Kernel{[shape, threads](const Buffers& b) {
    const T* x = static_cast<const T*>(b.in[0]);
    int64_t* y = static_cast<int64_t*>(b.out[0]);
    const int64_t blocks = (shape.inner + kBlock - 1) / kBlock;
    ParallelFor(threads, shape.outer * blocks, GrainOf(shape.dim * kBlock),
                [&](int64_t begin, int64_t end) {
                  for (int64_t item = begin; item < end; ++item) {
                    const int64_t outer = item / blocks;
                    const int64_t first = item % blocks * kBlock;
                    const int64_t count = std::min(kBlock, shape.inner - first);
                    const T* from = x + outer * shape.dim * shape.inner + first;
                    int64_t* to = y + outer * shape.inner + first;
                    T best[kBlock];
                    for (int64_t j = 0; j < count; ++j) {
                      best[j] = from[j];
                      to[j] = 0;
                    }
                    for (int64_t k = 1; k < shape.dim; ++k) {
                      from += shape.inner;
                      for (int64_t j = 0; j < count; ++j) {
                        const T element = from[j];
                        const bool nan = element != element;
                        const bool beaten = best[j] != best[j];
                        const bool better =
                            kMax ? element > best[j] : element < best[j];
                        const bool equal =
                            element == best[j] || (nan && beaten);
                        if ((better && !beaten) || (nan && !beaten) ||
                            (equal && shape.last)) {
                          best[j] = element;
                          to[j] = k;
                        }
                      }
                    }
                  }
                });
  }};
}

template <bool kMax>
absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv& env) {
  const TensorType& x = s.in[0];
  const absl::Span<const int64_t> dims = x.dims;
  ASSIGN_OR_RETURN(const int axis,
                   NormalizeAxis(s.attrs.Int("axis"), x.rank(), s.op->name));
  const Shape shape = {Product(dims.first(axis)), dims[axis],
                       Product(dims.subspan(axis + 1)),
                       s.attrs.Int("select_last_index") != 0};
  switch (x.dtype) {
    case DType::kF32:
      return MakeKernel<float, kMax>(shape, env.threads);
    case DType::kI32:
      return MakeKernel<int32_t, kMax>(shape, env.threads);
    case DType::kI64:
      return MakeKernel<int64_t, kMax>(shape, env.threads);
    default:
      return MakeKernel<uint8_t, kMax>(shape, env.threads);
  }
}

template <bool kMax>
OpDef Op(const std::string& name) {
  OpDef op;
  op.name = name;
  op.attrs = {AttrSpec("axis", int64_t{0}), AttrSpec("keepdims", int64_t{1}),
              AttrSpec("select_last_index", int64_t{0})};
  op.no_grad_inputs = {0};
  op.infer = [name](const OpArgs& args) { return Infer(name, args); };
  op.describe = [](const Signature& offered,
                   const OpEnv&) -> absl::StatusOr<Description> {
    return DescribeRowMajor(offered, "loop:argmax",
                            offered.in[0].num_elements());
  };
  op.build = Build<kMax>;
  return op;
}

}  // namespace

std::vector<OpDef> ArgMaxOps() {
  return {Op<true>("ArgMax"), Op<false>("ArgMin")};
}

}  // namespace reprise
