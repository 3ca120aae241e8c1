#include "ops/lib/fold.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/lib/fold.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

// The sum of f(d, v) over a contiguous run.
template <class F>
HWY_INLINE double SumRunOf(const float* x, int64_t n, const F& f) {
  constexpr int64_t kBlock = 4096;
  double sum = 0;
  for (int64_t i = 0; i < n; i += kBlock) {
    sum += SumOf(std::min(kBlock, n - i), f, x + i);
  }
  return sum;
}

double SumRun(Fold fold, const float* x, int64_t n, float shift) {
  const DF d;
  switch (fold) {
    case Fold::kSumOfSquares:
      return SumRunOf(x, n, [](DF, VF v) HWY_ATTR { return hn::Mul(v, v); });
    case Fold::kSumOfMagnitudes:
      return SumRunOf(x, n, [](DF, VF v) HWY_ATTR { return hn::Abs(v); });
    case Fold::kSumOfExponentials: {
      const VF from = hn::Set(d, shift);
      return SumRunOf(
          x, n, [&](DF d, VF v) HWY_ATTR { return Exp(d, hn::Sub(v, from)); });
    }
    default:
      return SumRunOf(x, n, [](DF, VF v) HWY_ATTR { return v; });
  }
}

// The smaller of each pair, NaN if one is.
HWY_INLINE VF SmallerOrNaN(VF a, VF b) {
  return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), b, a);
}

float MaxRun(const float* x, int64_t n) { return MaxOf(n, x); }

// Returns the smallest of x[0, n), NaN if there is one; n >= 1.
float MinRun(const float* x, int64_t n) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  VF m = hn::Set(d, x[0]);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) m = SmallerOrNaN(m, hn::LoadU(d, x + i));
  if (i < n) {
    m = SmallerOrNaN(m, FirstOf(d, LoadPart(d, x + i, n - i), n - i, m));
  }
  if (!hn::AllFalse(d, hn::IsNaN(m))) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  return hn::GetLane(hn::MinOfLanes(d, m));
}

// total[j] += the sum of f(v, shift) over rows [0, rows).
template <class F>
HWY_INLINE void SumRowsOf(const float* x, int64_t rows, int64_t stride,
                          int64_t n, const float* shift, float* total,
                          const F& f) {
  // Rows that are added up before they join the total.
  constexpr int64_t kBlock = 64;
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto shift_at = [&](int64_t j) HWY_ATTR {
    return shift == nullptr ? hn::Zero(d) : hn::LoadU(d, shift + j);
  };
  for (int64_t row = 0; row < rows; row += kBlock) {
    const int64_t end = std::min(rows, row + kBlock);
    int64_t j = 0;
    for (; j + 4 * lanes <= n; j += 4 * lanes) {
      const VF f0 = shift_at(j);
      const VF f1 = shift_at(j + lanes);
      const VF f2 = shift_at(j + 2 * lanes);
      const VF f3 = shift_at(j + 3 * lanes);
      VF s0 = hn::Zero(d);
      VF s1 = hn::Zero(d);
      VF s2 = hn::Zero(d);
      VF s3 = hn::Zero(d);
      for (int64_t r = row; r < end; ++r) {
        const float* p = x + r * stride + j;
        s0 = hn::Add(s0, f(d, hn::LoadU(d, p), f0));
        s1 = hn::Add(s1, f(d, hn::LoadU(d, p + lanes), f1));
        s2 = hn::Add(s2, f(d, hn::LoadU(d, p + 2 * lanes), f2));
        s3 = hn::Add(s3, f(d, hn::LoadU(d, p + 3 * lanes), f3));
      }
      float* t = total + j;
      hn::StoreU(hn::Add(hn::LoadU(d, t), s0), d, t);
      hn::StoreU(hn::Add(hn::LoadU(d, t + lanes), s1), d, t + lanes);
      hn::StoreU(hn::Add(hn::LoadU(d, t + 2 * lanes), s2), d, t + 2 * lanes);
      hn::StoreU(hn::Add(hn::LoadU(d, t + 3 * lanes), s3), d, t + 3 * lanes);
    }
    for (; j + lanes <= n; j += lanes) {
      const VF f0 = shift_at(j);
      VF s = hn::Zero(d);
      for (int64_t r = row; r < end; ++r) {
        s = hn::Add(s, f(d, hn::LoadU(d, x + r * stride + j), f0));
      }
      hn::StoreU(hn::Add(hn::LoadU(d, total + j), s), d, total + j);
    }
    if (j < n) {
      const VF f0 =
          shift == nullptr ? hn::Zero(d) : LoadPart(d, shift + j, n - j);
      VF s = hn::Zero(d);
      for (int64_t r = row; r < end; ++r) {
        s = hn::Add(s, f(d, LoadPart(d, x + r * stride + j, n - j), f0));
      }
      StorePart(hn::Add(LoadPart(d, total + j, n - j), s), d, total + j, n - j);
    }
  }
}

