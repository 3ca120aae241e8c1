// Cast to the element type `to`.
//
//   f32 to f32: dx = dy; between other types there is no gradient
//
// A float is truncated towards zero and clamped to the range of an integer, NaN
// becomes 0; between integers the low bits are kept; a bool is "not zero".
// Tested by tests/ops/cast_test.cc.

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/layout.h"
#include "ops/lib/parallel.h"

namespace reprise {
namespace {

InferredTypes Infer(const OpArgs& args) {
  const DType to = args.attrs.Type("to");
  if (SizeOf(to) == 0 || SizeOf(args.in[0].dtype) == 0) {
    return Invalid("Cast: no element type, from ", ToString(args.in[0]), " to ",
                   ToString(to));
  }
  return OneType("Cast", to, args.in[0].dims);
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  return {b.out_grad(0)};
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  const Layout layout = CommonLayout(offered);
  Description d =
      DescribeRowMajor(offered, "loop:cast", offered.in[0].num_elements());
  d.in_layouts[0] = d.out_layouts[0] = layout;
  return d;
}

template <class From, class To>
To Convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_same_v<From, float> && std::is_integral_v<To>) {
    // As floats, the limits round outwards: compare before converting.
    constexpr float kLow = static_cast<float>(std::numeric_limits<To>::min());
    constexpr float kHigh = static_cast<float>(std::numeric_limits<To>::max());
    if (std::isnan(x)) return 0;
    if (x <= kLow) return std::numeric_limits<To>::min();
    if (x >= kHigh) return std::numeric_limits<To>::max();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
Kernel MakeKernel(int64_t n, int threads) {
  return Kernel{[n, threads](const Buffers& b) {
    const From* x = static_cast<const From*>(b.in[0]);
    To* y = static_cast<To*>(b.out[0]);
    ParallelFor(threads, n, kElementsPerThread,
                [x, y](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    y[i] = Convert<From, To>(x[i]);
                  }
                });
  }};
}

template <class From>
absl::StatusOr<Kernel> KernelFrom(DType to, int64_t n, int threads) {
  switch (to) {
    case DType::kF32:
      return MakeKernel<From, float>(n, threads);
    case DType::kI32:
      return MakeKernel<From, int32_t>(n, threads);
    case DType::kI64:
      return MakeKernel<From, int64_t>(n, threads);
    case DType::kBool:
      return MakeKernel<From, bool>(n, threads);
    case DType::kU8:
      return MakeKernel<From, uint8_t>(n, threads);
    case DType::kNone:
    case DType::kOpaque:
      break;
  }
  return absl::InternalError("Cast: no element type");
}

absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv& env) {
  const int64_t n = s.in[0].num_elements();
  const DType to = s.out[0].dtype;
  switch (s.in[0].dtype) {
    case DType::kF32:
      return KernelFrom<float>(to, n, env.threads);
    case DType::kI32:
      return KernelFrom<int32_t>(to, n, env.threads);
    case DType::kI64:
      return KernelFrom<int64_t>(to, n, env.threads);
    case DType::kBool:
      return KernelFrom<bool>(to, n, env.threads);
    case DType::kU8:
      return KernelFrom<uint8_t>(to, n, env.threads);
    case DType::kNone:
    case DType::kOpaque:
      break;
  }
  return absl::InternalError("Cast: no element type");
}

}  // namespace

std::vector<OpDef> CastOps() {
  OpDef op;
  op.name = "Cast";
  op.attrs = {AttrSpec("to", AttrKind::kType, AttrSpec::kRequired)};
  op.infer = Infer;
  op.grad = Grad;
  op.describe = Describe;
  op.build = Build;
  return {op};
}

}  // namespace reprise
