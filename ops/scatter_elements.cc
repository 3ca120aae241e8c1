// ScatterElements: data in which each element of `updates` has met the element
// at its own position, but for `axis`, where its index stands in.
//
//   y = data;  y[indices[i, j], j] = updates[i, j]   (axis 0, reduction none)
//
// Updates come in the order of the indices. What the gradients read is said in
// ops/lib/indexed.h. Tested by tests/ops/indexed_test.cc.

#include <vector>

#include "core/op.h"
#include "ops/lib/indexed.h"

namespace reprise {

std::vector<OpDef> ScatterElementsOps() {
  return ScatterSlicesOps(ElementsSpec("ScatterElements"));
}

}  // namespace reprise
