// KLDivLoss: the divergence of a target distribution b from the one whose
// logarithms the prediction a is, reduced (ops/lib/pair_loss.h), as PyTorch has
// it. ONNX has no such operator.
//
//   y  = b (ln b - a), 0 where b is 0;  with log_target: e^b (b - a)
//   da = -b;                            -e^b
//   db = ln b + 1 - a, 0 where b is 0;  e^b (b - a + 1)
//
// reduction may also be `batchmean`: the sum over the size of the first axis,
// which is the divergence's definition; `mean` divides by all elements.
// Tested by tests/ops/pair_loss_test.cc.

#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/pair_loss.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/kl_div_loss.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void KLDivLossValues(const float* a, const float* b, float* y, int64_t n,
                     float param) {
  Map(
      n, y,
      [=](DF d, VF a, VF b) HWY_ATTR {
        if (param != 0) return hn::Mul(Exp(d, b), hn::Sub(b, a));
        const VF y = hn::Mul(b, hn::Sub(Log(d, b), a));
        return hn::IfThenElse(hn::Eq(b, hn::Zero(d)), hn::Zero(d), y);
      },
      a, b);
}

void KLDivLossOfA(const float* a, const float* b, float* y, int64_t n,
                  float param) {
  Map(
      n, y,
      [=](DF d, VF a, VF b) HWY_ATTR {
        (void)a;
        return hn::Neg(param != 0 ? Exp(d, b) : b);
      },
      a, b);
}

void KLDivLossOfB(const float* a, const float* b, float* y, int64_t n,
                  float param) {
  Map(
      n, y,
      [=](DF d, VF a, VF b) HWY_ATTR {
        const VF one = hn::Set(d, 1.0f);
        if (param != 0) return hn::Mul(Exp(d, b), hn::Add(hn::Sub(b, a), one));
        const VF y = hn::Sub(hn::Add(Log(d, b), one), a);
        return hn::IfThenElse(hn::Eq(b, hn::Zero(d)), hn::Zero(d), y);
      },
      a, b);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(KLDivLossValues);
HWY_EXPORT(KLDivLossOfA);
HWY_EXPORT(KLDivLossOfB);

}  // namespace

std::vector<OpDef> KlDivLossOps() {
  PairLossSpec spec;
  spec.name = "KLDivLoss";
  spec.attrs = {AttrSpec("log_target", int64_t{0})};
  spec.has_batch_mean = true;
  spec.param = [](const Attrs& attrs) {
    return attrs.Int("log_target") != 0 ? 1.0f : 0.0f;
  };
  spec.flops_per_element = 24;
  spec.value = [](const float* a, const float* b, float* y, int64_t n,
                  float param) {
    HWY_DYNAMIC_DISPATCH(KLDivLossValues)(a, b, y, n, param);
  };
  spec.of_a = [](const float* a, const float* b, float* y, int64_t n,
                 float param) {
    HWY_DYNAMIC_DISPATCH(KLDivLossOfA)(a, b, y, n, param);
  };
  spec.of_b = [](const float* a, const float* b, float* y, int64_t n,
                 float param) {
    HWY_DYNAMIC_DISPATCH(KLDivLossOfB)(a, b, y, n, param);
  };
  return PairLossOps(std::move(spec));
}

}  // namespace reprise
#endif  // HWY_ONCE
