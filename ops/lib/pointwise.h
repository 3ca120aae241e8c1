// Operators y[i] = f(a[i], b[i], ...) on FLOAT32 operands of one type.
//
// They run in whatever order of elements the operands have, as long as it is
// the same, and on the bytes of any input that dies.

#ifndef OPS_LIB_POINTWISE_H_
#define OPS_LIB_POINTWISE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/op.h"

namespace reprise {

// Computes n elements; `y` may be one of the inputs. Called by several threads
// at once.
using PointwiseLoop =
    std::function<void(const float* const* in, float* y, int64_t n)>;

struct PointwiseSpec {
  std::string name;
  int num_inputs = 1;
  std::vector<AttrSpec> attrs;
  int64_t flops_per_element = 1;
  // Returns the loop for a node's attributes.
  std::function<PointwiseLoop(const Attrs&)> loop;
};

// Returns the operator, without a gradient.
OpDef PointwiseOp(PointwiseSpec spec);

// Likewise, not for files: a gradient of inputs (kept value, dy).
OpDef PointwiseGradOp(PointwiseSpec spec);

}  // namespace reprise

#endif  // OPS_LIB_POINTWISE_H_
