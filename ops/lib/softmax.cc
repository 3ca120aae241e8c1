#include "ops/lib/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/autodiff.h"
#include "core/status_macros.h"
#include "ops/lib/broadcast.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/layout.h"
#include "ops/lib/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/lib/softmax.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

// One contiguous row of n >= 1 elements. The maximum is subtracted first: no
// exponential overflows.
void SoftmaxRow(const float* x, float* y, int64_t n, bool log) {
  const DF d;
  const float largest = MaxOf(n, x);
  const VF m = hn::Set(d, largest);
  if (log) {
    const float sum = SumOf(
        n, [m](DF d, VF v) HWY_ATTR { return Exp(d, hn::Sub(v, m)); }, x);
    HWY_ALIGN float lanes[kLanes];
    hn::Store(Log(d, hn::Set(d, sum)), d, lanes);
    const VF log_sum = hn::Set(d, lanes[0]);
    Map(
        n, y,
        [m, log_sum](DF, VF v)
            HWY_ATTR { return hn::Sub(hn::Sub(v, m), log_sum); },
        x);
    return;
  }
  Map(
      n, y, [m](DF d, VF v) HWY_ATTR { return Exp(d, hn::Sub(v, m)); }, x);
  const float sum = SumOf(
      n, [](DF, VF v) HWY_ATTR { return v; }, static_cast<const float*>(y));
  const VF factor = hn::Set(d, 1.0f / sum);
  Map(
      n, y, [factor](DF, VF v) HWY_ATTR { return hn::Mul(v, factor); },
      static_cast<const float*>(y));
}

// A row that is not a number, as one of masked entries alone is, and that
// nothing depends on has no gradient: 0, not 0 * NaN.
bool IsUnused(const float* y, const float* dy, int64_t n) {
  return std::isnan(y[0]) &&
         std::all_of(dy, dy + n, [](float v) { return v == 0; });
}

void SoftmaxGradRow(const float* y, const float* dy, float* dx, int64_t n,
                    bool log) {
  const DF d;
  if (IsUnused(y, dy, n)) {
    std::fill_n(dx, n, 0.0f);
    return;
  }
  if (log) {
    const VF sum = hn::Set(d, SumOf(
                                  n, [](DF, VF v) HWY_ATTR { return v; }, dy));
    Map(
        n, dx,
        [sum](DF d, VF y, VF dy)
            HWY_ATTR { return hn::NegMulAdd(Exp(d, y), sum, dy); },
        y, dy);
    return;
  }
  const VF dot = hn::Set(
      d,
      SumOf(
          n, [](DF, VF y, VF dy) HWY_ATTR { return hn::Mul(y, dy); }, y, dy));
  Map(
      n, dx,
      [dot](DF, VF y, VF dy) HWY_ATTR { return hn::Mul(y, hn::Sub(dy, dot)); },
      y, dy);
}

// Up to one vector of columns of n elements each, `stride` apart.
struct Columns {
  DF d;
  int64_t n;
  int64_t stride;
  int64_t width;  // columns, at most the lanes

  HWY_INLINE VF Load(const float* x, int64_t i) const {
    return width == static_cast<int64_t>(hn::Lanes(d))
               ? hn::LoadU(d, x + i * stride)
               : LoadPart(d, x + i * stride, width);
  }
  HWY_INLINE void Store(VF v, float* y, int64_t i) const {
    if (width == static_cast<int64_t>(hn::Lanes(d))) {
      hn::StoreU(v, d, y + i * stride);
    } else {
      StorePart(v, d, y + i * stride, width);
    }
  }
};

void SoftmaxVector(const Columns& c, const float* x, float* y, bool log) {
  const DF d = c.d;
  VF m = c.Load(x, 0);
  for (int64_t i = 1; i < c.n; ++i) {
    m = LargerOrNaN(m, c.Load(x, i));
  }
  VF sum = hn::Zero(d);
  for (int64_t i = 0; i < c.n; ++i) {
    const VF e = Exp(d, hn::Sub(c.Load(x, i), m));
    sum = hn::Add(sum, e);
    if (!log) c.Store(e, y, i);
  }
  if (log) {
    const VF log_sum = Log(d, sum);
    for (int64_t i = 0; i < c.n; ++i) {
      c.Store(hn::Sub(hn::Sub(c.Load(x, i), m), log_sum), y, i);
    }
  } else {
    const VF factor = hn::Div(hn::Set(d, 1.0f), sum);
    for (int64_t i = 0; i < c.n; ++i) {
      c.Store(hn::Mul(c.Load(y, i), factor), y, i);
    }
  }
}

