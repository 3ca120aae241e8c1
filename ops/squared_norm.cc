// Clipping by the global norm: SquaredNorm of one gradient, and the coefficient
// that scales them all, as in torch.nn.utils.clip_grad_norm_.
//
//   SquaredNorm(g)             = sum_i g_i^2
//   ClipCoefficient(s1, .., k) = min(1, max_norm / (sqrt(s1 + .. + sk) + 1e-6))
//
// Sums are taken in double over blocks whose size is a constant, so that they
// do not depend on the number of threads.
// Tested by tests/ops/squared_norm_test.cc.

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"
#include "ops/lib/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/squared_norm.cc"
#include "hwy/foreach_target.h"  // after simd.h
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

// The square of a float is exact in double.
double SumOfSquaresLoop(const float* x, int64_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto even = hn::Zero(d);
  auto odd = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto a = hn::PromoteTo(d, hn::LoadU(df, x + i));
    const auto b = hn::PromoteTo(d, hn::LoadU(df, x + i + lanes));
    even = hn::MulAdd(a, a, even);
    odd = hn::MulAdd(b, b, odd);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  for (; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {

HWY_EXPORT(SumOfSquaresLoop);

namespace {

constexpr int64_t kBlock = kElementsPerThread;

int64_t NumBlocks(const TensorType& x) {
  return (x.num_elements() + kBlock - 1) / kBlock;
}

InferredTypes Infer(const OpArgs& args) {
  RETURN_IF_ERROR(RequireF32("SquaredNorm", "operand", args.in[0]));
  return std::vector<TensorType>{{DType::kF32, {}}};
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  Description description = DescribeRowMajor(offered, "hwy:squared_norm",
                                             2 * offered.in[0].num_elements());
  description.scratchpad_bytes =
      NumBlocks(offered.in[0]) * static_cast<int64_t>(sizeof(double));
  return description;
}

absl::StatusOr<Kernel> Build(const Signature& signature, const OpEnv& env) {
  const int64_t n = signature.in[0].num_elements();
  const int64_t num_blocks = NumBlocks(signature.in[0]);
  const int threads = env.threads;
  return Kernel{[=](const Buffers& buffers) {
    const float* x = static_cast<const float*>(buffers.in[0]);
    double* sums = static_cast<double*>(buffers.scratchpad);
    ParallelFor(threads, num_blocks, /*grain=*/1,
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t from = i * kBlock;
                    sums[i] = HWY_DYNAMIC_DISPATCH(SumOfSquaresLoop)(
                        x + from, std::min(kBlock, n - from));
                  }
                });
    double total = 0;
    for (int64_t i = 0; i < num_blocks; ++i) total += sums[i];
    *static_cast<float*>(buffers.out[0]) = static_cast<float>(total);
  }};
}

// ClipCoefficient's.

InferredTypes CoefficientInfer(const OpArgs& args) {
  for (const TensorType& type : args.in) {
    if (type != TensorType{DType::kF32, {}}) {
      return Invalid("ClipCoefficient: operands must be f32[], got ",
                     ToString(type));
    }
  }
  if (!(args.attrs.Float("max_norm") > 0)) {
    return Invalid("ClipCoefficient: max_norm must be above 0, got ",
                   args.attrs.Float("max_norm"));
  }
  return std::vector<TensorType>{{DType::kF32, {}}};
}

absl::StatusOr<Description> CoefficientDescribe(const Signature& offered,
                                                const OpEnv&) {
  return DescribeRowMajor(offered, "loop",
                          static_cast<int64_t>(offered.in.size()));
}

absl::StatusOr<Kernel> CoefficientBuild(const Signature& signature,
                                        const OpEnv&) {
  const double max_norm = signature.attrs.Float("max_norm");
  const size_t num_inputs = signature.in.size();
  return Kernel{[=](const Buffers& buffers) {
    double sum = 0;
    for (size_t i = 0; i < num_inputs; ++i) {
      sum += *static_cast<const float*>(buffers.in[i]);
    }
    const double coefficient = max_norm / (std::sqrt(sum) + 1e-6);
    *static_cast<float*>(buffers.out[0]) =
        static_cast<float>(coefficient > 1 ? 1 : coefficient);
  }};
}

}  // namespace

std::vector<OpDef> SquaredNormOps() {
  OpDef norm;
  norm.name = "SquaredNorm";
  norm.internal = true;
  norm.infer = Infer;
  norm.describe = Describe;
  norm.build = Build;

  OpDef coefficient;
  coefficient.name = "ClipCoefficient";
  coefficient.internal = true;
  coefficient.max_inputs = INT_MAX;
  coefficient.attrs = {
      AttrSpec("max_norm", AttrKind::kFloat, AttrSpec::kRequired)};
  coefficient.infer = CoefficientInfer;
  coefficient.describe = CoefficientDescribe;
  coefficient.build = CoefficientBuild;

  return {norm, coefficient};
}

}  // namespace reprise
#endif  // HWY_ONCE
