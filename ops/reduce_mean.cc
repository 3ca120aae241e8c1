// ReduceMean over `axes`; NaN where there is nothing to average.
//
//   dx = dy / n at each of the n elements of the mean
//
// The gradient reads no forward value, and divides before it spreads. Tested by
// tests/ops/reduce_test.cc.

#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/reduce.h"

namespace reprise {
namespace {

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  const TensorType x = b.type(b.in(0));
  double count = 1;
  for (const int axis : ReducedAxes(b.attrs(), x.rank())) {
    count *= static_cast<double>(x.dims[axis]);
  }
  const ValueId factor =
      b.Fill(TensorType{DType::kF32, {}}, static_cast<float>(1 / count));
  return {SpreadOver(b, b.Add("Mul", {b.out_grad(0), factor}), b.in(0))};
}

}  // namespace

std::vector<OpDef> ReduceMeanOps() {
  OpDef op = ReduceOp("ReduceMean", Reducing::kMean);
  op.grad = Grad;
  return {op};
}

}  // namespace reprise
