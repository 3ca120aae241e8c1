// ReduceMax over `axes`: -inf where there is nothing to compare, NaN where
// there is a NaN.
//
//   dx = dy / k at each of the k elements that equal the maximum, 0 elsewhere
//
// Ties share the gradient equally, as in JAX and PyTorch (amax). The gradient
// reads x and y. Tested by tests/ops/reduce_test.cc.

#include <utility>
#include <vector>

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

}  // namespace

std::vector<OpDef> ReduceMaxOps() {
  OpDef op = ReduceOp("ReduceMax", Reducing::kMax);
  op.grad = ExtremeGrad;

  BinarySpec spec;
  spec.name = "EqualMask";
  spec.loop = EqualLoop;
  OpDef mask = BinaryOp(std::move(spec));
  mask.internal = true;
  return {op, mask};
}

}  // namespace reprise
