// Flatten: a matrix whose rows are the axes before `axis`, whose columns are
// the others. Tested by tests/ops/view_test.cc.

#include <vector>

#include "core/op.h"
#include "ops/lib/infer.h"
#include "ops/lib/views.h"

namespace reprise {
namespace {

InferredTypes Infer(const OpArgs& args) {
  const TensorType& x = args.in[0];
  int64_t axis = args.attrs.Int("axis");
  // Unlike elsewhere, the rank itself is an axis: all dims in the rows.
  if (axis < -x.rank() || axis > x.rank()) {
    return Invalid("Flatten: axis must be in [", -x.rank(), ", ", x.rank(),
                   "], got ", axis, " for ", ToString(x));
  }
  if (axis < 0) axis += x.rank();
  const absl::Span<const int64_t> dims = x.dims;
  return OneType("Flatten", x.dtype,
                 {Product(dims.first(axis)), Product(dims.subspan(axis))});
}

}  // namespace

std::vector<OpDef> FlattenOps() {
  OpDef op = ViewOp("Flatten");
  op.attrs = {AttrSpec("axis", int64_t{1})};
  op.infer = Infer;
  return {op};
}

}  // namespace reprise
