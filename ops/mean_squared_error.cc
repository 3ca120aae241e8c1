// MeanSquaredError: the squared distance of a prediction a from a target b, of
// one type. ONNX has no such operator.
//
//   y  = sum_i (a_i - b_i)^2, or its mean, or the tensor of squares
//   da = 2 k (a - b), db = 2 k (b - a)
//
// where k is dy, over the number of elements for the mean. The gradients read
// both operands.
// Tested by tests/ops/mean_squared_error_test.cc.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/autodiff.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/label_loss.h"
#include "ops/lib/parallel.h"
#include "ops/lib/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/mean_squared_error.cc"
#include "hwy/foreach_target.h"  // after simd.h
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void SquaredErrorsLoop(const float* a, const float* b, float* y, int64_t n) {
  Map(
      n, y,
      [](auto, auto a_i, auto b_i) HWY_ATTR {
        const VF error = hn::Sub(a_i, b_i);
        return hn::Mul(error, error);
      },
      a, b);
}

double SumOfSquaredErrorsLoop(const float* a, const float* b, int64_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto lane_sums = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto error =
        hn::PromoteTo(d, hn::Sub(hn::LoadU(df, a + i), hn::LoadU(df, b + i)));
    lane_sums = hn::MulAdd(error, error, lane_sums);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, lane_sums));
  for (; i < n; ++i) {
    const double error = a[i] - b[i];
    sum += error * error;
  }
  return sum;
}

