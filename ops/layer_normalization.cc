// LayerNormalization over the axes from `axis` on: rows of n elements.
//
//   xhat = (x - mean) inv,  inv = 1 / sqrt(var + epsilon)
//   y    = xhat scale + b
//   dx   = inv (g - mean(g) - xhat mean(g xhat)),  g = dy scale
//   dscale = sum over rows of dy xhat,  db = sum over rows of dy
//
// Outputs 1 and 2 are mean and inv. The gradient reads x and those two, never
// y; gradients of the two themselves are added where they are used.
// Source: Ba, Kiros and Hinton (2016), arXiv:1607.06450; the formula of dx is
// the derivative of the above, terms collected.
// Tested by tests/ops/layer_normalization_test.cc.

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
#define HWY_TARGET_INCLUDE "ops/layer_normalization.cc"
#include "hwy/foreach_target.h"  // after simd.h
#include "ops/lib/update-inl.h"

#ifndef OPS_LAYER_NORMALIZATION_RUN_
#define OPS_LAYER_NORMALIZATION_RUN_
namespace reprise {
namespace {

// Operands of the gradient; nullptr: absent, or not wanted.
struct LayerNormGrads {
  const float* dy = nullptr;
  const float* x = nullptr;
  const float* scale = nullptr;
  const float* mean = nullptr;
  const float* inverse = nullptr;
  const float* dmean = nullptr;
  const float* dinverse = nullptr;
  float* dx = nullptr;
};

}  // namespace
}  // namespace reprise
#endif  // OPS_LAYER_NORMALIZATION_RUN_

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

// `b`, `means` and `inverses` may be nullptr; `y` may be `x`.
void LayerNormLoop(const float* x, const float* scale, const float* b,
                   int64_t n, float epsilon, float* y, float* means,
                   float* inverses, int64_t begin, int64_t end) {
  const DF d;
  for (int64_t row = begin; row < end; ++row) {
    const float* x_row = x + row * n;
    const float size = static_cast<float>(n);
    const float mean = SumOf(
                           n, [](auto, auto v) HWY_ATTR { return v; }, x_row) /
                       size;
    const VF shift = hn::Set(d, mean);
    const float squares = SumOf(
        n,
        [&](auto, auto v) HWY_ATTR {
          const VF centered = hn::Sub(v, shift);
          return hn::Mul(centered, centered);
        },
        x_row);
    const float inverse = 1.0f / std::sqrt(squares / size + epsilon);
    if (means != nullptr) means[row] = mean;
    if (inverses != nullptr) inverses[row] = inverse;
    const VF factor = hn::Set(d, inverse);
    float* y_row = y + row * n;
    ForEachVector(0, n, [&](auto at) HWY_ATTR {
      const VF xhat = hn::Mul(hn::Sub(at.Load(x_row), shift), factor);
      VF value = hn::Mul(xhat, at.Load(scale));
      if (b != nullptr) value = hn::Add(value, at.Load(b));
      at.Store(value, y_row);
    });
  }
}

