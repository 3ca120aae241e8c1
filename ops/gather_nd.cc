// GatherND: for each row of `indices` the slice of `data` at that position,
// after `batch_dims` axes that both have.
//
//   y[b, i, ..] = data[b, indices[b, i, 0], indices[b, i, 1], ..]
//   ddata       = the sum of dy over the rows that took each slice
//
// The gradient reads the indices. Tested by tests/ops/indexed_test.cc.

#include <vector>

#include "core/op.h"
#include "ops/lib/indexed.h"

namespace reprise {

std::vector<OpDef> GatherNdOps() {
  return GatherSlicesOps(RowsSpec("GatherND", /*has_batch_dims=*/true));
}

}  // namespace reprise
