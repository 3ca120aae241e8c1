// Loops and elementary functions over Highway vectors; compiled once per
// instruction set (simd.h says how). No include guard in the usual sense.

#if defined(OPS_LIB_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPS_LIB_SIMD_INL_H_
#undef OPS_LIB_SIMD_INL_H_
#else
#define OPS_LIB_SIMD_INL_H_
#endif

#include <cstdint>
#include <cstring>
#include <limits>

#include "hwy/highway.h"
#include "ops/lib/broadcast.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
using DI = hn::RebindToSigned<DF>;

// Elements of a stack buffer that holds one vector.
inline constexpr int64_t kLanes = HWY_MAX_BYTES / sizeof(float);

// Whether masked loads and stores touch nothing beyond their lanes.
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
#define REPRISE_EXACT_MASKS 1
#else
#define REPRISE_EXACT_MASKS 0
#endif

// Loads the n < Lanes elements at `x`; zeros beyond.
HWY_INLINE VF LoadPart(DF d, const float* x, int64_t n) {
#if REPRISE_EXACT_MASKS
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, x);
#else
  HWY_ALIGN float part[kLanes] = {};
  std::memcpy(part, x, static_cast<size_t>(n) * sizeof(float));
  return hn::Load(d, part);
#endif
}

// Stores the first n < Lanes elements of `v`.
HWY_INLINE void StorePart(VF v, DF d, float* y, int64_t n) {
#if REPRISE_EXACT_MASKS
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, y);
#else
  HWY_ALIGN float part[kLanes];
  hn::Store(v, d, part);
  std::memcpy(y, part, static_cast<size_t>(n) * sizeof(float));
#endif
}

#undef REPRISE_EXACT_MASKS

// The first n < Lanes elements of `v`, `rest` beyond.
HWY_INLINE VF FirstOf(DF d, VF v, int64_t n, VF rest) {
  return hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(n)), v, rest);
}

// An operand of Map that has one element for all.
struct Broadcast {
  const float* value;
};

HWY_INLINE VF LoadAt(DF d, const float* x, int64_t i) {
  return hn::LoadU(d, x + i);
}
HWY_INLINE VF LoadAt(DF, VF x, int64_t) { return x; }
HWY_INLINE VF LoadPartAt(DF d, const float* x, int64_t i, int64_t n) {
  return LoadPart(d, x + i, n);
}
HWY_INLINE VF LoadPartAt(DF, VF x, int64_t, int64_t) { return x; }

HWY_INLINE const float* Prepare(DF, const float* x) { return x; }
HWY_INLINE VF Prepare(DF d, Broadcast x) { return hn::Set(d, *x.value); }

template <class F, class... Xs>
HWY_INLINE void MapPrepared(DF d, int64_t n, float* y, const F& f, Xs... xs) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(f(d, LoadAt(d, xs, i)...), d, y + i);
  }
  if (i < n) {
    StorePart(f(d, LoadPartAt(d, xs, i, n - i)...), d, y + i, n - i);
  }
}

// y[i] = f(d, x[i]...) for i in [0, n). An x is a `const float*`, which may be
// y itself, or a Broadcast.
template <class F, class... Xs>
HWY_INLINE void Map(int64_t n, float* y, const F& f, Xs... xs) {
  const DF d;
  MapPrepared(d, n, y, f, Prepare(d, xs)...);
}

// A row of a binary operator with broadcasting (ops/lib/broadcast.h).
template <class F>
HWY_INLINE void MapRow(RowKind kind, const void* a, const void* b, void* y,
                       int64_t n, const F& f) {
  const float* pa = static_cast<const float*>(a);
  const float* pb = static_cast<const float*>(b);
  float* py = static_cast<float*>(y);
  switch (kind) {
    case RowKind::kBoth:
      return Map(n, py, f, pa, pb);
    case RowKind::kScalarA:
      return Map(n, py, f, Broadcast{pa}, pb);
    case RowKind::kScalarB:
      return Map(n, py, f, pa, Broadcast{pb});
  }
}

