// PRelu, y = x where x >= 0, else slope x. The slope broadcasts to x.
//
//   dx = dy where x > 0, else slope dy
//   dslope = sum of x dy where x <= 0, over the axes that were broadcast
//
// The derivative at 0 is taken from below, as PyTorch does. The gradient of x
// reads x and the slope, that of the slope x.
// Tested by tests/ops/variadic_test.cc.

#include <cstdint>
#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/broadcast.h"
#include "ops/lib/grad.h"
#include "ops/lib/infer.h"
#include "ops/lib/pointwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/p_relu.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void PReluLoop(RowKind kind, const void* x, const void* slope, void* y,
               int64_t n) {
  MapRow(kind, x, slope, y, n, [](DF d, VF x, VF slope) HWY_ATTR {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, slope), x);
  });
}

template <class Slope>
HWY_INLINE void GradRowLoop(const float* dy, const float* x, Slope slope,
                            float* dx, int64_t n) {
  Map(
      n, dx,
      [](DF d, VF dy, VF x, VF slope) HWY_ATTR {
        return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), dy, hn::Mul(dy, slope));
      },
      dy, x, slope);
}

void PReluGradLoop(bool one_slope, const float* dy, const float* x,
                   const float* slope, float* dx, int64_t n) {
  if (one_slope) {
    GradRowLoop(dy, x, Broadcast{slope}, dx, n);
  } else {
    GradRowLoop(dy, x, slope, dx, n);
  }
}

void PReluSlopeGradLoop(const float* x, const float* dy, float* y, int64_t n) {
  Map(
      n, y,
      [](DF d, VF x, VF dy) HWY_ATTR {
        return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Zero(d),
                              hn::Mul(x, dy));
      },
      x, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(PReluLoop);
HWY_EXPORT(PReluGradLoop);
HWY_EXPORT(PReluSlopeGradLoop);

RowLoop Loop(DType dtype) {
  if (dtype != DType::kF32) return nullptr;
  return
      [](RowKind kind, const void* x, const void* slope, void* y, int64_t n) {
        HWY_DYNAMIC_DISPATCH(PReluLoop)(kind, x, slope, y, n);
      };
}

std::vector<ValueId> Grad(GradBuilder& b) {
  std::vector<ValueId> grads(2, kNoValue);
  const ValueId dy = b.out_grad(0);
  if (b.needs_grad(0)) {
    grads[0] = b.Add("PReluGrad", {dy, b.in(0), b.in(1)});
  }
  if (b.needs_grad(1)) {
    grads[1] = SumToInput(b, b.Add("PReluSlopeGrad", {b.in(0), dy}), 1);
  }
  return grads;
}

absl::StatusOr<DType> GradResult(const OpArgs& args) {
  for (const TensorType& type : args.in) {
    RETURN_IF_ERROR(RequireF32("PReluGrad", "operand", type));
  }
  return DType::kF32;
}

BroadcastRow GradRow(const Signature&) {
  return [](unsigned scalars, const void* const* in, void* dx, int64_t n) {
    HWY_DYNAMIC_DISPATCH(PReluGradLoop)
    ((scalars & 4u) != 0, static_cast<const float*>(in[0]),
     static_cast<const float*>(in[1]), static_cast<const float*>(in[2]),
     static_cast<float*>(dx), n);
  };
}

PointwiseLoop SlopeGrad(const Attrs&) {
  return [](const float* const* in, float* y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(PReluSlopeGradLoop)(in[0], in[1], y, n);
  };
}

}  // namespace

std::vector<OpDef> PReluOps() {
  BinarySpec spec;
  spec.name = "PRelu";
  spec.loop = Loop;
  OpDef op = BinaryOp(std::move(spec));
  op.infer = [infer = op.infer](const OpArgs& args) -> InferredTypes {
    ASSIGN_OR_RETURN(std::vector<TensorType> types, infer(args));
    if (types[0] != args.in[0]) {
      return Invalid("PRelu: the slope must broadcast to x, got ",
                     ToString(args.in[1]), " and ", ToString(args.in[0]));
    }
    return types;
  };
  op.grad = Grad;

  BroadcastSpec of_x;
  of_x.name = "PReluGrad";  // (dy, x, slope): dx
  of_x.num_inputs = 3;
  of_x.result = GradResult;
  of_x.row = GradRow;
  OpDef grad = BroadcastOp(std::move(of_x));
  grad.internal = true;

  PointwiseSpec of_slope;
  of_slope.name = "PReluSlopeGrad";  // (x, dy): x dy where x <= 0
  of_slope.flops_per_element = 2;
  of_slope.loop = SlopeGrad;
  return {op, grad, PointwiseGradOp(std::move(of_slope))};
}

}  // namespace reprise
#endif  // HWY_ONCE
