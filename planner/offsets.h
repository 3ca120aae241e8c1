// Arena offsets for buffers of known size and lifetime.

#ifndef PLANNER_OFFSETS_H_
#define PLANNER_OFFSETS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "planner/liveness.h"

namespace reprise {

struct PlacementOptions {
  // Pairs of buffers that may be looked at, over all placements tried. Sweeps
  // over time are always made; the other placements while this lasts.
  int64_t max_pairs = 50'000'000;
};

struct Placement {
  std::vector<int64_t> offsets;  // one per buffer, in the same order
  int64_t height = 0;            // one past the last byte used
  int64_t lower_bound = 0;       // PeakLive of the buffers
  std::string name;              // of the method that found it
  int tried = 0;                 // methods, until the bound or the end
};

// Returns the lowest of a portfolio of placements in which no two buffers that
// live at one step share a byte; the first one that meets the lower bound ends
// the search.
//
//   buffers: bytes > 0 and begin < end for each. Offsets are sums of sizes, so
//            they are aligned if the sizes are.
//   cost:    O(n log n) per sweep if gaps are few; O(pairs that live together)
//            per greedy placement.
Placement PlaceBuffers(absl::Span<const Buffer> buffers,
                       const PlacementOptions& options);

}  // namespace reprise

#endif  // PLANNER_OFFSETS_H_
