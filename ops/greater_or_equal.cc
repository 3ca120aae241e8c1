// GreaterOrEqual with broadcasting, y = a >= b, BOOL. No gradient.
// Tested by tests/ops/compare_test.cc.

#include <vector>

#include "core/op.h"
#include "ops/lib/compare.h"

namespace reprise {

std::vector<OpDef> GreaterOrEqualOps() {
  return {
      CompareOp("GreaterOrEqual", Comparison::kLessOrEqual, /*swapped=*/true)};
}

}  // namespace reprise
