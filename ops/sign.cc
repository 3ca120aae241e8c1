// Sign, y = -1, 0 or 1; NaN stays NaN. Of integers too. The gradient is zero.
// Tested by tests/ops/unary_test.cc.

#include <cstdint>
#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/sign.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void SignLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y,
      [](DF d, VF x) HWY_ATTR {
        const VF one = hn::Set(d, 1.0f);
        const VF signed_one = hn::CopySignToAbs(one, x);
        return hn::IfThenElse(hn::Gt(hn::Abs(x), hn::Zero(d)), signed_one, x);
      },
      x);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(SignLoop);

template <class T>
T SignOf(T x) {
  return static_cast<T>((x > 0 ? 1 : 0) - (x < 0 ? 1 : 0));
}

ElementLoop IntegerLoop(DType dtype) {
  if (dtype == DType::kI32) return LoopOver<int32_t>(SignOf<int32_t>);
  if (dtype == DType::kI64) return LoopOver<int64_t>(SignOf<int64_t>);
  return nullptr;
}

}  // namespace

std::vector<OpDef> SignOps() {
  UnarySpec spec;
  spec.name = "Sign";
  spec.loop = [](const float* x, float* y, int64_t n, const float*) {
    HWY_DYNAMIC_DISPATCH(SignLoop)(x, y, n);
  };
  spec.other_loop = IntegerLoop;
  return UnaryOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
