// L1Loss: the distance |a - b| of a prediction from a target, reduced
// (ops/lib/pair_loss.h). ONNX has no such operator.
//
//   da = sign(a - b), db = -da, 0 where they are equal
//
// Tested by tests/ops/pair_loss_test.cc.

#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/pair_loss.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/l1_loss.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

HWY_INLINE VF SignOf(DF d, VF x) {
  const VF one = hn::CopySignToAbs(hn::Set(d, 1.0f), x);
  return hn::IfThenElse(hn::Gt(hn::Abs(x), hn::Zero(d)), one, x);
}

void L1LossValues(const float* a, const float* b, float* y, int64_t n) {
  Map(
      n, y, [](DF, VF a, VF b) HWY_ATTR { return hn::Abs(hn::Sub(a, b)); }, a,
      b);
}

void L1LossOfA(const float* a, const float* b, float* y, int64_t n) {
  Map(
      n, y, [](DF d, VF a, VF b) HWY_ATTR { return SignOf(d, hn::Sub(a, b)); },
      a, b);
}

void L1LossOfB(const float* a, const float* b, float* y, int64_t n) {
  Map(
      n, y, [](DF d, VF a, VF b) HWY_ATTR { return SignOf(d, hn::Sub(b, a)); },
      a, b);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(L1LossValues);
HWY_EXPORT(L1LossOfA);
HWY_EXPORT(L1LossOfB);

}  // namespace

std::vector<OpDef> L1LossOps() {
  PairLossSpec spec;
  spec.name = "L1Loss";
  spec.flops_per_element = 3;
  spec.value = [](const float* a, const float* b, float* y, int64_t n, float) {
    HWY_DYNAMIC_DISPATCH(L1LossValues)(a, b, y, n);
  };
  spec.of_a = [](const float* a, const float* b, float* y, int64_t n, float) {
    HWY_DYNAMIC_DISPATCH(L1LossOfA)(a, b, y, n);
  };
  spec.of_b = [](const float* a, const float* b, float* y, int64_t n, float) {
    HWY_DYNAMIC_DISPATCH(L1LossOfB)(a, b, y, n);
  };
  return PairLossOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
