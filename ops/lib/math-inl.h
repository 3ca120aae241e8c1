// Further elementary functions over Highway vectors; compiled once per
// instruction set (simd.h says how). No include guard in the usual sense.

#if defined(OPS_LIB_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPS_LIB_MATH_INL_H_
#undef OPS_LIB_MATH_INL_H_
#else
#define OPS_LIB_MATH_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include "hwy/contrib/math/math-inl.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

// `y`, but NaN where x is.
HWY_INLINE VF KeepNan(VF x, VF y) { return hn::IfThenElse(hn::IsNaN(x), x, y); }

// `y`, but NaN where |x| > bound.
HWY_INLINE VF Outside(DF d, VF x, float bound, VF y) {
  const VF nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  return hn::IfThenElse(hn::Le(hn::Abs(x), hn::Set(d, bound)), y, nan);
}

// Replaces the lanes of `y` whose |x| is not below `limit` by f(x) in double.
template <class F>
HWY_INLINE VF BeyondLimit(DF d, VF x, float limit, VF y, const F& f) {
  if (hn::AllTrue(d, hn::Lt(hn::Abs(x), hn::Set(d, limit)))) return y;
  HWY_ALIGN float in[kLanes];
  HWY_ALIGN float out[kLanes];
  hn::Store(x, d, in);
  hn::Store(y, d, out);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    if (!(std::abs(in[i]) < limit)) {
      out[i] = static_cast<float>(f(static_cast<double>(in[i])));
    }
  }
  return hn::Load(d, out);
}

// Up to here Highway's sine and cosine reduce their argument exactly enough.
inline constexpr float kSineLimit = 30000.0f;

HWY_INLINE VF Sine(DF d, VF x) {
  return BeyondLimit(d, x, kSineLimit, hn::Sin(d, x),
                     [](double v) { return std::sin(v); });
}

HWY_INLINE VF Cosine(DF d, VF x) {
  return BeyondLimit(d, x, kSineLimit, hn::Cos(d, x),
                     [](double v) { return std::cos(v); });
}

// e^|x| / 2 as a product of two halves: neither overflows before it does.
struct HalfExponential {
  VF root;  // e^(|x| / 2)
  VF value;
};
HWY_INLINE HalfExponential HalfExponentialOf(DF d, VF x) {
  const VF half = hn::Set(d, 0.5f);
  HalfExponential e;
  e.root = Exp(d, hn::Mul(hn::Abs(x), half));
  e.value = hn::Mul(hn::Mul(e.root, half), e.root);
  return e;
}

// sinh x: near 0, with t = e^|x| - 1, (t + t / (t + 1)) / 2.
HWY_INLINE VF SineHyperbolic(DF d, VF x) {
  const VF half = hn::Set(d, 0.5f);
  const VF one = hn::Set(d, 1.0f);
  const VF magnitude = hn::Abs(x);
  const VF t = Expm1(d, hn::Min(magnitude, one));
  const VF small = hn::Mul(half, hn::Add(t, hn::Div(t, hn::Add(t, one))));
  const HalfExponential e = HalfExponentialOf(d, x);
  const VF large = hn::Sub(e.value, hn::Div(half, hn::Mul(e.root, e.root)));
  const VF y = hn::IfThenElse(hn::Lt(magnitude, one), small, large);
  return KeepNan(x, hn::CopySignToAbs(y, x));
}

HWY_INLINE VF CosineHyperbolic(DF d, VF x) {
  const HalfExponential e = HalfExponentialOf(d, x);
  return KeepNan(
      x, hn::Add(e.value, hn::Div(hn::Set(d, 0.5f), hn::Mul(e.root, e.root))));
}

// ln(1 + x) for x in [0, 1]: 2 atanh(s) with s = x / (2 + x) <= 1/3; the terms
// beyond s^15 stay below 1e-9.
HWY_INLINE VF Log1pOfUnit(DF d, VF x) {
  const VF s = hn::Div(x, hn::Add(hn::Set(d, 2.0f), x));
  const VF z = hn::Mul(s, s);
  VF p = hn::Set(d, 2.0f / 15);
  p = hn::MulAdd(p, z, hn::Set(d, 2.0f / 13));
  p = hn::MulAdd(p, z, hn::Set(d, 2.0f / 11));
  p = hn::MulAdd(p, z, hn::Set(d, 2.0f / 9));
  p = hn::MulAdd(p, z, hn::Set(d, 2.0f / 7));
  p = hn::MulAdd(p, z, hn::Set(d, 2.0f / 5));
  p = hn::MulAdd(p, z, hn::Set(d, 2.0f / 3));
  return hn::MulAdd(hn::Mul(p, z), s, hn::Add(s, s));
}

