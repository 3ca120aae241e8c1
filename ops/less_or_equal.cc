// LessOrEqual with broadcasting, y = a <= b, BOOL. No gradient.
// Tested by tests/ops/compare_test.cc.

#include <vector>

#include "core/op.h"
#include "ops/lib/compare.h"

namespace reprise {

std::vector<OpDef> LessOrEqualOps() {
  return {CompareOp("LessOrEqual", Comparison::kLessOrEqual)};
}

}  // namespace reprise
