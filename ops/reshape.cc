// Reshape: the same elements under the dims of the attribute `shape`.
//
//   shape: one entry -1 is worked out from the others; 0 copies the operand's
//          dim, unless `allowzero` is 1: then it is a dim of zero.
//
// Tested by tests/ops/view_test.cc.

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
  Dims dims = args.attrs.IntList("shape");
  const bool allow_zero = args.attrs.Int("allowzero") != 0;
  int open = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == -1) {
      if (open >= 0) {
        return Invalid("Reshape: at most one entry of shape may be -1, got ",
                       DimsToString(args.attrs.IntList("shape")));
      }
      open = static_cast<int>(i);
      dims[i] = 1;
    } else if (dims[i] == 0 && !allow_zero) {
      if (static_cast<int>(i) >= x.rank()) {
        return Invalid("Reshape: entry ", i, " of shape is 0, but ",
                       ToString(x), " has no dim ", i);
      }
      dims[i] = x.dims[i];
    } else if (dims[i] < 0) {
      return Invalid("Reshape: entries of shape must be at least -1, got ",
                     DimsToString(args.attrs.IntList("shape")));
    }
  }
  ASSIGN_OR_RETURN(std::vector<TensorType> types,
                   OneType("Reshape", x.dtype, dims));
  const int64_t n = types[0].num_elements();
  if (open >= 0 && n > 0 && x.num_elements() % n == 0) {
    dims[open] = x.num_elements() / n;
    ASSIGN_OR_RETURN(types, OneType("Reshape", x.dtype, dims));
  }
  if (types[0].num_elements() != x.num_elements()) {
    return Invalid("Reshape: number of elements must stay ", x.num_elements(),
                   ", got shape ", DimsToString(args.attrs.IntList("shape")),
                   " for ", ToString(x));
  }
  return types;
}

}  // namespace

std::vector<OpDef> ReshapeOps() {
  OpDef op = ViewOp("Reshape");
  op.attrs = {AttrSpec("shape", AttrKind::kInts, AttrSpec::kRequired),
              AttrSpec("allowzero", int64_t{0})};
  op.infer = Infer;
  return {op};
}

}  // namespace reprise
