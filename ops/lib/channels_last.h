// The layout of activations in convolutional nets: all channels of a pixel side
// by side.

#ifndef OPS_LIB_CHANNELS_LAST_H_
#define OPS_LIB_CHANNELS_LAST_H_

#include "core/tensor_type.h"
#include "ops/lib/layout.h"

namespace reprise {

// Returns the layout [n, d1, .., c] of a tensor [n, c, d1, ..], e.g. "acdb" for
// rank 4; row-major below rank 3.
inline Layout ChannelsLast(int rank) {
  if (rank < 3) return Layout();
  std::vector<int> order = {0};
  for (int axis = 2; axis < rank; ++axis) order.push_back(axis);
  order.push_back(1);
  return LayoutOfOrder(order);
}

// Returns ChannelsLast for a tensor with these dims, but row-major where that
// is the same order in memory: one channel, or one pixel.
inline Layout ChannelsLastOf(const Dims& dims) {
  const Layout layout = ChannelsLast(static_cast<int>(dims.size()));
  return IsByteEqualToRowMajor(dims, layout) ? Layout() : layout;
}

}  // namespace reprise

#endif  // OPS_LIB_CHANNELS_LAST_H_
