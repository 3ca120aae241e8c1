// Squeeze: without the axes `axes`, each of size 1; without every axis of size
// 1 if none are given. Tested by tests/ops/view_test.cc.

#include <algorithm>
#include <utility>
#include <vector>

#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/infer.h"
#include "ops/lib/views.h"

namespace reprise {
namespace {

InferredTypes Infer(const OpArgs& args) {
  const TensorType& x = args.in[0];
  Dims dims;
  if (!args.attrs.Has("axes")) {
    std::copy_if(x.dims.begin(), x.dims.end(), std::back_inserter(dims),
                 [](int64_t dim) { return dim != 1; });
    return OneType("Squeeze", x.dtype, std::move(dims));
  }
  ASSIGN_OR_RETURN(
      const std::vector<int> axes,
      NormalizeAxes("Squeeze", args.attrs.IntList("axes"), x.rank()));
  for (int i = 0; i < x.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) {
      dims.push_back(x.dims[i]);
    } else if (x.dims[i] != 1) {
      return Invalid("Squeeze: axis ", i, " must have size 1, got ",
                     ToString(x));
    }
  }
  return OneType("Squeeze", x.dtype, std::move(dims));
}

}  // namespace

std::vector<OpDef> SqueezeOps() {
  OpDef op = ViewOp("Squeeze");
  op.attrs = {AttrSpec("axes", AttrKind::kInts)};
  op.infer = Infer;
  return {op};
}

}  // namespace reprise
