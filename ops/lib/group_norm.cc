#include "ops/lib/group_norm.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/autodiff.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"
#include "ops/lib/simd.h"

#ifndef OPS_LIB_GROUP_NORM_SHAPE_
#define OPS_LIB_GROUP_NORM_SHAPE_
namespace reprise {
namespace {

// x as [rows, channels, n]: a row is a group of an image.
struct GroupShape {
  int64_t rows = 0;
  int64_t groups = 1;    // rows of an image
  int64_t channels = 1;  // of a group
  int64_t n = 0;         // positions

  double size() const { return static_cast<double>(channels * n); }
};

// Operands of the gradient; nullptr: absent, or not wanted.
struct GroupNormGrads {
  const float* dy = nullptr;
  const float* x = nullptr;
  const float* scale = nullptr;
  const float* mean = nullptr;
  const float* inverse = nullptr;
  float* dx = nullptr;
};

}  // namespace
}  // namespace reprise
#endif  // OPS_LIB_GROUP_NORM_SHAPE_

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/lib/group_norm.cc"
#include "hwy/foreach_target.h"  // after simd.h
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

// Sums of f over long runs: blocks are added in double.
template <class F, class... Xs>
HWY_INLINE double LongSumOf(int64_t n, const F& f, Xs... xs) {
  constexpr int64_t kBlock = 4096;
  double sum = 0;
  for (int64_t i = 0; i < n; i += kBlock) {
    sum += SumOf(std::min(kBlock, n - i), f, (xs + i)...);
  }
  return sum;
}

// `y` may be `x`.
void GroupNormLoop(const GroupShape& shape, const float* x, const float* scale,
                   const float* b, float epsilon, float* y, float* means,
                   float* inverses, int64_t begin, int64_t end) {
  const DF d;
  const int64_t size = shape.channels * shape.n;
  for (int64_t row = begin; row < end; ++row) {
    const float* x_row = x + row * size;
    float* y_row = y + row * size;
    const float mean = static_cast<float>(
        LongSumOf(
            size, [](DF, VF v) HWY_ATTR { return v; }, x_row) /
        shape.size());
    const VF shift = hn::Set(d, mean);
    const double squares = LongSumOf(
        size,
        [&](DF, VF v) HWY_ATTR {
          const VF centered = hn::Sub(v, shift);
          return hn::Mul(centered, centered);
        },
        x_row);
    const float inverse =
        static_cast<float>(1 / std::sqrt(squares / shape.size() + epsilon));
    if (means != nullptr) means[row] = mean;
    if (inverses != nullptr) inverses[row] = inverse;
    const int64_t first = row % shape.groups * shape.channels;
    for (int64_t c = 0; c < shape.channels; ++c) {
      const VF factor = hn::Set(d, inverse * scale[first + c]);
      const VF offset = hn::Set(d, b[first + c]);
      Map(
          shape.n, y_row + c * shape.n,
          [&](DF, VF v) HWY_ATTR {
            return hn::MulAdd(hn::Sub(v, shift), factor, offset);
          },
          x_row + c * shape.n);
    }
  }
}