// ln(1 + e^x).
HWY_INLINE VF Softplus(DF d, VF x) {
  const VF tail = Log1pOfUnit(d, Exp(d, hn::Neg(hn::Abs(x))));
  const VF above = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
  return hn::Add(above, tail);
}

// ln(1 + x) for x >= 0.
HWY_INLINE VF Log1pOf(DF d, VF x) {
  const VF one = hn::Set(d, 1.0f);
  const VF small = Log1pOfUnit(d, hn::Min(x, one));
  return hn::IfThenElse(hn::Lt(x, one), small, Log(d, hn::Add(x, one)));
}

// From here on x^2 + 1 is x^2, and might overflow.
inline constexpr float kSquareLimit = 1e5f;

// asinh |x| = ln(1 + |x| + x^2 / (1 + sqrt(x^2 + 1))); ln(2 |x|) far out.
HWY_INLINE VF SineHyperbolicInverse(DF d, VF x) {
  const VF one = hn::Set(d, 1.0f);
  const VF magnitude = hn::Abs(x);
  const VF limit = hn::Set(d, kSquareLimit);
  const VF near = hn::Min(magnitude, limit);
  const VF square = hn::Mul(near, near);
  const VF root = hn::Sqrt(hn::Add(square, one));
  const VF small =
      Log1pOf(d, hn::Add(near, hn::Div(square, hn::Add(one, root))));
  const VF large = hn::Add(Log(d, magnitude), hn::Set(d, 0.693147181f));
  const VF y = hn::IfThenElse(hn::Lt(magnitude, limit), small, large);
  return KeepNan(x, hn::CopySignToAbs(y, x));
}

// acosh x = ln(1 + t + sqrt(t (t + 2))) with t = x - 1; ln(2 x) far out.
HWY_INLINE VF CosineHyperbolicInverse(DF d, VF x) {
  const VF one = hn::Set(d, 1.0f);
  const VF limit = hn::Set(d, kSquareLimit);
  const VF t = hn::Sub(hn::Min(x, limit), one);
  const VF root = hn::Sqrt(hn::Mul(t, hn::Add(t, hn::Set(d, 2.0f))));
  const VF small = Log1pOf(d, hn::Add(t, root));
  const VF large = hn::Add(Log(d, x), hn::Set(d, 0.693147181f));
  const VF y = hn::IfThenElse(hn::Lt(x, limit), small, large);
  const VF nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  return KeepNan(x, hn::IfThenElse(hn::Lt(x, one), nan, y));
}

// atanh |x| = ln(1 + 2 |x| / (1 - |x|)) / 2.
HWY_INLINE VF TangentHyperbolicInverse(DF d, VF x) {
  const VF one = hn::Set(d, 1.0f);
  const VF magnitude = hn::Abs(x);
  const VF ratio =
      hn::Div(hn::Add(magnitude, magnitude), hn::Sub(one, magnitude));
  const VF y = hn::Mul(hn::Set(d, 0.5f), Log1pOf(d, ratio));
  return Outside(d, x, 1.0f, hn::CopySignToAbs(y, x));
}

// The error function: near 0 by its Taylor series, 2 / sqrt(pi) times the sum
// of
// (-1)^k x^(2k+1) / (k! (2k+1)), whose terms beyond k = 8 stay below 1e-9 of it
// for |x| < 0.75; elsewhere by the distribution of the normal,
// 2 Phi(x sqrt 2) - 1.
HWY_INLINE VF Erf(DF d, VF x) {
  const VF z = hn::Mul(x, x);
  VF p = hn::Set(d, 1.0f / 685440);
  p = hn::MulAdd(p, z, hn::Set(d, -1.0f / 75600));
  p = hn::MulAdd(p, z, hn::Set(d, 1.0f / 9360));
  p = hn::MulAdd(p, z, hn::Set(d, -1.0f / 1320));
  p = hn::MulAdd(p, z, hn::Set(d, 1.0f / 216));
  p = hn::MulAdd(p, z, hn::Set(d, -1.0f / 42));
  p = hn::MulAdd(p, z, hn::Set(d, 1.0f / 10));
  p = hn::MulAdd(p, z, hn::Set(d, -1.0f / 3));
  p = hn::MulAdd(p, z, hn::Set(d, 1.0f));
  const VF small = hn::Mul(hn::Mul(p, x), hn::Set(d, 1.12837917f));
  const VF magnitude = hn::Abs(x);
  const VF phi =
      NormalOf(d, hn::Mul(magnitude, hn::Set(d, 1.41421356f))).distribution;
  const VF far = hn::Sub(hn::Add(phi, phi), hn::Set(d, 1.0f));
  const VF y = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.75f)), small,
                              hn::CopySignToAbs(far, x));
  return KeepNan(x, y);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#endif  // OPS_LIB_MATH_INL_H_
