// BinaryCrossEntropyWithLogits: the cross-entropy of targets t in [0, 1] and
// the probabilities s = 1 / (1 + e^-x), reduced. ONNX has no such operator.
//
//   y  = (1 - t) x + l ln(1 + e^-x),  l = 1 + (pos_weight - 1) t
//   dx = (1 - t) - l (1 - s),  dt = -x + (pos_weight - 1) ln(1 + e^-x)
//
// Operand 2, pos_weight, is optional, 1 where it is absent, and broadcasts to
// x. Without it the node becomes BinaryCrossEntropyPairs in the step graph
// (ops/lib/pair_loss.h); with it a tensor of losses and their reduction. The
// gradients read x and t.
// Tested by tests/ops/pair_loss_test.cc.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/autodiff.h"
#include "core/expand.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/broadcast.h"
#include "ops/lib/grad.h"
#include "ops/lib/infer.h"
#include "ops/lib/pair_loss.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/binary_cross_entropy_with_logits.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void BinaryCrossEntropyPairsValues(const float* a, const float* b, float* y,
                                   int64_t n) {
  Map(
      n, y,
      [](DF d, VF a, VF b) HWY_ATTR {
        const VF one = hn::Set(d, 1.0f);
        return hn::MulAdd(hn::Sub(one, b), a, Softplus(d, hn::Neg(a)));
      },
      a, b);
}

void BinaryCrossEntropyPairsOfA(const float* a, const float* b, float* y,
                                int64_t n) {
  Map(
      n, y, [](DF d, VF a, VF b) HWY_ATTR { return hn::Sub(Sigmoid(d, a), b); },
      a, b);
}

void BinaryCrossEntropyPairsOfB(const float* a, const float* b, float* y,
                                int64_t n) {
  Map(
      n, y,
      [](DF, VF a, VF b) HWY_ATTR {
        (void)b;
        return hn::Neg(a);
      },
      a, b);
}

// With a weight of positive targets; `part`: 0 for the losses, 1, 2 and 3 for
// their derivatives by x, t and the weight.
template <class X, class T, class W>
HWY_INLINE void WeightedRow(int64_t part, X x, T t, W weight, float* y,
                            int64_t n) {
  Map(
      n, y,
      [=](DF d, VF x, VF t, VF w) HWY_ATTR {
        const VF one = hn::Set(d, 1.0f);
        const VF rest = hn::Sub(one, t);
        const VF l = hn::MulAdd(hn::Sub(w, one), t, one);
        if (part == 1) {
          return hn::NegMulAdd(l, Sigmoid(d, hn::Neg(x)), rest);
        }
        const VF log = Softplus(d, hn::Neg(x));
        if (part == 2) return hn::MulSub(hn::Sub(w, one), log, x);
        if (part == 3) return hn::Mul(t, log);
        return hn::MulAdd(rest, x, hn::Mul(l, log));
      },
      x, t, weight);
}

