// LRN, local response normalization across channels: x [n, c, ..].
//
//   s_i  = bias + alpha / size * sum of x_j^2 over the `size` channels j around
//          i, one more behind it than before it where size is even
//   y_i  = x_i s_i^-beta
//   dx_i = dy_i s_i^-beta
//          - 2 alpha beta / size * x_i * sum of dy_j x_j s_j^(-beta - 1) over
//            the channels j around which i lies
//
// The gradient reads x, and takes s again.
// Source: Krizhevsky, Sutskever and Hinton (2012), section 3.3.
// Tested by tests/ops/group_norm_test.cc.

#include <algorithm>
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

#ifndef OPS_LRN_SHAPE_
#define OPS_LRN_SHAPE_
namespace reprise {
namespace {

// x as [images, channels, positions], and the window of a channel.
struct LrnShape {
  int64_t images = 0;
  int64_t channels = 0;
  int64_t positions = 0;
  int64_t before = 0;  // channels of the window on either side
  int64_t behind = 0;
  float alpha = 0;  // over the size of the window
  float beta = 0;
  float bias = 0;
};

// Positions that are worked on together.
constexpr int64_t kLrnBlock = 64;

}  // namespace
}  // namespace reprise
#endif  // OPS_LRN_SHAPE_

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/lrn.cc"
#include "hwy/foreach_target.h"  // after simd.h
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

// sum[0, n) = the sum over channels [first, last) of rows[channel * stride].
template <class F>
HWY_INLINE void SumChannels(const float* rows, int64_t stride, int64_t first,
                            int64_t last, int64_t n, float* sum, const F& f) {
  std::fill_n(sum, n, 0.0f);
  for (int64_t c = first; c < last; ++c) {
    Map(
        n, sum, [&](DF, VF total, VF v) HWY_ATTR { return f(total, v); },
        static_cast<const float*>(sum), rows + c * stride);
  }
}

// s of channel c, in n positions of an image.
HWY_INLINE void Bases(const LrnShape& shape, const float* x, int64_t c,
                      int64_t n, float* s) {
  SumChannels(x, shape.positions, std::max<int64_t>(0, c - shape.before),
              std::min(shape.channels, c + shape.behind + 1), n, s,
              [](VF total, VF v) HWY_ATTR { return hn::MulAdd(v, v, total); });
  Map(
      n, s,
      [&](DF d, VF v) HWY_ATTR {
        return hn::MulAdd(hn::Set(d, shape.alpha), v, hn::Set(d, shape.bias));
      },
      static_cast<const float*>(s));
}

HWY_INLINE VF Power(DF d, VF s, float exponent) {
  return Exp(d, hn::Mul(hn::Set(d, exponent), Log(d, s)));
}

void LrnLoop(const LrnShape& shape, const float* x, float* y, int64_t n) {
  HWY_ALIGN float s[kLrnBlock];
  for (int64_t c = 0; c < shape.channels; ++c) {
    Bases(shape, x, c, n, s);
    Map(
        n, y + c * shape.positions,
        [&](DF d, VF x_i, VF s_i)
            HWY_ATTR { return hn::Mul(x_i, Power(d, s_i, -shape.beta)); },
        x + c * shape.positions, static_cast<const float*>(s));
  }
}

