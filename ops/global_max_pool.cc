// GlobalMaxPool: the largest element of each channel of x [n, c, d1, ..].
//
// In the step graph it is a ReduceMax over the spatial axes, whose gradient
// ties share. Tested by tests/ops/pooling_test.cc.

#include <vector>

#include "absl/status/status.h"
#include "core/expand.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/infer.h"

namespace reprise {
namespace {

InferredTypes Infer(const OpArgs& args) {
  const TensorType& x = args.in[0];
  RETURN_IF_ERROR(RequireF32("GlobalMaxPool", "x", x));
  if (x.rank() < 3) {
    return Invalid("GlobalMaxPool: x must be [n, c, ..] of rank 3 or more, ",
                   "got ", ToString(x));
  }
  Dims dims(x.dims.size(), 1);
  dims[0] = x.dims[0];
  dims[1] = x.dims[1];
  return OneType("GlobalMaxPool", DType::kF32, dims);
}

absl::Status ExpandToReduction(ExpandBuilder& b) {
  Ints axes;
  for (int axis = 2; axis < b.type(b.in(0)).rank(); ++axis) {
    axes.push_back(axis);
  }
  b.SetOut(0, b.Add("ReduceMax", {b.in(0)}, {{"axes", axes}}, 1)[0]);
  return absl::OkStatus();
}

}  // namespace

std::vector<OpDef> GlobalMaxPoolOps() {
  OpDef op;
  op.name = "GlobalMaxPool";
  op.infer = Infer;
  op.expand = ExpandToReduction;
  return {op};
}

}  // namespace reprise
