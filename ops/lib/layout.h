// What a Layout says about the order of a tensor's elements.
//
// "" is dense row-major. "acdb" is a permutation: the axes from the outermost
// to the innermost, axis 0 being `a`. Anything with digits, such as "Acdb64a",
// is blocked and may be padded; only oneDNN reads and writes those (onednn.h).

#ifndef OPS_LIB_LAYOUT_H_
#define OPS_LIB_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "core/tensor_type.h"

namespace reprise {

// Whether `layout` is dense and without blocks: every element once, in the
// order of a permutation of the axes.
bool IsPermutation(const Layout& layout);

// Returns the axes from the outermost to the innermost of a permutation layout.
std::vector<int> AxisOrder(const Layout& layout, int rank);

// Returns the layout with that order of axes.
Layout LayoutOfOrder(const std::vector<int>& order);

// Returns the distance in elements between neighbours along each logical axis
// of a permutation layout.
Dims StridesOf(const Dims& dims, const Layout& layout);

// Returns `of_axes` (dims, strides, ...) in the given order of axes.
Dims InOrder(const Dims& of_axes, const std::vector<int>& order);

// Whether the elements of a tensor with `dims` lie in memory as in row-major
// order: axes of size 1 may stand anywhere.
bool IsByteEqualToRowMajor(const Dims& dims, const Layout& layout);

}  // namespace reprise

#endif  // OPS_LIB_LAYOUT_H_