// Elements of a BOOL tensor as a mask of as many lanes.
using DU8 = hn::Rebind<uint8_t, DI>;

// Loads the mask of n <= Lanes elements, each 0 or 1; false beyond.
HWY_INLINE hn::Mask<DF> LoadMask(DF d, const uint8_t* x, int64_t n) {
  const DI di;
  const DU8 du;
  if (n < static_cast<int64_t>(hn::Lanes(d))) {
    HWY_ALIGN uint8_t part[kLanes] = {};
    std::memcpy(part, x, static_cast<size_t>(n));
    return hn::RebindMask(
        d, hn::Gt(hn::PromoteTo(di, hn::Load(du, part)), hn::Zero(di)));
  }
  return hn::RebindMask(
      d, hn::Gt(hn::PromoteTo(di, hn::LoadU(du, x)), hn::Zero(di)));
}

// Stores the first n <= Lanes elements of a mask as bytes 0 or 1.
HWY_INLINE void StoreMask(hn::Mask<DF> mask, DF d, uint8_t* y, int64_t n) {
  const DI di;
  const DU8 du;
  const auto ones =
      hn::IfThenElseZero(hn::RebindMask(di, mask), hn::Set(di, 1));
  const auto bytes = hn::DemoteTo(du, ones);
  if (n < static_cast<int64_t>(hn::Lanes(d))) {
    HWY_ALIGN uint8_t part[kLanes];
    hn::Store(bytes, du, part);
    std::memcpy(y, part, static_cast<size_t>(n));
    return;
  }
  hn::StoreU(bytes, du, y);
}

// y[i] = f(d, x[i]...), a mask, for i in [0, n); operands as in Map.
template <class F, class... Xs>
HWY_INLINE void MapToMaskPrepared(DF d, int64_t n, uint8_t* y, const F& f,
                                  Xs... xs) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    StoreMask(f(d, LoadAt(d, xs, i)...), d, y + i, lanes);
  }
  if (i < n) {
    StoreMask(f(d, LoadPartAt(d, xs, i, n - i)...), d, y + i, n - i);
  }
}
template <class F, class... Xs>
HWY_INLINE void MapToMask(int64_t n, uint8_t* y, const F& f, Xs... xs) {
  const DF d;
  MapToMaskPrepared(d, n, y, f, Prepare(d, xs)...);
}

// Returns the value of the sum of f(d, x[i]...) over [0, n), always added in
// the same order: four running sums, the remainder to one of them, the lanes.
template <class F, class... Xs>
HWY_INLINE float SumOf(int64_t n, const F& f, Xs... xs) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  VF s0 = hn::Zero(d);
  VF s1 = hn::Zero(d);
  VF s2 = hn::Zero(d);
  VF s3 = hn::Zero(d);
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = hn::Add(s0, f(d, LoadAt(d, xs, i)...));
    s1 = hn::Add(s1, f(d, LoadAt(d, xs, i + lanes)...));
    s2 = hn::Add(s2, f(d, LoadAt(d, xs, i + 2 * lanes)...));
    s3 = hn::Add(s3, f(d, LoadAt(d, xs, i + 3 * lanes)...));
  }
  for (; i + lanes <= n; i += lanes) {
    s0 = hn::Add(s0, f(d, LoadAt(d, xs, i)...));
  }
  if (i < n) {
    const VF part = f(d, LoadPartAt(d, xs, i, n - i)...);
    s1 = hn::Add(s1, FirstOf(d, part, n - i, hn::Zero(d)));
  }
  const VF sum = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// The larger of each pair, NaN if one is. (Not by hn::Ne(b, b): on some
// instruction sets that is false for NaN.)
HWY_INLINE VF LargerOrNaN(VF a, VF b) {
  return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
}

