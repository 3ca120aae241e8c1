// The layout of activations in convolutional nets: all channels of a pixel side
// by side.

#ifndef OPS_LIB_CHANNELS_LAST_H_
#define OPS_LIB_CHANNELS_LAST_H_

#include "core/tensor_type.h"

namespace reprise {

// Returns the layout [n, d1, .., c] of a tensor [n, c, d1, ..], e.g. "acdb" for
// rank 4; row-major below rank 3.
Layout ChannelsLast(int rank);

// Returns ChannelsLast for a tensor with these dims, but row-major where that
// is the same order in memory: one channel, or one pixel.
Layout ChannelsLastOf(const Dims& dims);

// Whether the elements lie in the order of ChannelsLast.
bool IsChannelsLast(const Dims& dims, const Layout& layout);

// Returns the layout that a kernel for channels-last operands asks for: the
// offered one if it is the same order in memory, else ChannelsLastOf(dims).
Layout WantChannelsLast(const Dims& dims, const Layout& offered);

}  // namespace reprise

#endif  // OPS_LIB_CHANNELS_LAST_H_
