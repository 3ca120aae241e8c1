// What batch normalization does to one block of rows, or to one channel's
// planes, on one thread; batch_norm.cc shares them out and merges their sums.

#ifndef OPS_LIB_BATCH_NORM_LOOPS_H_
#define OPS_LIB_BATCH_NORM_LOOPS_H_

#include <cstdint>

#include "ops/lib/batch_norm.h"

namespace reprise {

// Sums of one thread; each array has an element for each channel.
struct ThreadSums {
  int64_t rows = 0;
  double* first = nullptr;   // the mean; of the gradient: sum of dy
  double* second = nullptr;  // squares around it; sum of dy (x - mean)
  float* block_first = nullptr;
  float* block_second = nullptr;
  float* shift = nullptr;
};

// What an element is mapped with; each array has an element for each channel.
struct ChannelFactors {
  float* factor = nullptr;
  float* first = nullptr;   // of the gradient: mean of dy
  float* second = nullptr;  // mean of dy (x - mean), over the variance
};

// Channels-last: rows of an element for each channel.

// Sums the block x [rows, channels] into three arrays of `sums`: block_first is
// its mean as a float, block_second the squares around that, shift the
// differences from it.
void BlockMoments(const float* x, int64_t rows, int64_t channels,
                  const ThreadSums& sums);

// Sums dy (where y > 0, if there is a y) into block_first and dy (x - mean)
// into block_second, over a block of rows from `row` on.
void BlockGradSums(const BatchNormGradOperands& o, int64_t row, int64_t rows,
                   int64_t channels, const ThreadSums& sums);

// Make y, and dx, of the rows [begin, end).
void MapRows(const BatchNormOperands& o, const ChannelFactors& k,
             int64_t channels, int64_t begin, int64_t end);
void MapGradRows(const BatchNormGradOperands& o, const ChannelFactors& k,
                 int64_t channels, int64_t begin, int64_t end);

// Planar: one channel at a time, a plane of pixels for each n.

// Returns the sum of a channel's elements, and of the squares around `mean`.
//
//   x: where the channel's first plane is.
double PlaneSum(const ChannelTensor& t, const float* x);
double PlaneSquares(const ChannelTensor& t, const float* x, float mean);

// Adds the channel's dy and dy (x - mean) to the two sums.
void PlaneGradSums(const ChannelTensor& t, const BatchNormGradOperands& o,
                   int64_t channel, double* first, double* second);

// Make y, and dx, of one channel.
//
//   factor: the channel's scale / sqrt(variance + epsilon).
void MapPlanes(const ChannelTensor& t, const BatchNormOperands& o, float factor,
               int64_t channel);
void MapGradPlanes(const ChannelTensor& t, const BatchNormGradOperands& o,
                   const ChannelFactors& k, int64_t channel);

}  // namespace reprise

#endif  // OPS_LIB_BATCH_NORM_LOOPS_H_
