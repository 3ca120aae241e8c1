#include "ops/lib/pair_loss.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/autodiff.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/fold.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/lib/pair_loss.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

// y *= factor dy; `dy`: one for each element, or nullptr.
void ScaleLoop(float factor, const float* dy, float* y, int64_t n) {
  const VF k = hn::Set(DF(), factor);
  const float* old = y;
  if (dy == nullptr) {
    Map(
        n, y, [&](DF, VF y_i) HWY_ATTR { return hn::Mul(k, y_i); }, old);
    return;
  }
  Map(
      n, y,
      [&](DF, VF y_i, VF dy_i)
          HWY_ATTR { return hn::Mul(hn::Mul(k, dy_i), y_i); },
      old, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(ScaleLoop);

constexpr int64_t kBlock = kElementsPerThread;
constexpr int64_t kRun = 1024;  // values that are computed and then added

constexpr char kReduction[] = "reduction";
constexpr char kOperand[] = "operand";  // the gradient's: 0 or 1

int64_t NumBlocks(const TensorType& a) {
  return (a.num_elements() + kBlock - 1) / kBlock;
}

// What the sum is divided by.
double DivisorOf(const std::string& reduction, const TensorType& a) {
  if (reduction == "mean") return static_cast<double>(a.num_elements());
  if (reduction == "batchmean") return static_cast<double>(a.dims[0]);
  return 1;
}

InferredTypes Infer(const PairLossSpec& spec, const OpArgs& args) {
  RETURN_IF_ERROR(RequireSameF32(spec.name, args));
  if (spec.judge) RETURN_IF_ERROR(spec.judge(args.attrs));
  const std::string& reduction = args.attrs.String(kReduction);
  TensorType y = args.in[0];
  if (reduction == "none") return std::vector<TensorType>{std::move(y)};
  const bool batch_mean = spec.has_batch_mean && reduction == "batchmean";
  if (reduction != "sum" && reduction != "mean" && !batch_mean) {
    return Invalid(spec.name, ": reduction must be none, sum",
                   spec.has_batch_mean ? ", mean or batchmean" : " or mean",
                   ", got \"", reduction, "\"");
  }
  if (batch_mean && y.rank() == 0) {
    return Invalid(spec.name, ": batchmean needs a first dim, got ",
                   ToString(y));
  }
  y.dims.clear();
  return std::vector<TensorType>{std::move(y)};
}

absl::StatusOr<Description> Describe(const PairLossSpec& spec,
                                     const Signature& offered) {
  Description d =
      DescribeRowMajor(offered, "hwy:pair_loss",
                       spec.flops_per_element * offered.in[0].num_elements());
  if (offered.attrs.String(kReduction) == "none") {
    AllowOverwrite({0, 1}, d);
  } else {
    d.scratchpad_bytes =
        NumBlocks(offered.in[0]) * static_cast<int64_t>(sizeof(double));
  }
  return d;
}

double SumOfRange(PairLoop value, float param, const float* a, const float* b,
                  int64_t begin, int64_t end) {
  float losses[kRun];
  double sum = 0;
  for (int64_t from = begin; from < end; from += kRun) {
    const int64_t n = std::min(kRun, end - from);
    value(a + from, b + from, losses, n, param);
    sum += FoldRun(Fold::kSum, losses, n, /*shift=*/0);
  }
  return sum;
}

Kernel BuildLoss(const PairLossSpec& spec, const Signature& s, int threads) {
  const PairLoop value = spec.value;
  const float param = spec.param ? spec.param(s.attrs) : 0;
  const std::string& reduction = s.attrs.String(kReduction);
  const int64_t n = s.in[0].num_elements();
  if (reduction == "none") {
    return Kernel{[=](const Buffers& buffers) {
      const float* a = static_cast<const float*>(buffers.in[0]);
      const float* b = static_cast<const float*>(buffers.in[1]);
      float* y = static_cast<float*>(buffers.out[0]);
      ParallelFor(threads, n, kElementsPerThread,
                  [&](int64_t begin, int64_t end) {
                    value(a + begin, b + begin, y + begin, end - begin, param);
                  });
    }};
  }
  const double divisor = DivisorOf(reduction, s.in[0]);
  const int64_t num_blocks = NumBlocks(s.in[0]);
  return Kernel{[=](const Buffers& buffers) {
    const float* a = static_cast<const float*>(buffers.in[0]);
    const float* b = static_cast<const float*>(buffers.in[1]);
    double* sums = static_cast<double*>(buffers.scratchpad);
    ParallelFor(threads, num_blocks, /*grain=*/1,
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    sums[i] = SumOfRange(value, param, a, b, i * kBlock,
                                         std::min(n, (i + 1) * kBlock));
                  }
                });
    double total = 0;
    for (int64_t i = 0; i < num_blocks; ++i) total += sums[i];
    *static_cast<float*>(buffers.out[0]) = static_cast<float>(total / divisor);
  }};
}

