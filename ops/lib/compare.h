// Comparisons: BOOL results of operands that broadcast to each other.

#ifndef OPS_LIB_COMPARE_H_
#define OPS_LIB_COMPARE_H_

#include <string>

#include "core/op.h"

namespace reprise {

enum class Comparison { kEqual, kLess, kLessOrEqual };

// Returns the operator, which has no gradient. It takes FLOAT32, INT32, INT64
// and UINT8, and BOOL for kEqual. A comparison with NaN is false.
//
//   swapped: compares b with a.
OpDef CompareOp(std::string name, Comparison comparison, bool swapped = false);

}  // namespace reprise

#endif  // OPS_LIB_COMPARE_H_