void WeightedCrossEntropyLoop(int64_t part, unsigned scalars,
                              const float* const* in, float* y, int64_t n) {
  const float* x = in[0];
  const float* t = in[1];
  const float* weight = in[2];
  // x and t have the dims of the result: they are never one element.
  if ((scalars & 4u) != 0) {
    WeightedRow(part, x, t, Broadcast{weight}, y, n);
  } else {
    WeightedRow(part, x, t, weight, y, n);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(BinaryCrossEntropyPairsValues);
HWY_EXPORT(BinaryCrossEntropyPairsOfA);
HWY_EXPORT(BinaryCrossEntropyPairsOfB);
HWY_EXPORT(WeightedCrossEntropyLoop);

constexpr char kName[] = "BinaryCrossEntropyWithLogits";
constexpr char kWeighted[] = "WeightedBinaryCrossEntropy";
constexpr char kPart[] = "part";

InferredTypes Infer(const OpArgs& args) {
  const TensorType& x = args.in[0];
  RETURN_IF_ERROR(RequireF32(kName, "x", x));
  if (args.in[1] != x) {
    return Invalid(kName, ": targets must be ", ToString(x), ", got ",
                   ToString(args.in[1]));
  }
  if (args.in.size() > 2 && args.in[2].present()) {
    RETURN_IF_ERROR(RequireF32(kName, "pos_weight", args.in[2]));
    const absl::StatusOr<Dims> dims =
        BroadcastDims(x.dims, args.in[2].dims, kName);
    if (!dims.ok() || *dims != x.dims) {
      return Invalid(kName, ": pos_weight must broadcast to ", ToString(x),
                     ", got ", ToString(args.in[2]));
    }
  }
  const std::string& reduction = args.attrs.String("reduction");
  if (reduction == "none") return std::vector<TensorType>{x};
  if (reduction != "sum" && reduction != "mean") {
    return Invalid(kName, ": reduction must be none, sum or mean, got \"",
                   reduction, "\"");
  }
  return std::vector<TensorType>{{DType::kF32, {}}};
}

absl::Status ExpandNode(ExpandBuilder& b) {
  const std::string& reduction = b.attrs().String("reduction");
  if (b.in(2) == kNoValue) {
    b.SetOut(0, b.Add("BinaryCrossEntropyPairs", {b.in(0), b.in(1)}, b.attrs(),
                      /*num_outputs=*/1)[0]);
    return absl::OkStatus();
  }
  ValueId losses = b.Add(kWeighted, {b.in(0), b.in(1), b.in(2)}, {},
                         /*num_outputs=*/1)[0];
  if (reduction != "none") {
    losses = b.Add(reduction == "sum" ? "ReduceSum" : "ReduceMean", {losses},
                   {{"keepdims", int64_t{0}}}, /*num_outputs=*/1)[0];
  }
  b.SetOut(0, losses);
  return absl::OkStatus();
}

std::vector<ValueId> WeightedGrad(GradBuilder& b) {
  std::vector<ValueId> grads(3, kNoValue);
  for (int i = 0; i < 3; ++i) {
    if (!b.needs_grad(i)) continue;
    const ValueId derivative = b.Add(kWeighted, {b.in(0), b.in(1), b.in(2)},
                                     {{kPart, int64_t{i + 1}}});
    grads[i] = SumToInput(b, b.Add("Mul", {b.out_grad(0), derivative}), i);
  }
  return grads;
}

OpDef WeightedOp() {
  BroadcastSpec spec;
  spec.name = kWeighted;
  spec.num_inputs = 3;
  spec.attrs = {AttrSpec(kPart, int64_t{0})};
  spec.flops_per_element = 45;
  spec.result = [](const OpArgs& args) -> absl::StatusOr<DType> {
    for (const TensorType& type : args.in) {
      RETURN_IF_ERROR(RequireF32(kWeighted, "operand", type));
    }
    return DType::kF32;
  };
  spec.row = [](const Signature& s) -> BroadcastRow {
    return [part = s.attrs.Int(kPart)](unsigned scalars, const void* const* in,
                                       void* y, int64_t n) {
      const float* const operands[] = {static_cast<const float*>(in[0]),
                                       static_cast<const float*>(in[1]),
                                       static_cast<const float*>(in[2])};
      HWY_DYNAMIC_DISPATCH(WeightedCrossEntropyLoop)
      (part, scalars, operands, static_cast<float*>(y), n);
    };
  };
  OpDef op = BroadcastOp(std::move(spec));
  op.internal = true;
  op.grad = WeightedGrad;
  return op;
}

}  // namespace

std::vector<OpDef> BinaryCrossEntropyWithLogitsOps() {
  PairLossSpec spec;
  spec.name = "BinaryCrossEntropyPairs";
  spec.flops_per_element = 40;
  spec.value = [](const float* a, const float* b, float* y, int64_t n, float) {
    HWY_DYNAMIC_DISPATCH(BinaryCrossEntropyPairsValues)(a, b, y, n);
  };
  spec.of_a = [](const float* a, const float* b, float* y, int64_t n, float) {
    HWY_DYNAMIC_DISPATCH(BinaryCrossEntropyPairsOfA)(a, b, y, n);
  };
  spec.of_b = [](const float* a, const float* b, float* y, int64_t n, float) {
    HWY_DYNAMIC_DISPATCH(BinaryCrossEntropyPairsOfB)(a, b, y, n);
  };
  std::vector<OpDef> ops = PairLossOps(std::move(spec));
  ops[0].internal = true;

  OpDef op;
  op.name = kName;
  op.min_inputs = 2;
  op.max_inputs = 3;
  op.attrs = {AttrSpec("reduction", std::string("mean"))};
  op.infer = Infer;
  op.expand = ExpandNode;
  ops.push_back(op);
  ops.push_back(WeightedOp());
  return ops;
}

}  // namespace reprise
#endif  // HWY_ONCE
