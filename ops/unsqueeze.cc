// Unsqueeze: with axes of size 1 at `axes`, counted in the result. Tested by
// tests/ops/view_test.cc.

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
  const Ints& given = args.attrs.IntList("axes");
  const int64_t rank = x.rank() + static_cast<int64_t>(given.size());
  if (rank > kMaxRank) {
    return Invalid("Unsqueeze: rank must be at most ", kMaxRank, ", got ",
                   rank);
  }
  ASSIGN_OR_RETURN(const std::vector<int> axes,
                   NormalizeAxes("Unsqueeze", given, static_cast<int>(rank)));
  Dims dims;
  auto next = x.dims.begin();
  for (int i = 0; i < rank; ++i) {
    const bool added = std::binary_search(axes.begin(), axes.end(), i);
    dims.push_back(added ? 1 : *next++);
  }
  return OneType("Unsqueeze", x.dtype, std::move(dims));
}

}  // namespace

std::vector<OpDef> UnsqueezeOps() {
  OpDef op = ViewOp("Unsqueeze");
  op.attrs = {AttrSpec("axes", AttrKind::kInts, AttrSpec::kRequired)};
  op.infer = Infer;
  return {op};
}

}  // namespace reprise
