// The frame of loops that read and write several arrays; compiled once per
// instruction set (simd.h says how). No include guard in the usual sense.

#if defined(OPS_LIB_UPDATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPS_LIB_UPDATE_INL_H_
#undef OPS_LIB_UPDATE_INL_H_
#else
#define OPS_LIB_UPDATE_INL_H_
#endif

#include <cstdint>

#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

// Elements i, i + 1, ... of arrays: a full vector of them.
struct FullVector {
  int64_t i;
  HWY_INLINE VF Load(const float* x) const { return hn::LoadU(DF(), x + i); }
  HWY_INLINE void Store(VF v, float* y) const { hn::StoreU(v, DF(), y + i); }
};

// The last n of them.
struct PartVector {
  int64_t i;
  int64_t n;
  HWY_INLINE VF Load(const float* x) const { return LoadPart(DF(), x + i, n); }
  HWY_INLINE void Store(VF v, float* y) const { StorePart(v, DF(), y + i, n); }
};

// Calls f(at) for consecutive vectors of the elements [begin, end).
template <class F>
HWY_INLINE void ForEachVector(int64_t begin, int64_t end, const F& f) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(DF()));
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) f(FullVector{i});
  if (i < end) f(PartVector{i, end - i});
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#endif  // OPS_LIB_UPDATE_INL_H_
