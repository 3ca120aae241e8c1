// ReduceMax over `axes`: -inf where there is nothing to compare, NaN where
// there is a NaN.
//
//   dx = dy / k at each of the k elements that equal the maximum, 0 elsewhere
//
// Ties share the gradient equally, as in JAX and PyTorch (amax). The gradient
// reads x and y. Tested by tests/ops/reduce_test.cc.

#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/broadcast.h"
#include "ops/lib/reduce.h"

namespace reprise {
namespace {

// 1 where equal, else 0.
RowLoop EqualLoop(DType dtype) {
  if (dtype != DType::kF32) return nullptr;
  return ScalarRowLoop<float>(
      [](float a, float b) { return a == b ? 1.0f : 0.0f; });
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  Dims kept = b.type(b.in(0)).dims;
  Ints axes;
  for (const int axis : ReducedAxes(b.attrs(), static_cast<int>(kept.size()))) {
    kept[axis] = 1;
    axes.push_back(axis);
  }
  const auto with_kept_dims = [&](ValueId value) {
    if (b.type(value).dims == kept) return value;
    return b.Add("Reshape", {value},
                 Attrs{{"shape", kept}, {"allowzero", int64_t{1}}});
  };
  const ValueId equal = b.Add("EqualMask", {b.in(0), with_kept_dims(b.out(0))});
  const ValueId ties =
      b.Add("ReduceSum", {equal},
            Attrs{{"axes", axes}, {"noop_with_empty_axes", int64_t{1}}});
  const ValueId share = b.Add("Div", {with_kept_dims(b.out_grad(0)), ties});
  return {b.Add("Mul", {equal, share})};
}

}  // namespace

std::vector<OpDef> ReduceMaxOps() {
  OpDef op = ReduceOp("ReduceMax", Reduction::kMax);
  op.grad = Grad;

  BinarySpec spec;
  spec.name = "EqualMask";
  spec.loop = EqualLoop;
  OpDef mask = BinaryOp(std::move(spec));
  mask.internal = true;
  return {op, mask};
}

}  // namespace reprise