// Writes dx, and adds to the column sums where they are there.
void LayerNormGradLoop(const LayerNormGrads& o, int64_t n, float* dscale,
                       float* db, int64_t begin, int64_t end) {
  const DF d;
  for (int64_t row = begin; row < end; ++row) {
    const float* x = o.x + row * n;
    const float* dy = o.dy + row * n;
    const VF mean = hn::Set(d, o.mean[row]);
    const VF inverse = hn::Set(d, o.inverse[row]);
    const auto xhat_of = [&](VF v) HWY_ATTR {
      return hn::Mul(hn::Sub(v, mean), inverse);
    };
    if (dscale != nullptr) {
      ForEachVector(0, n, [&](auto at) HWY_ATTR {
        at.Store(hn::MulAdd(at.Load(dy), xhat_of(at.Load(x)), at.Load(dscale)),
                 dscale);
      });
    }
    if (db != nullptr) {
      ForEachVector(0, n, [&](auto at) HWY_ATTR {
        at.Store(hn::Add(at.Load(dy), at.Load(db)), db);
      });
    }
    if (o.dx == nullptr) continue;
    const float size = static_cast<float>(n);
    float g_mean = SumOf(
                       n,
                       [](auto, auto dy_i, auto scale_i)
                           HWY_ATTR { return hn::Mul(dy_i, scale_i); },
                       dy, o.scale) /
                   size;
    float g_xhat_mean =
        SumOf(
            n,
            [&](auto, auto dy_i, auto scale_i, auto x_i) HWY_ATTR {
              return hn::Mul(hn::Mul(dy_i, scale_i), xhat_of(x_i));
            },
            dy, o.scale, x) /
        size;
    // d mean / dx = 1 / n and d inv / dx = -inv^2 xhat / n, both over the
    // factor inv that follows.
    if (o.dmean != nullptr) g_mean -= o.dmean[row] / (size * o.inverse[row]);
    if (o.dinverse != nullptr) {
      g_xhat_mean += o.dinverse[row] * o.inverse[row] / size;
    }
    const VF g_shift = hn::Set(d, g_mean);
    const VF g_slope = hn::Set(d, g_xhat_mean);
    float* dx = o.dx + row * n;
    ForEachVector(0, n, [&](auto at) HWY_ATTR {
      const VF g = hn::Mul(at.Load(dy), at.Load(o.scale));
      const VF centered =
          hn::NegMulAdd(xhat_of(at.Load(x)), g_slope, hn::Sub(g, g_shift));
      at.Store(hn::Mul(inverse, centered), dx);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {

HWY_EXPORT(LayerNormLoop);
HWY_EXPORT(LayerNormGradLoop);

namespace {

// The rows of a tensor; of x, if `axis` is counted from the front.
struct Rows {
  int64_t rows = 0;
  int64_t n = 0;
};

Rows RowsOf(const TensorType& x, int64_t axis) {
  const int64_t front = axis < 0 ? axis + x.rank() : axis;
  const absl::Span<const int64_t> dims = x.dims;
  return {Product(dims.subspan(0, front)), Product(dims.subspan(front))};
}

absl::StatusOr<TensorType> StatisticsType(const TensorType& x, int64_t axis) {
  ASSIGN_OR_RETURN(const int front,
                   NormalizeAxis(axis, x.rank(), "LayerNormalization"));
  TensorType type = x;
  std::fill(type.dims.begin() + front, type.dims.end(), 1);
  return type;
}

InferredTypes Infer(const OpArgs& args) {
  const TensorType& x = args.in[0];
  RETURN_IF_ERROR(RequireF32("LayerNormalization", "x", x));
  ASSIGN_OR_RETURN(const TensorType statistics,
                   StatisticsType(x, args.attrs.Int("axis")));
  if (args.attrs.Int("stash_type") != 1) {
    return Invalid("LayerNormalization: stash_type must be 1 (f32), got ",
                   args.attrs.Int("stash_type"));
  }
  const int64_t axis = args.attrs.Int("axis");
  const int64_t front = axis < 0 ? axis + x.rank() : axis;
  const TensorType row = {DType::kF32,
                          Dims(x.dims.begin() + front, x.dims.end())};
  for (size_t i = 1; i < args.in.size(); ++i) {
    if (args.in[i].present() && args.in[i] != row) {
      return Invalid("LayerNormalization: scale and b must be ", ToString(row),
                     ", got ", ToString(args.in[i]));
    }
  }
  return std::vector<TensorType>{x, statistics, statistics};
}

std::vector<ValueId> Grad(GradBuilder& b) {
  std::vector<ValueId> grads(b.num_inputs(), kNoValue);
  ValueId dy = b.out_grad(0);
  if (dy == kNoValue) dy = b.Fill(b.type(b.in(0)), 0);
  const ValueId mean = b.out(1);
  const ValueId inverse = b.out(2);
  const std::vector<ValueId> outs = b.AddMany(
      "LayerNormalizationGrad",
      {dy, b.in(0), b.in(1), mean, inverse, b.out_grad(1), b.out_grad(2)},
      {{"axis", b.attrs().Int("axis")}}, 3);
  for (int i = 0; i < b.num_inputs(); ++i) {
    if (b.needs_grad(i)) grads[i] = outs[i];
  }
  return grads;
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  Description d = DescribeRowMajor(offered, "hwy:layer_norm",
                                   8 * offered.in[0].num_elements());
  AllowOverwrite({0}, d);
  return d;
}

template <class T>
T* OperandOr(T* const* operands, size_t i, size_t count) {
  return i < count ? operands[i] : nullptr;
}

absl::StatusOr<Kernel> Build(const Signature& signature, const OpEnv& env) {
  const Rows shape = RowsOf(signature.in[0], signature.attrs.Int("axis"));
  const float epsilon = signature.attrs.Float("epsilon");
  const size_t num_inputs = signature.in.size();
  const size_t num_outputs = signature.out.size();
  const int threads = env.threads;
  return Kernel{[=](const Buffers& buffers) {
    const auto in = [&](size_t i) {
      return static_cast<const float*>(OperandOr(buffers.in, i, num_inputs));
    };
    const auto out = [&](size_t i) {
      return static_cast<float*>(OperandOr(buffers.out, i, num_outputs));
    };
    // Rows without elements have statistics too: NaN.
    ParallelFor(threads, shape.rows, GrainOf(shape.n),
                [&](int64_t begin, int64_t end) {
                  HWY_DYNAMIC_DISPATCH(LayerNormLoop)
                  (in(0), in(1), in(2), shape.n, epsilon, out(0), out(1),
                   out(2), begin, end);
                });
  }};
}

// LayerNormalizationGrad(dy, x, scale, mean, inv, dmean?, dinv?):
// dx, dscale, db.

InferredTypes GradInfer(const OpArgs& args) {
  return std::vector<TensorType>{args.in[1], args.in[2], args.in[2]};
}

bool IsWanted(const Signature& s, size_t output) {
  return output < s.out.size() && s.out[output].present();
}

// Chunks of rows, each with column sums of its own, added in order at the end.
int NumRowChunks(const Rows& shape, int threads) {
  return NumChunks(threads, shape.rows, GrainOf(shape.n));
}

absl::StatusOr<Description> GradDescribe(const Signature& offered,
                                         const OpEnv& env) {
  Description d = DescribeRowMajor(offered, "hwy:layer_norm_grad",
                                   14 * offered.in[1].num_elements());
  // dy and x of an element are read before its dx is written, but for the
  // column sums and means of its row, which come first.
  if (IsWanted(offered, 0)) AllowOverwrite({0, 1}, d);
  const Rows shape = RowsOf(offered.in[1], offered.attrs.Int("axis"));
  d.scratchpad_bytes =
      2 * int64_t{NumRowChunks(shape, env.threads)} * shape.n * 4;
  return d;
}

absl::StatusOr<Kernel> GradBuild(const Signature& signature, const OpEnv& env) {
  const Rows shape = RowsOf(signature.in[1], signature.attrs.Int("axis"));
  const size_t num_inputs = signature.in.size();
  const size_t num_outputs = signature.out.size();
  const int threads = env.threads;
  const int chunks = NumRowChunks(shape, threads);
  return Kernel{[=](const Buffers& buffers) {
    const auto in = [&](size_t i) {
      return static_cast<const float*>(OperandOr(buffers.in, i, num_inputs));
    };
    const auto out = [&](size_t i) {
      return static_cast<float*>(OperandOr(buffers.out, i, num_outputs));
    };
    const int64_t n = shape.n;
    if (n == 0) return;
    const LayerNormGrads operands = {in(0), in(1), in(2), in(3),
                                     in(4), in(5), in(6), out(0)};
    float* sums = static_cast<float*>(buffers.scratchpad);
    std::fill_n(sums, 2 * chunks * n, 0.0f);
    ParallelFor(threads, chunks, /*grain=*/1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        float* dscale = sums + 2 * c * n;
        HWY_DYNAMIC_DISPATCH(LayerNormGradLoop)
        (operands, n, out(1) == nullptr ? nullptr : dscale,
         out(2) == nullptr ? nullptr : dscale + n, shape.rows * c / chunks,
         shape.rows * (c + 1) / chunks);
      }
    });
    for (int which = 0; which < 2; ++which) {
      float* total = out(1 + which);
      if (total == nullptr) continue;
      std::fill_n(total, n, 0.0f);
      for (int c = 0; c < chunks; ++c) {
        const float* part = sums + (2 * c + which) * n;
        for (int64_t j = 0; j < n; ++j) total[j] += part[j];
      }
    }
  }};
}

}  // namespace

std::vector<OpDef> LayerNormalizationOps() {
  OpDef forward;
  forward.name = "LayerNormalization";
  forward.min_inputs = 2;
  forward.max_inputs = 3;
  forward.max_outputs = 3;
  forward.first_statistic = 1;
  forward.attrs = {AttrSpec("axis", int64_t{-1}), AttrSpec("epsilon", 1e-5f),
                   AttrSpec("stash_type", int64_t{1})};
  forward.infer = Infer;
  forward.grad = Grad;
  forward.describe = Describe;
  forward.build = Build;

  OpDef grad;
  grad.name = "LayerNormalizationGrad";
  grad.internal = true;
  grad.min_inputs = 5;
  grad.max_inputs = 7;
  grad.max_outputs = 3;
  grad.attrs = {AttrSpec("axis", int64_t{-1})};
  grad.infer = GradInfer;
  grad.describe = GradDescribe;
  grad.build = GradBuild;

  return {forward, grad};
}

}  // namespace reprise
#endif  // HWY_ONCE
