// Softmax and LogSoftmax along any axis, and their gradients from the result.

#ifndef OPS_LIB_SOFTMAX_H_
#define OPS_LIB_SOFTMAX_H_

#include <string>
#include <vector>

#include "core/op.h"

namespace reprise {

// Returns the operator `name` and its gradient operator `name`Grad, which maps
// (y, dy) to dx.
std::vector<OpDef> SoftmaxLikeOps(const std::string& name, bool log);

}  // namespace reprise

#endif  // OPS_LIB_SOFTMAX_H_
