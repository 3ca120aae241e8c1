// GatherElements: for each element of `indices` the element of `data` at its
// own position, but for `axis`, where the index stands in.
//
//   y[i, j] = data[indices[i, j], j]   (axis 0)
//   ddata   = the sum of dy over the positions that took each element
//
// The gradient reads the indices. Tested by tests/ops/indexed_test.cc.

#include <vector>

#include "core/op.h"
#include "ops/lib/indexed.h"

namespace reprise {

std::vector<OpDef> GatherElementsOps() {
  return GatherSlicesOps(ElementsSpec("GatherElements"));
}

}  // namespace reprise