// `terms`: kLrnBlock elements for each channel.
void LrnGradLoop(const LrnShape& shape, const float* dy, const float* x,
                 float* dx, float* terms, int64_t n) {
  HWY_ALIGN float s[kLrnBlock];
  HWY_ALIGN float sum[kLrnBlock];
  // dx may be x: until all terms are there it holds nothing of ours, so the
  // direct part s^-beta is kept beside them.
  float* direct = terms + shape.channels * kLrnBlock;
  for (int64_t c = 0; c < shape.channels; ++c) {
    const int64_t at = c * shape.positions;
    Bases(shape, x, c, n, s);
    float* direct_c = direct + c * kLrnBlock;
    Map(
        n, direct_c,
        [&](DF d, VF s_i) HWY_ATTR { return Power(d, s_i, -shape.beta); },
        static_cast<const float*>(s));
    Map(
        n, terms + c * kLrnBlock,
        [&](DF, VF dy_i, VF x_i, VF s_i, VF power) HWY_ATTR {
          return hn::Mul(hn::Mul(dy_i, x_i), hn::Div(power, s_i));
        },
        dy + at, x + at, static_cast<const float*>(s),
        static_cast<const float*>(direct_c));
  }
  const float factor = -2 * shape.alpha * shape.beta;
  for (int64_t c = 0; c < shape.channels; ++c) {
    const int64_t at = c * shape.positions;
    SumChannels(terms, kLrnBlock, std::max<int64_t>(0, c - shape.behind),
                std::min(shape.channels, c + shape.before + 1), n, sum,
                [](VF total, VF v) HWY_ATTR { return hn::Add(total, v); });
    Map(
        n, dx + at,
        [&](DF d, VF dy_i, VF x_i, VF sum_i, VF power) HWY_ATTR {
          const VF around = hn::Mul(hn::Set(d, factor), hn::Mul(x_i, sum_i));
          return hn::MulAdd(dy_i, power, around);
        },
        dy + at, x + at, static_cast<const float*>(sum),
        static_cast<const float*>(direct + c * kLrnBlock));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {

HWY_EXPORT(LrnLoop);
HWY_EXPORT(LrnGradLoop);

namespace {

LrnShape ShapeOf(const TensorType& x, const Attrs& attrs) {
  const int64_t size = attrs.Int("size");
  LrnShape shape;
  shape.images = x.dims[0];
  shape.channels = x.dims[1];
  shape.positions = Product(absl::MakeConstSpan(x.dims).subspan(2));
  shape.before = (size - 1) / 2;
  shape.behind = size - 1 - shape.before;
  shape.alpha = attrs.Float("alpha") / static_cast<float>(size);
  shape.beta = attrs.Float("beta");
  shape.bias = attrs.Float("bias");
  return shape;
}

InferredTypes Infer(const OpArgs& args) {
  const TensorType& x = args.in[0];
  RETURN_IF_ERROR(RequireF32("LRN", "x", x));
  if (x.rank() < 2) {
    return Invalid("LRN: x must be [n, c, ..], got ", ToString(x));
  }
  if (args.attrs.Int("size") < 1) {
    return Invalid("LRN: size must be at least 1, got ",
                   args.attrs.Int("size"));
  }
  return std::vector<TensorType>{x};
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  return {b.Add("LRNGrad", {b.out_grad(0), b.in(0)}, b.attrs())};
}

int64_t FlopsOf(const TensorType& x, const Attrs& attrs) {
  return (40 + 2 * std::min(attrs.Int("size"), x.dims[1])) * x.num_elements();
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  return DescribeRowMajor(offered, "hwy:lrn",
                          FlopsOf(offered.in[0], offered.attrs));
}

// Calls f(thread's part, offset, n) for the blocks of positions.
template <class F>
void ForEachBlock(const LrnShape& shape, int threads, const F& f) {
  const int64_t blocks = (shape.positions + kLrnBlock - 1) / kLrnBlock;
  const int64_t parts = NumChunks(threads, shape.images * blocks,
                                  GrainOf(40 * shape.channels * kLrnBlock));
  const int64_t items = shape.images * blocks;
  ParallelFor(static_cast<int>(parts), parts, /*grain=*/1,
              [&](int64_t begin, int64_t end) {
                for (int64_t part = begin; part < end; ++part) {
                  for (int64_t i = items * part / parts;
                       i < items * (part + 1) / parts; ++i) {
                    const int64_t first = i % blocks * kLrnBlock;
                    f(part,
                      i / blocks * shape.channels * shape.positions + first,
                      std::min(kLrnBlock, shape.positions - first));
                  }
                }
              });
}

absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv& env) {
  const LrnShape shape = ShapeOf(s.in[0], s.attrs);
  const int threads = env.threads;
  return Kernel{[=](const Buffers& b) {
    const float* x = static_cast<const float*>(b.in[0]);
    float* y = static_cast<float*>(b.out[0]);
    if (x == nullptr) return;
    ForEachBlock(shape, threads, [&](int64_t, int64_t at, int64_t n) {
      HWY_DYNAMIC_DISPATCH(LrnLoop)(shape, x + at, y + at, n);
    });
  }};
}

// LRNGrad(dy, x): dx.

InferredTypes GradInfer(const OpArgs& args) {
  return std::vector<TensorType>{args.in[1]};
}

absl::StatusOr<Description> GradDescribe(const Signature& offered,
                                         const OpEnv& env) {
  Description d = DescribeRowMajor(offered, "hwy:lrn_grad",
                                   2 * FlopsOf(offered.in[1], offered.attrs));
  // A block's terms are complete before its first dx is written.
  AllowOverwrite({0, 1}, d);
  d.scratchpad_bytes = 2 * int64_t{env.threads} * offered.in[1].dims[1] *
                       kLrnBlock * static_cast<int64_t>(sizeof(float));
  return d;
}

absl::StatusOr<Kernel> GradBuild(const Signature& s, const OpEnv& env) {
  const LrnShape shape = ShapeOf(s.in[1], s.attrs);
  const int threads = env.threads;
  return Kernel{[=](const Buffers& b) {
    const float* dy = static_cast<const float*>(b.in[0]);
    const float* x = static_cast<const float*>(b.in[1]);
    float* dx = static_cast<float*>(b.out[0]);
    float* terms = static_cast<float*>(b.scratchpad);
    if (x == nullptr) return;
    ForEachBlock(shape, threads, [&](int64_t part, int64_t at, int64_t n) {
      HWY_DYNAMIC_DISPATCH(LrnGradLoop)
      (shape, dy + at, x + at, dx + at,
       terms + 2 * part * shape.channels * kLrnBlock, n);
    });
  }};
}

}  // namespace

std::vector<OpDef> LrnOps() {
  OpDef forward;
  forward.name = "LRN";
  forward.attrs = {AttrSpec("alpha", 1e-4f), AttrSpec("beta", 0.75f),
                   AttrSpec("bias", 1.0f),
                   AttrSpec("size", AttrKind::kInt, AttrSpec::kRequired)};
  forward.infer = Infer;
  forward.grad = Grad;
  forward.describe = Describe;
  forward.build = Build;

  OpDef grad;
  grad.name = "LRNGrad";
  grad.internal = true;
  grad.min_inputs = grad.max_inputs = 2;
  grad.attrs = forward.attrs;
  grad.infer = GradInfer;
  grad.describe = GradDescribe;
  grad.build = GradBuild;
  return {forward, grad};
}

}  // namespace reprise
#endif  // HWY_ONCE