void SoftmaxGradVector(const Columns& c, const float* y, const float* dy,
                       float* dx, bool log) {
  const DF d = c.d;
  VF sum = hn::Zero(d);
  for (int64_t i = 0; i < c.n; ++i) {
    sum = log ? hn::Add(sum, c.Load(dy, i))
              : hn::MulAdd(c.Load(y, i), c.Load(dy, i), sum);
  }
  const auto is_nan = hn::IsNaN(c.Load(y, 0));
  VF used = hn::Set(d, 1.0f);  // 0: as in IsUnused
  if (!hn::AllFalse(d, is_nan)) {
    VF largest = hn::Zero(d);
    for (int64_t i = 0; i < c.n; ++i) {
      largest = LargerOrNaN(largest, hn::Abs(c.Load(dy, i)));
    }
    used = hn::IfThenElse(is_nan, largest, used);
  }
  const auto is_unused = hn::Eq(used, hn::Zero(d));
  for (int64_t i = 0; i < c.n; ++i) {
    const VF vy = c.Load(y, i);
    const VF vdy = c.Load(dy, i);
    const VF vdx = log ? hn::NegMulAdd(Exp(d, vy), sum, vdy)
                       : hn::Mul(vy, hn::Sub(vdy, sum));
    c.Store(hn::IfThenZeroElse(is_unused, vdx), dx, i);
  }
}

// Columns [0, width) of n elements, `stride` apart.
void SoftmaxColumns(const float* x, float* y, int64_t n, int64_t stride,
                    int64_t width, bool log) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t j = 0; j < width; j += lanes) {
    SoftmaxVector({d, n, stride, std::min(lanes, width - j)}, x + j, y + j,
                  log);
  }
}

void SoftmaxGradColumns(const float* y, const float* dy, float* dx, int64_t n,
                        int64_t stride, int64_t width, bool log) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t j = 0; j < width; j += lanes) {
    SoftmaxGradVector({d, n, stride, std::min(lanes, width - j)}, y + j, dy + j,
                      dx + j, log);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(SoftmaxRow);
HWY_EXPORT(SoftmaxGradRow);
HWY_EXPORT(SoftmaxColumns);
HWY_EXPORT(SoftmaxGradColumns);

// The tensor as [outer, n, inner], in the order in which it lies in memory.
struct Shape {
  int64_t outer = 1;
  int64_t n = 1;
  int64_t inner = 1;
};

Shape ShapeOf(const Signature& s) {
  const TensorType& y = s.out[0];
  const int64_t given = s.attrs.Int("axis");
  const int64_t axis = given < 0 ? given + y.rank() : given;
  Shape shape;
  bool before = true;
  for (const int i : AxisOrder(s.out_layouts[0], y.rank())) {
    if (i == axis) {
      shape.n = y.dims[i];
      before = false;
    } else {
      (before ? shape.outer : shape.inner) *= y.dims[i];
    }
  }
  return shape;
}

// Calls row(offset) for each of the contiguous rows, or columns(offset, width)
// for blocks of neighbouring columns.
template <class Row, class Columns>
void ForEachVector(const Shape& shape, int threads, const Row& row,
                   const Columns& columns) {
  if (shape.outer * shape.n * shape.inner == 0) return;
  if (shape.inner == 1) {
    ParallelFor(threads, shape.outer, GrainOf(4 * shape.n),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) row(i * shape.n);
                });
    return;
  }
  constexpr int64_t kWidth = 64;
  const int64_t blocks = (shape.inner + kWidth - 1) / kWidth;
  ParallelFor(threads, shape.outer * blocks,
              GrainOf(4 * shape.n * std::min(kWidth, shape.inner)),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t first = i % blocks * kWidth;
                  columns(i / blocks * shape.n * shape.inner + first,
                          std::min(kWidth, shape.inner - first));
                }
              });
}

