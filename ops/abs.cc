// Abs, y = |x|; of integers too, where the lowest one stays itself.
//
//   dx = dy where x > 0, -dy where x < 0, 0 at 0
//
// Tested by tests/ops/unary_test.cc.

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/abs.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void AbsLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y, [](DF, VF x) HWY_ATTR { return hn::Abs(x); }, x);
}

void AbsGradLoop(const float* x, const float* dy, float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF x, VF dy) HWY_ATTR {
        const VF zero = hn::Zero(d);
        return hn::IfThenElse(hn::Gt(x, zero), dy,
                              hn::IfThenElseZero(hn::Lt(x, zero), hn::Neg(dy)));
      },
      x, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(AbsLoop);
HWY_EXPORT(AbsGradLoop);

template <class T>
T AbsOf(T x) {
  using Unsigned = std::make_unsigned_t<T>;
  return x < 0 ? static_cast<T>(Unsigned{0} - static_cast<Unsigned>(x)) : x;
}

ElementLoop IntegerLoop(DType dtype) {
  if (dtype == DType::kI32) return LoopOver<int32_t>(AbsOf<int32_t>);
  if (dtype == DType::kI64) return LoopOver<int64_t>(AbsOf<int64_t>);
  return nullptr;
}

}  // namespace

std::vector<OpDef> AbsOps() {
  UnarySpec spec;
  spec.name = "Abs";
  spec.loop = [](const float* x, float* y, int64_t n, const float*) {
    HWY_DYNAMIC_DISPATCH(AbsLoop)(x, y, n);
  };
  spec.other_loop = IntegerLoop;
  spec.grad_loop = [](const float* x, const float* dy, float* dx, int64_t n,
                      const float*) {
    HWY_DYNAMIC_DISPATCH(AbsGradLoop)(x, dy, dx, n);
  };
  return UnaryOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
