// Operators whose result is their operand's bytes under other dims: Reshape,
// Flatten, Squeeze, Unsqueeze, Identity. Lowering runs no kernel for them.

#ifndef OPS_LIB_VIEWS_H_
#define OPS_LIB_VIEWS_H_

#include <string>
#include <vector>

#include "core/op.h"

namespace reprise {

// Returns the operator, whose gradient is dy under x's dims and reads no
// forward value. `infer` is left to the caller.
OpDef ViewOp(std::string name);

}  // namespace reprise

#endif  // OPS_LIB_VIEWS_H_