InferredTypes Infer(absl::string_view name, const OpArgs& args) {
  RETURN_IF_ERROR(RequireSameF32(name, args));
  if (args.in[0].rank() < 1) {
    return Invalid(name, ": rank must be at least 1, got ",
                   ToString(args.in[0]));
  }
  RETURN_IF_ERROR(
      NormalizeAxis(args.attrs.Int("axis"), args.in[0].rank(), name).status());
  return std::vector<TensorType>{args.in[0]};
}

// An exponential counts as 12 operations.
absl::StatusOr<Description> Describe(const Signature& offered, int64_t flops) {
  const Layout layout = CommonLayout(offered);
  Description d = DescribeRowMajor(
      offered, absl::StrCat("hwy:", absl::AsciiStrToLower(offered.op->name)),
      flops * offered.out[0].num_elements());
  for (size_t i = 0; i < offered.in.size(); ++i) {
    d.in_layouts[i] = layout;
    d.may_overwrite.push_back({static_cast<int>(i), 0});
  }
  d.out_layouts[0] = layout;
  return d;
}

Kernel BuildForward(const Signature& s, bool log, int threads) {
  const Shape shape = ShapeOf(s);
  return Kernel{[shape, log, threads](const Buffers& b) {
    const float* x = static_cast<const float*>(b.in[0]);
    float* y = static_cast<float*>(b.out[0]);
    ForEachVector(
        shape, threads,
        [&](int64_t at) {
          HWY_DYNAMIC_DISPATCH(SoftmaxRow)(x + at, y + at, shape.n, log);
        },
        [&](int64_t at, int64_t width) {
          HWY_DYNAMIC_DISPATCH(SoftmaxColumns)
          (x + at, y + at, shape.n, shape.inner, width, log);
        });
  }};
}

Kernel BuildGrad(const Signature& s, bool log, int threads) {
  const Shape shape = ShapeOf(s);
  return Kernel{[shape, log, threads](const Buffers& b) {
    const float* y = static_cast<const float*>(b.in[0]);
    const float* dy = static_cast<const float*>(b.in[1]);
    float* dx = static_cast<float*>(b.out[0]);
    ForEachVector(
        shape, threads,
        [&](int64_t at) {
          HWY_DYNAMIC_DISPATCH(SoftmaxGradRow)
          (y + at, dy + at, dx + at, shape.n, log);
        },
        [&](int64_t at, int64_t width) {
          HWY_DYNAMIC_DISPATCH(SoftmaxGradColumns)
          (y + at, dy + at, dx + at, shape.n, shape.inner, width, log);
        });
  }};
}

}  // namespace

std::vector<OpDef> SoftmaxLikeOps(const std::string& name, bool log) {
  OpDef op;
  op.name = name;
  op.attrs = {AttrSpec("axis", int64_t{-1})};
  op.infer = [name](const OpArgs& args) { return Infer(name, args); };
  op.grad = [name](GradBuilder& b) -> std::vector<ValueId> {
    if (!b.needs_grad(0)) return {kNoValue};
    return {b.Add(absl::StrCat(name, "Grad"), {b.out(0), b.out_grad(0)},
                  b.attrs())};
  };
  op.describe = [](const Signature& s, const OpEnv&) {
    return Describe(s, /*flops=*/16);
  };
  op.build = [log](const Signature& s,
                   const OpEnv& env) -> absl::StatusOr<Kernel> {
    return BuildForward(s, log, env.threads);
  };

  OpDef grad;
  grad.name = absl::StrCat(name, "Grad");
  grad.internal = true;
  grad.min_inputs = grad.max_inputs = 2;
  grad.attrs = op.attrs;
  grad.infer = [name = grad.name](const OpArgs& args) {
    return Infer(name, args);
  };
  grad.describe = [flops = log ? 15 : 4](const Signature& s, const OpEnv&) {
    return Describe(s, flops);
  };
  grad.build = [log](const Signature& s,
                     const OpEnv& env) -> absl::StatusOr<Kernel> {
    return BuildGrad(s, log, env.threads);
  };
  return {op, grad};
}

}  // namespace reprise
#endif  // HWY_ONCE
