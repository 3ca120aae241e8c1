// Offsets by walking along time, as an allocator would that knows all sizes.

#ifndef PLANNER_OFFSETS_SWEEP_H_
#define PLANNER_OFFSETS_SWEEP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "planner/liveness.h"

namespace reprise {

enum class SweepDirection : uint8_t {
  kForward,   // from the first step to the last
  kBackward,  // from the last step to the first
  // Buffers that live at the peak are stacked first, without a gap; then
  // forward from there to the end, and backward to the start.
  kOutward,
};

// Which gap a buffer takes of those that are large enough.
enum class Fit : uint8_t { kLowest, kTightest };

std::string SweepName(SweepDirection direction, Fit fit);

// Returns one offset per buffer, in the same order.
//
//   buffers: bytes > 0 and 0 <= begin < end for each.
//   peak:    PeakLive of the buffers.
//   cost:    O(n log n), unless many gaps are a little too small.
std::vector<int64_t> Sweep(absl::Span<const Buffer> buffers, const Peak& peak,
                           SweepDirection direction, Fit fit);

}  // namespace reprise

#endif  // PLANNER_OFFSETS_SWEEP_H_