// total[j] = f(total[j], x[r * stride + j]) over rows [0, rows).
template <class F>
HWY_INLINE void FoldEachRow(const float* x, int64_t rows, int64_t stride,
                            int64_t n, float* total, const F& f) {
  for (int64_t r = 0; r < rows; ++r) {
    Map(n, total, f, static_cast<const float*>(total), x + r * stride);
  }
}

void FoldRowsLoop(Fold fold, const float* x, int64_t rows, int64_t stride,
                  int64_t n, const float* shift, float* total) {
  switch (fold) {
    case Fold::kSum:
      return SumRowsOf(x, rows, stride, n, nullptr, total,
                       [](DF, VF v, VF) HWY_ATTR { return v; });
    case Fold::kSumOfSquares:
      return SumRowsOf(x, rows, stride, n, nullptr, total,
                       [](DF, VF v, VF) HWY_ATTR { return hn::Mul(v, v); });
    case Fold::kSumOfMagnitudes:
      return SumRowsOf(x, rows, stride, n, nullptr, total,
                       [](DF, VF v, VF) HWY_ATTR { return hn::Abs(v); });
    case Fold::kSumOfExponentials:
      return SumRowsOf(x, rows, stride, n, shift, total,
                       [](DF d, VF v, VF from)
                           HWY_ATTR { return Exp(d, hn::Sub(v, from)); });
    case Fold::kProduct:
      return FoldEachRow(x, rows, stride, n, total,
                         [](DF, VF a, VF b) HWY_ATTR { return hn::Mul(a, b); });
    case Fold::kMax:
      return FoldEachRow(x, rows, stride, n, total,
                         [](DF, VF a, VF b)
                             HWY_ATTR { return LargerOrNaN(a, b); });
    case Fold::kMin:
      return FoldEachRow(x, rows, stride, n, total,
                         [](DF, VF a, VF b)
                             HWY_ATTR { return SmallerOrNaN(a, b); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(SumRun);
HWY_EXPORT(MaxRun);
HWY_EXPORT(MinRun);
HWY_EXPORT(FoldRowsLoop);

// Four chains, so that multiplications overlap.
double ProductRun(const float* x, int64_t n) {
  double p0 = 1;
  double p1 = 1;
  double p2 = 1;
  double p3 = 1;
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    p0 *= x[i];
    p1 *= x[i + 1];
    p2 *= x[i + 2];
    p3 *= x[i + 3];
  }
  for (; i < n; ++i) p0 *= x[i];
  return (p0 * p1) * (p2 * p3);
}

}  // namespace

double FoldIdentity(Fold fold) {
  switch (fold) {
    case Fold::kProduct:
      return 1;
    case Fold::kMax:
      return -std::numeric_limits<double>::infinity();
    case Fold::kMin:
      return std::numeric_limits<double>::infinity();
    default:
      return 0;
  }
}

double CombineFolds(Fold fold, double a, double b) {
  switch (fold) {
    case Fold::kProduct:
      return a * b;
    case Fold::kMax:
      return b > a || std::isnan(b) ? b : a;
    case Fold::kMin:
      return b < a || std::isnan(b) ? b : a;
    default:
      return a + b;
  }
}

double FoldRun(Fold fold, const float* x, int64_t n, float shift) {
  if (n == 0) return FoldIdentity(fold);
  switch (fold) {
    case Fold::kProduct:
      return ProductRun(x, n);
    case Fold::kMax:
      return HWY_DYNAMIC_DISPATCH(MaxRun)(x, n);
    case Fold::kMin:
      return HWY_DYNAMIC_DISPATCH(MinRun)(x, n);
    default:
      return HWY_DYNAMIC_DISPATCH(SumRun)(fold, x, n, shift);
  }
}

void FoldRows(Fold fold, const float* x, int64_t rows, int64_t stride,
              int64_t n, const float* shift, float* total) {
  HWY_DYNAMIC_DISPATCH(FoldRowsLoop)(fold, x, rows, stride, n, shift, total);
}

void FoldTotals(Fold fold, const float* totals, int64_t rows, int64_t n,
                float* total) {
  const bool is_sum =
      fold != Fold::kProduct && fold != Fold::kMax && fold != Fold::kMin;
  FoldRows(is_sum ? Fold::kSum : fold, totals, rows, n, n, nullptr, total);
}

}  // namespace reprise
#endif  // HWY_ONCE