// The gradient of (dy, a, b): da or db.

absl::StatusOr<Description> DescribeGrad(const Signature& offered,
                                         int64_t flops_per_element) {
  Description d =
      DescribeRowMajor(offered, "hwy:pair_loss_grad",
                       flops_per_element * offered.in[1].num_elements());
  AllowOverwrite({1, 2}, d);
  return d;
}

Kernel BuildGrad(const PairLossSpec& spec, const Signature& s, int threads) {
  const PairLoop derivative =
      s.attrs.Int(kOperand) == 0 ? spec.of_a : spec.of_b;
  const float param = spec.param ? spec.param(s.attrs) : 0;
  const std::string& reduction = s.attrs.String(kReduction);
  const bool each = reduction == "none";
  const double divisor = DivisorOf(reduction, s.in[1]);
  const int64_t n = s.in[1].num_elements();
  return Kernel{[=](const Buffers& buffers) {
    if (n == 0) return;
    const float* dy = static_cast<const float*>(buffers.in[0]);
    const float* a = static_cast<const float*>(buffers.in[1]);
    const float* b = static_cast<const float*>(buffers.in[2]);
    float* grad = static_cast<float*>(buffers.out[0]);
    const float factor = each ? 1 : static_cast<float>(*dy / divisor);
    ParallelFor(threads, n, kElementsPerThread,
                [&](int64_t begin, int64_t end) {
                  for (int64_t from = begin; from < end; from += kRun) {
                    const int64_t count = std::min(kRun, end - from);
                    derivative(a + from, b + from, grad + from, count, param);
                    HWY_DYNAMIC_DISPATCH(ScaleLoop)
                    (factor, each ? dy + from : nullptr, grad + from, count);
                  }
                });
  }};
}

}  // namespace

std::vector<OpDef> PairLossOps(PairLossSpec spec) {
  const std::string grad_name = absl::StrCat(spec.name, "Grad");
  OpDef forward;
  forward.name = spec.name;
  forward.min_inputs = forward.max_inputs = 2;
  forward.attrs = spec.attrs;
  forward.attrs.emplace_back(kReduction, std::string("mean"));
  forward.infer = [spec](const OpArgs& args) { return Infer(spec, args); };
  forward.grad = [grad_name](GradBuilder& b) {
    std::vector<ValueId> grads(2, kNoValue);
    for (int i = 0; i < 2; ++i) {
      if (!b.needs_grad(i)) continue;
      Attrs attrs = b.attrs();
      attrs.Set(kOperand, int64_t{i});
      grads[i] = b.Add(grad_name, {b.out_grad(0), b.in(0), b.in(1)}, attrs);
    }
    return grads;
  };
  forward.describe = [spec](const Signature& offered, const OpEnv&) {
    return Describe(spec, offered);
  };
  forward.build = [spec](const Signature& s,
                         const OpEnv& env) -> absl::StatusOr<Kernel> {
    return BuildLoss(spec, s, env.threads);
  };

  OpDef grad;
  grad.name = grad_name;
  grad.internal = true;
  grad.min_inputs = grad.max_inputs = 3;
  grad.attrs = forward.attrs;
  grad.attrs.emplace_back(kOperand, int64_t{0});
  grad.infer = [](const OpArgs& args) -> InferredTypes {
    return std::vector<TensorType>{args.in[1]};
  };
  grad.describe = [flops = spec.flops_per_element](const Signature& offered,
                                                   const OpEnv&) {
    return DescribeGrad(offered, flops + 2);
  };
  grad.build = [spec](const Signature& s,
                      const OpEnv& env) -> absl::StatusOr<Kernel> {
    return BuildGrad(spec, s, env.threads);
  };
  return {forward, grad};
}

}  // namespace reprise
#endif  // HWY_ONCE