// Returns the largest of x[0, n), NaN if there is one; n >= 1.
HWY_INLINE float MaxOf(int64_t n, const float* x) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  VF m = hn::Set(d, x[0]);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) m = LargerOrNaN(m, hn::LoadU(d, x + i));
  if (i < n) {
    m = LargerOrNaN(m, FirstOf(d, LoadPart(d, x + i, n - i), n - i, m));
  }
  if (!hn::AllFalse(d, hn::IsNaN(m))) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  return hn::GetLane(hn::MaxOfLanes(d, m));
}

// min(max(x, low), high); NaN stays NaN.
HWY_INLINE VF CutTo(VF x, VF low, VF high) {
  const VF raised = hn::IfThenElse(hn::Lt(x, low), low, x);
  return hn::IfThenElse(hn::Gt(raised, high), high, raised);
}

// e^x with an error of about 1 unit in the last place. Overflows to infinity,
// underflows to zero, keeps NaN.
//
// With k = round(x / ln 2) and r = x - k ln 2, |r| <= 0.347: e^x = 2^k e^r, and
// the Taylor terms of e^r beyond r^7 stay below 1e-8 of it.
HWY_INLINE VF Exp(DF d, VF x) {
  const DI di;
  const VF clamped =
      hn::Min(hn::Max(x, hn::Set(d, -104.0f)), hn::Set(d, 89.0f));
  const VF k = hn::Round(hn::Mul(clamped, hn::Set(d, 1.44269504f)));
  // ln 2 in two parts; k times the first is exact.
  VF r = hn::NegMulAdd(k, hn::Set(d, 0.693359375f), clamped);
  r = hn::NegMulAdd(k, hn::Set(d, -2.12194440e-4f), r);
  VF p = hn::Set(d, 1.0f / 5040);
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 720));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 120));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 24));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 6));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5f));
  p = hn::Add(hn::MulAdd(p, hn::Mul(r, r), r), hn::Set(d, 1.0f));
  // 2^k in two factors, as 2^128 and 2^-149 have no float of the usual form.
  const auto exponent = hn::ConvertTo(di, k);
  const auto half = hn::ShiftRight<1>(exponent);
  const auto bias = hn::Set(di, 127);
  const VF scale0 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const VF scale1 =
      hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(exponent, half), bias)));
  const VF y = hn::Mul(hn::Mul(p, scale0), scale1);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// ln x, -inf at 0, NaN below.
//
// With x = 2^e m, m in [sqrt(1/2), sqrt 2), f = m - 1 and s = f / (2 + f):
// ln m = 2 atanh(s) = f - f^2/2 + s (f^2/2 + R), R = 2s^2/3 + 2s^4/5 + ...;
// |s| < 0.172, so the terms beyond s^8 stay below 1e-9.
HWY_INLINE VF Log(DF d, VF x) {
  const DI di;
  const VF one = hn::Set(d, 1.0f);
  // Subtracting the bits of sqrt(1/2) leaves the exponent of x / sqrt(1/2).
  const auto bits = hn::BitCast(di, x);
  const auto offset = hn::Sub(bits, hn::Set(di, 0x3f3504f3));
  const auto exponent = hn::ShiftRight<23>(offset);
  const VF m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent)));
  const VF e = hn::ConvertTo(d, exponent);
  const VF f = hn::Sub(m, one);
  const VF s = hn::Div(f, hn::Add(hn::Set(d, 2.0f), f));
  const VF z = hn::Mul(s, s);
  VF r = hn::Set(d, 2.0f / 9);
  r = hn::MulAdd(r, z, hn::Set(d, 2.0f / 7));
  r = hn::MulAdd(r, z, hn::Set(d, 2.0f / 5));
  r = hn::MulAdd(r, z, hn::Set(d, 2.0f / 3));
  r = hn::Mul(r, z);
  const VF half_square = hn::Mul(hn::Mul(f, f), hn::Set(d, 0.5f));
  const VF small = hn::MulAdd(s, hn::Add(half_square, r),
                              hn::Mul(e, hn::Set(d, -2.12194440e-4f)));
  const VF y = hn::MulAdd(e, hn::Set(d, 0.693359375f),
                          hn::Sub(f, hn::Sub(half_square, small)));
  const VF infinity = hn::BitCast(d, hn::Set(di, 0x7f800000));
  const VF nan = hn::BitCast(d, hn::Set(di, 0x7fc00000));
  const VF zero = hn::Zero(d);
  // What the formula does not cover: inf and NaN stay, 0 and below.
  VF result = hn::IfThenElse(hn::Lt(x, infinity), y, x);
  result = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), result);
  return hn::IfThenElse(hn::Lt(x, zero), nan, result);
}

