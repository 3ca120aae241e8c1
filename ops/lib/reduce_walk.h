// The axes of a reduction's operand, merged to as few as describe it.

#ifndef OPS_LIB_REDUCE_WALK_H_
#define OPS_LIB_REDUCE_WALK_H_

#include <cstdint>
#include <vector>

#include "core/op.h"
#include "core/tensor_type.h"

namespace reprise {

struct StridedAxis {
  int64_t dim;
  int64_t stride;  // of the operand, in elements
};

// A reduction with its axes merged.
struct ReduceWalk {
  std::vector<StridedAxis> kept;     // outermost first, without the inner one
  std::vector<StridedAxis> reduced;  // likewise
  int64_t inner = 1;                 // contiguous elements
  bool inner_reduced = true;
  int64_t num_kept = 1;     // product of `kept`
  int64_t num_reduced = 1;  // product of `reduced`
};

// Returns the walk of operand `x` over the node's reduced axes.
ReduceWalk MakeReduceWalk(const TensorType& x, const Layout& layout,
                          const Attrs& attrs);

// Returns where the elements of `axes` at a row-major index lie.
int64_t OffsetOf(const std::vector<StridedAxis>& axes, int64_t index);

}  // namespace reprise

#endif  // OPS_LIB_REDUCE_WALK_H_