// `dy`: one for each element, or nullptr.
void SquaredErrorGradLoop(const float* dy, const float* a, const float* b,
                          float factor, float* da, int64_t n) {
  const VF k = hn::Set(DF(), factor);
  if (dy == nullptr) {
    Map(
        n, da,
        [&](auto, auto a_i, auto b_i)
            HWY_ATTR { return hn::Mul(k, hn::Sub(a_i, b_i)); },
        a, b);
    return;
  }
  Map(
      n, da,
      [&](auto, auto dy_i, auto a_i, auto b_i)
          HWY_ATTR { return hn::Mul(hn::Mul(k, dy_i), hn::Sub(a_i, b_i)); },
      dy, a, b);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {

HWY_EXPORT(SquaredErrorsLoop);
HWY_EXPORT(SumOfSquaredErrorsLoop);
HWY_EXPORT(SquaredErrorGradLoop);

namespace {

constexpr int64_t kBlock = kElementsPerThread;

int64_t NumBlocks(const TensorType& a) {
  return (a.num_elements() + kBlock - 1) / kBlock;
}

Reduction ReductionOfNode(const Signature& signature) {
  return *ReductionOf("", signature.attrs.String("reduction"));
}

InferredTypes Infer(const OpArgs& args) {
  RETURN_IF_ERROR(RequireSameF32("MeanSquaredError", args));
  ASSIGN_OR_RETURN(
      const Reduction reduction,
      ReductionOf("MeanSquaredError", args.attrs.String("reduction")));
  TensorType y = args.in[0];
  if (reduction != Reduction::kNone) y.dims.clear();
  return std::vector<TensorType>{std::move(y)};
}

std::vector<ValueId> Grad(GradBuilder& b) {
  const ValueId dy = b.out_grad(0);
  std::vector<ValueId> grads = {kNoValue, kNoValue};
  if (b.needs_grad(0)) {
    grads[0] = b.Add("MeanSquaredErrorGrad", {dy, b.in(0), b.in(1)}, b.attrs());
  }
  if (b.needs_grad(1)) {
    grads[1] = b.Add("MeanSquaredErrorGrad", {dy, b.in(1), b.in(0)}, b.attrs());
  }
  return grads;
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  Description description = DescribeRowMajor(offered, "hwy:squared_error",
                                             3 * offered.in[0].num_elements());
  if (ReductionOfNode(offered) == Reduction::kNone) {
    AllowOverwrite({0, 1}, description);
  } else {
    description.scratchpad_bytes =
        NumBlocks(offered.in[0]) * static_cast<int64_t>(sizeof(double));
  }
  return description;
}

absl::StatusOr<Kernel> Build(const Signature& signature, const OpEnv& env) {
  const Reduction reduction = ReductionOfNode(signature);
  const int64_t n = signature.in[0].num_elements();
  const int64_t num_blocks = NumBlocks(signature.in[0]);
  const int threads = env.threads;
  if (reduction == Reduction::kNone) {
    return Kernel{[=](const Buffers& buffers) {
      const float* a = static_cast<const float*>(buffers.in[0]);
      const float* b = static_cast<const float*>(buffers.in[1]);
      float* y = static_cast<float*>(buffers.out[0]);
      ParallelFor(threads, n, kElementsPerThread,
                  [&](int64_t begin, int64_t end) {
                    HWY_DYNAMIC_DISPATCH(SquaredErrorsLoop)
                    (a + begin, b + begin, y + begin, end - begin);
                  });
    }};
  }
  return Kernel{[=](const Buffers& buffers) {
    const float* a = static_cast<const float*>(buffers.in[0]);
    const float* b = static_cast<const float*>(buffers.in[1]);
    double* sums = static_cast<double*>(buffers.scratchpad);
    ParallelFor(threads, num_blocks, /*grain=*/1,
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t from = i * kBlock;
                    sums[i] = HWY_DYNAMIC_DISPATCH(SumOfSquaredErrorsLoop)(
                        a + from, b + from, std::min(kBlock, n - from));
                  }
                });
    double total = 0;
    for (int64_t i = 0; i < num_blocks; ++i) total += sums[i];
    if (reduction == Reduction::kMean) total /= static_cast<double>(n);
    *static_cast<float*>(buffers.out[0]) = static_cast<float>(total);
  }};
}

// MeanSquaredErrorGrad(dy, a, b): da.

InferredTypes GradInfer(const OpArgs& args) {
  return std::vector<TensorType>{args.in[1]};
}

absl::StatusOr<Description> GradDescribe(const Signature& offered,
                                         const OpEnv&) {
  Description description = DescribeRowMajor(offered, "hwy:squared_error_grad",
                                             2 * offered.in[1].num_elements());
  AllowOverwrite({1, 2}, description);
  if (ReductionOfNode(offered) == Reduction::kNone) {
    AllowOverwrite({0}, description);
  }
  return description;
}

absl::StatusOr<Kernel> GradBuild(const Signature& signature, const OpEnv& env) {
  const Reduction reduction = ReductionOfNode(signature);
  const int64_t n = signature.in[1].num_elements();
  const int threads = env.threads;
  return Kernel{[=](const Buffers& buffers) {
    const float* dy = static_cast<const float*>(buffers.in[0]);
    const float* a = static_cast<const float*>(buffers.in[1]);
    const float* b = static_cast<const float*>(buffers.in[2]);
    float* da = static_cast<float*>(buffers.out[0]);
    if (n == 0) return;
    float factor = 2;
    if (reduction == Reduction::kSum) factor = 2 * *dy;
    if (reduction == Reduction::kMean) {
      factor = static_cast<float>(2.0 * *dy / static_cast<double>(n));
    }
    const bool each = reduction == Reduction::kNone;
    ParallelFor(threads, n, kElementsPerThread,
                [&](int64_t begin, int64_t end) {
                  HWY_DYNAMIC_DISPATCH(SquaredErrorGradLoop)
                  (each ? dy + begin : nullptr, a + begin, b + begin, factor,
                   da + begin, end - begin);
                });
  }};
}

}  // namespace

std::vector<OpDef> MeanSquaredErrorOps() {
  OpDef forward;
  forward.name = "MeanSquaredError";
  forward.min_inputs = 2;
  forward.max_inputs = 2;
  forward.attrs = {AttrSpec("reduction", std::string("mean"))};
  forward.infer = Infer;
  forward.grad = Grad;
  forward.describe = Describe;
  forward.build = Build;

  OpDef grad;
  grad.name = "MeanSquaredErrorGrad";
  grad.internal = true;
  grad.min_inputs = 3;
  grad.max_inputs = 3;
  grad.attrs = forward.attrs;
  grad.infer = GradInfer;
  grad.describe = GradDescribe;
  grad.build = GradBuild;

  return {forward, grad};
}

}  // namespace reprise
#endif  // HWY_ONCE
