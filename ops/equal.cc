// Equal with broadcasting, y = a == b, BOOL. BOOL operands too; no gradient.
// Tested by tests/ops/compare_test.cc.

#include <vector>

#include "core/op.h"
#include "ops/lib/compare.h"

namespace reprise {

std::vector<OpDef> EqualOps() {
  return {CompareOp("Equal", Comparison::kEqual)};
}

}  // namespace reprise
