// RMSNormalization over the axes from `axis` on: rows of n elements.
//
//   xhat = x inv,  inv = 1 / sqrt(mean(x^2) + epsilon)
//   y    = xhat scale
//   dx   = inv (h - xhat mean(h xhat)),  h = dy scale
//   dscale = sum over rows of dy xhat
//
// The gradient reads x and one number a row, never y.
// Source: Zhang and Sennrich (2019), arXiv:1910.07467; the formula of dx is the
// derivative of the above, terms collected.
// Tested by tests/ops/group_norm_test.cc.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/autodiff.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"
#include "ops/lib/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/rms_normalization.cc"
#include "hwy/foreach_target.h"  // after simd.h
#include "ops/lib/update-inl.h"

#ifndef OPS_RMS_NORMALIZATION_RUN_
#define OPS_RMS_NORMALIZATION_RUN_
namespace reprise {
namespace {

// Operands of the gradient; nullptr: not wanted.
struct RmsNormGrads {
  const float* dy = nullptr;
  const float* x = nullptr;
  const float* scale = nullptr;
  const float* inverse = nullptr;
  float* dx = nullptr;
};

}  // namespace
}  // namespace reprise
#endif  // OPS_RMS_NORMALIZATION_RUN_

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

// `inverses` may be nullptr; `y` may be `x`.
void RmsNormLoop(const float* x, const float* scale, int64_t n, float epsilon,
                 float* y, float* inverses, int64_t begin, int64_t end) {
  const DF d;
  for (int64_t row = begin; row < end; ++row) {
    const float* x_row = x + row * n;
    const float squares = SumOf(
        n, [](DF, VF v) HWY_ATTR { return hn::Mul(v, v); }, x_row);
    const float inverse =
        1.0f / std::sqrt(squares / static_cast<float>(n) + epsilon);
    if (inverses != nullptr) inverses[row] = inverse;
    const VF factor = hn::Set(d, inverse);
    Map(
        n, y + row * n,
        [&](DF, VF v, VF scale_i)
            HWY_ATTR { return hn::Mul(hn::Mul(v, factor), scale_i); },
        x_row, scale);
  }
}

