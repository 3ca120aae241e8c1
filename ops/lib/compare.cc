#include "ops/lib/compare.h"

#include <cstdint>
#include <utility>

#include "ops/lib/broadcast.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/lib/compare.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

template <class F>
HWY_INLINE void CompareRow(RowKind kind, const float* a, const float* b,
                           uint8_t* y, int64_t n, const F& f) {
  switch (kind) {
    case RowKind::kBoth:
      return MapToMask(n, y, f, a, b);
    case RowKind::kScalarA:
      return MapToMask(n, y, f, Broadcast{a}, b);
    case RowKind::kScalarB:
      return MapToMask(n, y, f, a, Broadcast{b});
  }
}

void CompareLoop(Comparison comparison, RowKind kind, const float* a,
                 const float* b, uint8_t* y, int64_t n) {
  switch (comparison) {
    case Comparison::kEqual:
      return CompareRow(kind, a, b, y, n,
                        [](DF, VF a, VF b) HWY_ATTR { return hn::Eq(a, b); });
    case Comparison::kLess:
      return CompareRow(kind, a, b, y, n,
                        [](DF, VF a, VF b) HWY_ATTR { return hn::Lt(a, b); });
    case Comparison::kLessOrEqual:
      return CompareRow(kind, a, b, y, n,
                        [](DF, VF a, VF b) HWY_ATTR { return hn::Le(a, b); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(CompareLoop);

template <class T>
RowLoop LoopOf(Comparison comparison) {
  switch (comparison) {
    case Comparison::kEqual:
      return ScalarRowLoop<T, uint8_t>(
          [](T a, T b) -> uint8_t { return a == b ? 1 : 0; });
    case Comparison::kLess:
      return ScalarRowLoop<T, uint8_t>(
          [](T a, T b) -> uint8_t { return a < b ? 1 : 0; });
    case Comparison::kLessOrEqual:
      return ScalarRowLoop<T, uint8_t>(
          [](T a, T b) -> uint8_t { return a <= b ? 1 : 0; });
  }
  return nullptr;
}

RowLoop LoopFor(Comparison comparison, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return [comparison](RowKind kind, const void* a, const void* b, void* y,
                          int64_t n) {
        HWY_DYNAMIC_DISPATCH(CompareLoop)
        (comparison, kind, static_cast<const float*>(a),
         static_cast<const float*>(b), static_cast<uint8_t*>(y), n);
      };
    case DType::kI32:
      return LoopOf<int32_t>(comparison);
    case DType::kI64:
      return LoopOf<int64_t>(comparison);
    case DType::kU8:
      return LoopOf<uint8_t>(comparison);
    case DType::kBool:
      if (comparison != Comparison::kEqual) return nullptr;
      return LoopOf<uint8_t>(comparison);
    case DType::kNone:
    case DType::kOpaque:
      break;
  }
  return nullptr;
}

RowLoop Swapped(RowLoop loop) {
  if (loop == nullptr) return nullptr;
  return [loop = std::move(loop)](RowKind kind, const void* a, const void* b,
                                  void* y, int64_t n) {
    const RowKind other = kind == RowKind::kScalarA   ? RowKind::kScalarB
                          : kind == RowKind::kScalarB ? RowKind::kScalarA
                                                      : RowKind::kBoth;
    loop(other, b, a, y, n);
  };
}

}  // namespace

OpDef CompareOp(std::string name, Comparison comparison, bool swapped) {
  BinarySpec spec;
  spec.name = std::move(name);
  spec.loop = [comparison, swapped](DType dtype) {
    RowLoop loop = LoopFor(comparison, dtype);
    return swapped ? Swapped(std::move(loop)) : loop;
  };
  spec.result = DType::kBool;
  return BinaryOp(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
