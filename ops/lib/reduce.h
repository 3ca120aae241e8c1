// Reductions over any axes, and what their gradients share.
//
// The operand's axes, in the order in which they lie in memory, are merged to
// as few as describe the reduction; the innermost one is either reduced, and
// then a contiguous run becomes one number, or kept, and then contiguous rows
// are combined into one:
//
//   [32,7,7,64] over axes 1 and 2  ->  32 times 49 rows of 64 into one
//   [32,64] over axis 1            ->  32 times a run of 64 into a number
//
// Sums are taken in blocks, and blocks are added in double, so an error does
// not grow with the number of elements. The order of additions depends on dims,
// layout and thread count alone.

#ifndef OPS_LIB_REDUCE_H_
#define OPS_LIB_REDUCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/op.h"

namespace reprise {

enum class Reducing : uint8_t {
  kSum,
  kMean,
  kMax,
  kMin,
  kProd,
  kL1,
  kL2,
  kSumSquare,
  kLogSum,
  kLogSumExp,
};

// Returns the ONNX operator with that name, without a gradient: attributes
// axes (absent or empty: all), keepdims, noop_with_empty_axes. Sums, products,
// minima and maxima are also of INT32 and INT64, wrapping around.
OpDef ReduceOp(std::string name, Reducing reduction);

// The reduced axes of a node, ascending.
std::vector<int> ReducedAxes(const Attrs& attrs, int rank);

// Adds the view of `value`, a reduction's result or gradient, in which the
// reduced axes are there with dim 1; `value` itself where they are.
ValueId WithKeptDims(GradBuilder& b, ValueId value);

// The gradient of a minimum or maximum: the elements that equal it share it
// equally.
std::vector<ValueId> ExtremeGrad(GradBuilder& b);

// Adds the nodes that spread `dy`, a reduction's result or gradient, over the
// dims of its operand `x` again: a view where the axes had been dropped, and an
// Expand.
ValueId SpreadOver(GradBuilder& b, ValueId dy, ValueId x);

}  // namespace reprise

#endif  // OPS_LIB_REDUCE_H_
