// HuberLoss of the distance e = a - b of a prediction from a target, reduced
// (ops/lib/pair_loss.h), as PyTorch has it. ONNX has no such operator.
//
//   y  = e^2 / 2 where |e| <= delta, else delta (|e| - delta / 2)
//   da = e, cut to [-delta, delta]; db = -da
//
// Source: Huber (1964), doi:10.1214/aoms/1177703732.
// Tested by tests/ops/pair_loss_test.cc.

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/op.h"
#include "ops/lib/infer.h"
#include "ops/lib/pair_loss.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/huber_loss.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void HuberLossValues(const float* a, const float* b, float* y, int64_t n,
                     float param) {
  Map(
      n, y,
      [=](DF d, VF a, VF b) HWY_ATTR {
        const VF delta = hn::Set(d, param);
        const VF e = hn::Abs(hn::Sub(a, b));
        const VF half = hn::Set(d, 0.5f);
        const VF near = hn::Mul(half, hn::Mul(e, e));
        const VF far = hn::Mul(delta, hn::Sub(e, hn::Mul(half, delta)));
        return hn::IfThenElse(hn::Gt(e, delta), far, near);
      },
      a, b);
}

void HuberLossOfA(const float* a, const float* b, float* y, int64_t n,
                  float param) {
  Map(
      n, y,
      [=](DF d, VF a, VF b) HWY_ATTR {
        return CutTo(hn::Sub(a, b), hn::Set(d, -param), hn::Set(d, param));
      },
      a, b);
}

void HuberLossOfB(const float* a, const float* b, float* y, int64_t n,
                  float param) {
  Map(
      n, y,
      [=](DF d, VF a, VF b) HWY_ATTR {
        return CutTo(hn::Sub(b, a), hn::Set(d, -param), hn::Set(d, param));
      },
      a, b);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(HuberLossValues);
HWY_EXPORT(HuberLossOfA);
HWY_EXPORT(HuberLossOfB);

absl::Status Judge(const Attrs& attrs) {
  const float delta = attrs.Float("delta");
  if (delta > 0) return absl::OkStatus();
  return Invalid("HuberLoss: delta must be above 0, got ", delta);
}

}  // namespace

std::vector<OpDef> HuberLossOps() {
  PairLossSpec spec;
  spec.name = "HuberLoss";
  spec.attrs = {AttrSpec("delta", 1.0f)};
  spec.judge = Judge;
  spec.param = [](const Attrs& attrs) { return attrs.Float("delta"); };
  spec.flops_per_element = 6;
  spec.value = [](const float* a, const float* b, float* y, int64_t n,
                  float param) {
    HWY_DYNAMIC_DISPATCH(HuberLossValues)(a, b, y, n, param);
  };
  spec.of_a = [](const float* a, const float* b, float* y, int64_t n,
                 float param) {
    HWY_DYNAMIC_DISPATCH(HuberLossOfA)(a, b, y, n, param);
  };
  spec.of_b = [](const float* a, const float* b, float* y, int64_t n,
                 float param) {
    HWY_DYNAMIC_DISPATCH(HuberLossOfB)(a, b, y, n, param);
  };
  return PairLossOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