// Writes dx, and adds to the column sums where they are there.
void RmsNormGradLoop(const RmsNormGrads& o, int64_t n, float* dscale,
                     int64_t begin, int64_t end) {
  const DF d;
  for (int64_t row = begin; row < end; ++row) {
    const float* x = o.x + row * n;
    const float* dy = o.dy + row * n;
    const VF inverse = hn::Set(d, o.inverse[row]);
    if (dscale != nullptr) {
      ForEachVector(0, n, [&](auto at) HWY_ATTR {
        const VF xhat = hn::Mul(at.Load(x), inverse);
        at.Store(hn::MulAdd(at.Load(dy), xhat, at.Load(dscale)), dscale);
      });
    }
    if (o.dx == nullptr) continue;
    const float product = SumOf(
        n,
        [&](DF, VF dy_i, VF scale_i, VF x_i) HWY_ATTR {
          return hn::Mul(hn::Mul(dy_i, scale_i), hn::Mul(x_i, inverse));
        },
        dy, o.scale, x);
    const VF slope = hn::Set(d, product / static_cast<float>(n));
    Map(
        n, o.dx + row * n,
        [&](DF, VF dy_i, VF scale_i, VF x_i) HWY_ATTR {
          const VF h = hn::Mul(dy_i, scale_i);
          return hn::Mul(inverse,
                         hn::NegMulAdd(hn::Mul(x_i, inverse), slope, h));
        },
        dy, o.scale, x);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {

HWY_EXPORT(RmsNormLoop);
HWY_EXPORT(RmsNormGradLoop);

namespace {

constexpr char kName[] = "RMSNormalization";

// The rows of a tensor.
struct Rows {
  int64_t rows = 0;
  int64_t n = 0;
};

Rows RowsOf(const TensorType& x, int64_t axis) {
  const int64_t front = axis < 0 ? axis + x.rank() : axis;
  const absl::Span<const int64_t> dims = x.dims;
  return {Product(dims.subspan(0, front)), Product(dims.subspan(front))};
}

InferredTypes Infer(const OpArgs& args) {
  const TensorType& x = args.in[0];
  RETURN_IF_ERROR(RequireF32(kName, "x", x));
  ASSIGN_OR_RETURN(const int front,
                   NormalizeAxis(args.attrs.Int("axis"), x.rank(), kName));
  if (args.attrs.Int("stash_type") != 1) {
    return Invalid(kName, ": stash_type must be 1 (f32), got ",
                   args.attrs.Int("stash_type"));
  }
  const TensorType row = {DType::kF32,
                          Dims(x.dims.begin() + front, x.dims.end())};
  if (args.in[1] != row) {
    return Invalid(kName, ": scale must be ", ToString(row), ", got ",
                   ToString(args.in[1]));
  }
  TensorType statistics = x;
  std::fill(statistics.dims.begin() + front, statistics.dims.end(), 1);
  return std::vector<TensorType>{x, statistics};
}

std::vector<ValueId> Grad(GradBuilder& b) {
  std::vector<ValueId> grads(2, kNoValue);
  const ValueId inverse = b.out(1);
  const std::vector<ValueId> outs = b.AddMany(
      "RMSNormalizationGrad", {b.out_grad(0), b.in(0), b.in(1), inverse},
      {{"axis", b.attrs().Int("axis")}}, 2);
  for (int i = 0; i < 2; ++i) {
    if (b.needs_grad(i)) grads[i] = outs[i];
  }
  return grads;
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  Description d = DescribeRowMajor(offered, "hwy:rms_norm",
                                   4 * offered.in[0].num_elements());
  AllowOverwrite({0}, d);
  return d;
}

float* OutputOr(const Buffers& buffers, size_t i, size_t count) {
  return i < count ? static_cast<float*>(buffers.out[i]) : nullptr;
}

absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv& env) {
  const Rows shape = RowsOf(s.in[0], s.attrs.Int("axis"));
  const float epsilon = s.attrs.Float("epsilon");
  const size_t num_outputs = s.out.size();
  const int threads = env.threads;
  return Kernel{[=](const Buffers& buffers) {
    ParallelFor(threads, shape.rows, GrainOf(shape.n),
                [&](int64_t begin, int64_t end) {
                  HWY_DYNAMIC_DISPATCH(RmsNormLoop)
                  (static_cast<const float*>(buffers.in[0]),
                   static_cast<const float*>(buffers.in[1]), shape.n, epsilon,
                   OutputOr(buffers, 0, num_outputs),
                   OutputOr(buffers, 1, num_outputs), begin, end);
                });
  }};
}

// RMSNormalizationGrad(dy, x, scale, inv): dx, dscale.

InferredTypes GradInfer(const OpArgs& args) {
  return std::vector<TensorType>{args.in[1], args.in[2]};
}

// Chunks of rows, each with column sums of its own, added in order at the end.
int NumRowChunks(const Rows& shape, int threads) {
  return NumChunks(threads, shape.rows, GrainOf(shape.n));
}

absl::StatusOr<Description> GradDescribe(const Signature& offered,
                                         const OpEnv& env) {
  Description d = DescribeRowMajor(offered, "hwy:rms_norm_grad",
                                   9 * offered.in[1].num_elements());
  // A row's column sums and mean come first; then dy and x of an element are
  // read before its dx is written.
  if (offered.out[0].present()) AllowOverwrite({0, 1}, d);
  const Rows shape = RowsOf(offered.in[1], offered.attrs.Int("axis"));
  d.scratchpad_bytes = int64_t{NumRowChunks(shape, env.threads)} * shape.n *
                       static_cast<int64_t>(sizeof(float));
  return d;
}

absl::StatusOr<Kernel> GradBuild(const Signature& s, const OpEnv& env) {
  const Rows shape = RowsOf(s.in[1], s.attrs.Int("axis"));
  const size_t num_outputs = s.out.size();
  const int threads = env.threads;
  const int chunks = NumRowChunks(shape, threads);
  return Kernel{[=](const Buffers& buffers) {
    const int64_t n = shape.n;
    if (n == 0) return;
    const auto in = [&](int i) {
      return static_cast<const float*>(buffers.in[i]);
    };
    const RmsNormGrads operands = {in(0), in(1), in(2), in(3),
                                   OutputOr(buffers, 0, num_outputs)};
    float* total = OutputOr(buffers, 1, num_outputs);
    float* sums = static_cast<float*>(buffers.scratchpad);
    if (total != nullptr) std::fill_n(sums, chunks * n, 0.0f);
    ParallelFor(threads, chunks, /*grain=*/1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        HWY_DYNAMIC_DISPATCH(RmsNormGradLoop)
        (operands, n, total == nullptr ? nullptr : sums + c * n,
         shape.rows * c / chunks, shape.rows * (c + 1) / chunks);
      }
    });
    if (total == nullptr) return;
    std::fill_n(total, n, 0.0f);
    for (int c = 0; c < chunks; ++c) {
      for (int64_t j = 0; j < n; ++j) total[j] += sums[c * n + j];
    }
  }};
}

}  // namespace

std::vector<OpDef> RmsNormalizationOps() {
  OpDef forward;
  forward.name = kName;
  forward.min_inputs = forward.max_inputs = 2;
  // Files cannot name the statistic.
  forward.max_outputs = 1;
  forward.first_statistic = 1;
  forward.attrs = {AttrSpec("axis", int64_t{-1}), AttrSpec("epsilon", 1e-5f),
                   AttrSpec("stash_type", int64_t{1})};
  forward.infer = Infer;
  forward.grad = Grad;
  forward.describe = Describe;
  forward.build = Build;

  OpDef grad;
  grad.name = "RMSNormalizationGrad";
  grad.internal = true;
  grad.min_inputs = grad.max_inputs = 4;
  grad.max_outputs = 2;
  grad.attrs = {AttrSpec("axis", int64_t{-1})};
  grad.infer = GradInfer;
  grad.describe = GradDescribe;
  grad.build = GradBuild;
  return {forward, grad};
}

}  // namespace reprise
#endif  // HWY_ONCE
