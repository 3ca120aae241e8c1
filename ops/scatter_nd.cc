// ScatterND: data in which each slice of `updates` has met the one at the
// position that its row of `indices` gives.
//
//   y = data;  y[indices[i, 0], indices[i, 1], ..] = updates[i, ..]
//
// Updates come in the order of the indices. What the gradients read is said in
// ops/lib/indexed.h. Tested by tests/ops/indexed_test.cc.

#include <vector>

#include "core/op.h"
#include "ops/lib/indexed.h"

namespace reprise {

std::vector<OpDef> ScatterNdOps() {
  return ScatterSlicesOps(RowsSpec("ScatterND", /*has_batch_dims=*/false));
}

}  // namespace reprise
