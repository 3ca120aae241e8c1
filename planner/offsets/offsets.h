// Arena offsets for buffers of known size and lifetime.

#ifndef PLANNER_OFFSETS_OFFSETS_H_
#define PLANNER_OFFSETS_OFFSETS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "planner/liveness.h"

namespace reprise {

struct PlacementOptions {
  // The first placement that fits ends the search; 0: only one at the lower
  // bound does.
  int64_t capacity_bytes = 0;

  // Entries of lists of occupied bytes that first fit may look at, over all
  // placements tried: the pairs of buffers that live together, at most. Some
  // ten nanoseconds each. Sweeps over time are always made.
  int64_t max_pairs = 50'000'000;

  // Steps of the complete search, some nanoseconds each; 0: none. It is left
  // out where they would hardly be enough for one placement.
  int64_t max_search_work = 100'000'000;

  // Asked now and then; true ends the search with the best placement so far.
  // Null: never. Results depend on it, so planning does without.
  std::function<bool()> should_stop;
};

struct Placement {
  std::vector<int64_t> offsets;  // one per buffer, in the same order
  int64_t height = 0;            // one past the last byte used
  int64_t lower_bound = 0;       // PeakLive of the buffers

  // No placement is lower: lower_bound, or more where the complete search ruled
  // out all that are. Unlike lower_bound, that has no witness.
  int64_t proven_bound = 0;
  bool proven = false;  // height = proven_bound

  std::string name;  // of the method that found it
  int tried = 0;     // placements and runs of the search
};

// Returns the lowest placement found in which no two buffers that live at one
// step share a byte. Sweeps over time are tried first, then first fit in many
// orders, then a complete search takes turns with more orders; the first
// placement that meets the lower bound ends it all.
//
//   buffers: bytes > 0 and begin < end for each; the sum of bytes fits in 62
//            bits. Offsets are sums of sizes, so they are aligned if the sizes
//            are.
//   cost:    O(n log n) if a sweep meets the bound, else as the options allow.
Placement PlaceBuffers(absl::Span<const Buffer> buffers,
                       const PlacementOptions& options);

}  // namespace reprise

#endif  // PLANNER_OFFSETS_OFFSETS_H_
