// Max of any number of operands that broadcast to each other; NaN where one is.
//
//   da = dy where a > b, dy / 2 where they are equal, 0 elsewhere; so for b
//
// In the step graph it is a chain of Larger(a, b), whose gradient reads both:
// of three equal operands the last one gets half. Integers too.
// Tested by tests/ops/variadic_test.cc.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/broadcast.h"
#include "ops/lib/extremes.h"
#include "ops/lib/infer.h"
#include "ops/lib/variadic.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/max.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void LargerLoop(RowKind kind, const void* a, const void* b, void* y,
                int64_t n) {
  MapRow(kind, a, b, y, n,
         [](DF, VF a, VF b) HWY_ATTR { return LargerOrNaN(a, b); });
}

// dy where p > q or one is NaN, dy / 2 where they are equal, else 0.
HWY_INLINE VF ShareOf(DF d, VF dy, VF p, VF q) {
  const VF half = hn::Mul(dy, hn::Set(d, 0.5f));
  const VF some = hn::IfThenElse(hn::Eq(p, q), half, dy);
  return hn::IfThenElse(hn::Lt(p, q), hn::Zero(d), some);
}

template <class P, class Q>
HWY_INLINE void ShareRow(const float* dy, P p, Q q, float* y, int64_t n) {
  Map(
      n, y,
      [](DF d, VF dy, VF p, VF q) HWY_ATTR { return ShareOf(d, dy, p, q); }, dy,
      p, q);
}

void LargerGradLoop(bool one_p, bool one_q, const float* dy, const float* p,
                    const float* q, float* y, int64_t n) {
  if (one_p && one_q) {
    ShareRow(dy, Broadcast{p}, Broadcast{q}, y, n);
  } else if (one_p) {
    ShareRow(dy, Broadcast{p}, q, y, n);
  } else if (one_q) {
    ShareRow(dy, p, Broadcast{q}, y, n);
  } else {
    ShareRow(dy, p, q, y, n);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(LargerLoop);
HWY_EXPORT(LargerGradLoop);

RowLoop Loop(DType dtype) {
  if (dtype == DType::kI32) {
    return ScalarRowLoop<int32_t>(
        [](int32_t a, int32_t b) { return std::max(a, b); });
  }
  if (dtype == DType::kI64) {
    return ScalarRowLoop<int64_t>(
        [](int64_t a, int64_t b) { return std::max(a, b); });
  }
  if (dtype != DType::kF32) return nullptr;
  return [](RowKind kind, const void* a, const void* b, void* y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(LargerLoop)(kind, a, b, y, n);
  };
}

std::vector<ValueId> Grad(GradBuilder& b) {
  return ExtremesGrad(b, /*larger=*/true);
}

// LargerGrad(dy, p, q): the share of p in the gradient; dy has the dims of both
// together.

absl::StatusOr<DType> GradResult(const OpArgs& args) {
  for (const TensorType& type : args.in) {
    RETURN_IF_ERROR(RequireF32("LargerGrad", "operand", type));
  }
  return DType::kF32;
}

BroadcastRow GradRow(const Signature&) {
  return [](unsigned scalars, const void* const* in, void* y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(LargerGradLoop)
    ((scalars & 2u) != 0, (scalars & 4u) != 0, static_cast<const float*>(in[0]),
     static_cast<const float*>(in[1]), static_cast<const float*>(in[2]),
     static_cast<float*>(y), n);
  };
}

}  // namespace

std::vector<OpDef> MaxOps() {
  OpDef op = VariadicOp("Max", {DType::kF32, DType::kI32, DType::kI64},
                        [](ExpandBuilder& b, const std::vector<ValueId>& x) {
                          return Chain(b, "Larger", x);
                        });
  BinarySpec spec;
  spec.name = "Larger";
  spec.loop = Loop;
  OpDef larger = BinaryOp(std::move(spec));
  larger.internal = true;
  larger.grad = Grad;

  BroadcastSpec share;
  share.name = "LargerGrad";
  share.num_inputs = 3;
  share.flops_per_element = 3;
  share.result = GradResult;
  share.row = GradRow;
  OpDef grad = BroadcastOp(std::move(share));
  grad.internal = true;
  return {op, larger, grad};
}

}  // namespace reprise
#endif  // HWY_ONCE