// Writes dx, and each channel's sums of dy and dy xhat to
// sums[2 (row channels + c)] and the element after it.
void GroupNormGradLoop(const GroupShape& shape, const GroupNormGrads& o,
                       float* sums, int64_t begin, int64_t end) {
  const DF d;
  const int64_t n = shape.n;
  for (int64_t row = begin; row < end; ++row) {
    const VF mean = hn::Set(d, o.mean[row]);
    const VF inverse = hn::Set(d, o.inverse[row]);
    const auto xhat_of = [&](VF v) HWY_ATTR {
      return hn::Mul(hn::Sub(v, mean), inverse);
    };
    const int64_t first = row % shape.groups * shape.channels;
    double h_mean = 0;
    double h_xhat_mean = 0;
    for (int64_t c = 0; c < shape.channels; ++c) {
      const int64_t channel = row * shape.channels + c;
      const float* dy = o.dy + channel * n;
      const double sum = LongSumOf(
          n, [](DF, VF v) HWY_ATTR { return v; }, dy);
      const double product_sum = LongSumOf(
          n,
          [&](DF, VF dy_i, VF x_i)
              HWY_ATTR { return hn::Mul(dy_i, xhat_of(x_i)); },
          dy, o.x + channel * n);
      sums[2 * channel] = static_cast<float>(sum);
      sums[2 * channel + 1] = static_cast<float>(product_sum);
      h_mean += o.scale[first + c] * sum;
      h_xhat_mean += o.scale[first + c] * product_sum;
    }
    if (o.dx == nullptr) continue;
    const VF shift = hn::Set(d, static_cast<float>(h_mean / shape.size()));
    const VF slope = hn::Set(d, static_cast<float>(h_xhat_mean / shape.size()));
    for (int64_t c = 0; c < shape.channels; ++c) {
      const int64_t at = (row * shape.channels + c) * n;
      const VF scale = hn::Set(d, o.scale[first + c]);
      Map(
          n, o.dx + at,
          [&](DF, VF dy_i, VF x_i) HWY_ATTR {
            const VF h = hn::Sub(hn::Mul(dy_i, scale), shift);
            return hn::Mul(inverse, hn::NegMulAdd(xhat_of(x_i), slope, h));
          },
          o.dy + at, o.x + at);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {

HWY_EXPORT(GroupNormLoop);
HWY_EXPORT(GroupNormGradLoop);

namespace {

// The gradient's attribute: how many groups an image has.
constexpr char kGroups[] = "groups";

GroupShape ShapeOf(const TensorType& x, int64_t groups) {
  GroupShape shape;
  shape.groups = groups;
  shape.channels = groups == 0 ? 0 : x.dims[1] / groups;
  shape.rows = x.dims[0] * groups;
  shape.n = Product(absl::MakeConstSpan(x.dims).subspan(2));
  return shape;
}

using Groups =
    std::function<absl::StatusOr<int64_t>(const TensorType& x, const Attrs&)>;

InferredTypes Infer(const std::string& name, const Groups& groups,
                    const OpArgs& args) {
  const TensorType& x = args.in[0];
  RETURN_IF_ERROR(RequireF32(name, "x", x));
  if (x.rank() < 2) {
    return Invalid(name, ": x must be [n, c, ..], got ", ToString(x));
  }
  const TensorType channel = {DType::kF32, {x.dims[1]}};
  for (int i = 1; i < 3; ++i) {
    if (args.in[i] != channel) {
      return Invalid(name, ": scale and b must be ", ToString(channel),
                     ", got ", ToString(args.in[i]));
    }
  }
  ASSIGN_OR_RETURN(const int64_t count, groups(x, args.attrs));
  const TensorType statistics = {DType::kF32, {x.dims[0], count}};
  return std::vector<TensorType>{x, statistics, statistics};
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  Description d = DescribeRowMajor(offered, "hwy:group_norm",
                                   8 * offered.in[0].num_elements());
  AllowOverwrite({0}, d);
  return d;
}

float* OutputOr(const Buffers& buffers, size_t i, size_t count) {
  return i < count ? static_cast<float*>(buffers.out[i]) : nullptr;
}

absl::StatusOr<Kernel> Build(const Signature& s, int64_t groups,
                             const OpEnv& env) {
  const GroupShape shape = ShapeOf(s.in[0], groups);
  const float epsilon = s.attrs.Float("epsilon");
  const size_t num_outputs = s.out.size();
  const int threads = env.threads;
  return Kernel{[=](const Buffers& buffers) {
    const auto in = [&](int i) {
      return static_cast<const float*>(buffers.in[i]);
    };
    // Groups without elements have statistics too: NaN.
    ParallelFor(threads, shape.rows, GrainOf(shape.channels * shape.n),
                [&](int64_t begin, int64_t end) {
                  HWY_DYNAMIC_DISPATCH(GroupNormLoop)
                  (shape, in(0), in(1), in(2), epsilon,
                   OutputOr(buffers, 0, num_outputs),
                   OutputOr(buffers, 1, num_outputs),
                   OutputOr(buffers, 2, num_outputs), begin, end);
                });
  }};
}

// The gradient of (dy, x, scale, mean, inv): dx, dscale, db.

InferredTypes GradInfer(const OpArgs& args) {
  return std::vector<TensorType>{args.in[1], args.in[2], args.in[2]};
}

absl::StatusOr<Description> GradDescribe(const Signature& offered,
                                         const OpEnv&) {
  Description d = DescribeRowMajor(offered, "hwy:group_norm_grad",
                                   12 * offered.in[1].num_elements());
  // A group's sums come first; then dy and x of an element are read before its
  // dx is written.
  if (offered.out[0].present()) AllowOverwrite({0, 1}, d);
  d.scratchpad_bytes = 2 * offered.in[1].dims[0] * offered.in[1].dims[1] *
                       static_cast<int64_t>(sizeof(float));
  return d;
}

// total[c] = the sum over images of sums[2 (image channels + c)].
void AddImages(const float* sums, int64_t images, int64_t channels,
               float* total) {
  if (total == nullptr) return;
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (int64_t i = 0; i < images; ++i) sum += sums[2 * (i * channels + c)];
    total[c] = static_cast<float>(sum);
  }
}

absl::StatusOr<Kernel> GradBuild(const Signature& s, const OpEnv& env) {
  const GroupShape shape = ShapeOf(s.in[1], s.attrs.Int(kGroups));
  const int64_t images = s.in[1].dims[0];
  const int64_t channels = s.in[1].dims[1];
  const size_t num_outputs = s.out.size();
  const int threads = env.threads;
  return Kernel{[=](const Buffers& buffers) {
    const auto in = [&](int i) {
      return static_cast<const float*>(buffers.in[i]);
    };
    if (channels == 0) return;
    const GroupNormGrads operands = {
        in(0), in(1), in(2), in(3), in(4), OutputOr(buffers, 0, num_outputs)};
    float* sums = static_cast<float*>(buffers.scratchpad);
    ParallelFor(threads, shape.rows, GrainOf(2 * shape.channels * shape.n),
                [&](int64_t begin, int64_t end) {
                  HWY_DYNAMIC_DISPATCH(GroupNormGradLoop)
                  (shape, operands, sums, begin, end);
                });
    AddImages(sums + 1, images, channels, OutputOr(buffers, 1, num_outputs));
    AddImages(sums, images, channels, OutputOr(buffers, 2, num_outputs));
  }};
}

}  // namespace

std::vector<OpDef> GroupNormOps(const std::string& name,
                                std::vector<AttrSpec> attrs, Groups groups) {
  const std::string grad_name = absl::StrCat(name, "Grad");
  OpDef forward;
  forward.name = name;
  forward.min_inputs = forward.max_inputs = 3;
  // Files cannot name the statistics.
  forward.max_outputs = 1;
  forward.first_statistic = 1;
  forward.attrs = std::move(attrs);
  forward.attrs.emplace_back("epsilon", 1e-5f);
  forward.infer = [name, groups](const OpArgs& args) {
    return Infer(name, groups, args);
  };
  forward.grad = [grad_name, groups](GradBuilder& b) {
    std::vector<ValueId> grads(3, kNoValue);
    const absl::StatusOr<int64_t> count = groups(b.type(b.in(0)), b.attrs());
    const ValueId mean = b.out(1);
    const ValueId inverse = b.out(2);
    const std::vector<ValueId> outs =
        b.AddMany(grad_name, {b.out_grad(0), b.in(0), b.in(1), mean, inverse},
                  {{kGroups, *count}}, 3);
    for (int i = 0; i < 3; ++i) {
      if (b.needs_grad(i)) grads[i] = outs[i];
    }
    return grads;
  };
  forward.describe = Describe;
  forward.build = [groups](const Signature& s,
                           const OpEnv& env) -> absl::StatusOr<Kernel> {
    ASSIGN_OR_RETURN(const int64_t count, groups(s.in[0], s.attrs));
    return Build(s, count, env);
  };

  OpDef grad;
  grad.name = grad_name;
  grad.internal = true;
  grad.min_inputs = grad.max_inputs = 5;
  grad.max_outputs = 3;
  grad.attrs = {AttrSpec(kGroups, AttrKind::kInt, AttrSpec::kRequired)};
  grad.infer = GradInfer;
  grad.describe = GradDescribe;
  grad.build = GradBuild;
  return {forward, grad};
}

}  // namespace reprise
#endif  // HWY_ONCE