// tanh x: near 0 by a convergent of Lambert's continued fraction
// x/(1 + x^2/(3 + x^2/(5 + ...))), elsewhere 1 - 2/(e^2|x| + 1).
HWY_INLINE VF Tanh(DF d, VF x) {
  const VF one = hn::Set(d, 1.0f);
  const VF z = hn::Mul(x, x);
  VF p = hn::MulAdd(z, hn::Set(d, 21.0f), hn::Set(d, 1260.0f));
  p = hn::MulAdd(p, z, hn::Set(d, 10395.0f));
  VF q = hn::Add(z, hn::Set(d, 210.0f));
  q = hn::MulAdd(q, z, hn::Set(d, 4725.0f));
  q = hn::MulAdd(q, z, hn::Set(d, 10395.0f));
  const VF small = hn::Div(hn::Mul(x, p), q);
  const VF magnitude = hn::Abs(x);
  const VF e = Exp(d, hn::Add(magnitude, magnitude));
  const VF large = hn::CopySignToAbs(
      hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(e, one))), x);
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.625f)), small, large);
}

// e^x - 1. Near 0, with t = tanh(x / 2): 2 t / (1 - t).
HWY_INLINE VF Expm1(DF d, VF x) {
  const VF one = hn::Set(d, 1.0f);
  const VF t = Tanh(d, hn::Mul(x, hn::Set(d, 0.5f)));
  const VF small = hn::Div(hn::Add(t, t), hn::Sub(one, t));
  const VF large = hn::Sub(Exp(d, x), one);
  return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, 0.5f)), small, large);
}

// 1 / (1 + e^-x).
HWY_INLINE VF Sigmoid(DF d, VF x) {
  const VF one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, Exp(d, hn::Neg(x))));
}

// The distribution function of the standard normal, and its density.
struct Normal {
  VF distribution;
  VF density;
};

// Phi(x) = erfc(-x / sqrt 2) / 2. With z = |x| / sqrt 2 and t = 1/(1 + 0.3 z),
// erfc(z) e^(z^2) / t is a smooth function of t on (0, 1]: a polynomial through
// its values at 9 Chebyshev nodes for z in [0, 10] is within 2.5e-8 of it.
HWY_INLINE Normal NormalOf(DF d, VF x) {
  const VF one = hn::Set(d, 1.0f);
  const VF z = hn::Mul(hn::Abs(x), hn::Set(d, 0.707106781f));
  const VF t = hn::Div(one, hn::MulAdd(z, hn::Set(d, 0.3f), one));
  const VF e = Exp(d, hn::Mul(hn::Mul(x, x), hn::Set(d, -0.5f)));
  VF p = hn::Set(d, -0.130770877f);
  p = hn::MulAdd(p, t, hn::Set(d, 0.491934271f));
  p = hn::MulAdd(p, t, hn::Set(d, -0.526151663f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.564514242f));
  p = hn::MulAdd(p, t, hn::Set(d, -0.106983362f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.220539169f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.146796022f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.17094912f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.169173058f));
  const VF tail = hn::Mul(hn::Mul(hn::Mul(p, t), e), hn::Set(d, 0.5f));
  Normal normal;
  normal.distribution =
      hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail));
  normal.density = hn::Mul(e, hn::Set(d, 0.398942280f));  // 1 / sqrt(2 pi)
  return normal;
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#endif  // OPS_LIB_SIMD_INL_H_
