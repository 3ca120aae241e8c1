// The loops of batch normalization: moments of each channel, the affine map,
// and its gradient, with a Relu behind the map where there is one.
//
// Tensors are [n, channels, pixels], with the channels of a pixel side by side
// (channels-last) or the pixels of a channel (planar).

#ifndef OPS_LIB_BATCH_NORM_H_
#define OPS_LIB_BATCH_NORM_H_

#include <cstdint>

#include "core/op.h"

namespace reprise {

struct ChannelTensor {
  int64_t n = 0;
  int64_t channels = 0;
  int64_t pixels = 0;
  bool channels_last = false;

  int64_t per_channel() const { return n * pixels; }  // elements
};

// y = scale (x - mean) / sqrt(variance + epsilon) + b. `y` may be `x`.
struct BatchNormOperands {
  const float* x = nullptr;
  const float* scale = nullptr;  // [channels], as are all that follow but y
  const float* b = nullptr;
  float* mean = nullptr;
  float* variance = nullptr;  // of the population
  float* y = nullptr;
  float epsilon = 0;
  bool of_batch = false;  // mean and variance are results
  bool relu = false;      // y = max(y, 0), NaN staying NaN
};

// dx, dscale and db; each may be nullptr: not wanted. `dx` may be `dy`, `x` or
// `y`.
struct BatchNormGradOperands {
  const float* dy = nullptr;
  const float* x = nullptr;
  const float* y = nullptr;  // with a Relu behind the map: what that gave
  const float* scale = nullptr;
  const float* mean = nullptr;
  const float* variance = nullptr;
  float* dx = nullptr;
  float* dscale = nullptr;
  float* db = nullptr;
  float epsilon = 0;
  bool of_batch = false;  // mean and variance depend on x
};

// Bytes of scratchpad that either needs.
int64_t BatchNormScratchpadBytes(const ChannelTensor& tensor, const OpEnv& env);

void RunBatchNorm(const ChannelTensor& tensor, const BatchNormOperands& o,
                  int threads, void* scratchpad);

void RunBatchNormGrad(const ChannelTensor& tensor,
                      const BatchNormGradOperands& o, int threads,
                      void* scratchpad);

}  // namespace reprise

#endif  // OPS_LIB_BATCH_NORM_H_
