// A complete search for offsets under a capacity.

#ifndef PLANNER_OFFSET_SEARCH_H_
#define PLANNER_OFFSET_SEARCH_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "planner/sections.h"

namespace reprise {

struct OffsetSearchOptions {
  // No placement is lower, by proof; the search ends when it gets there.
  int64_t lower_bound = 0;

  // Height of the best placement known; only lower ones are of interest.
  int64_t known_height = INT64_MAX;

  // A placement that fits ends the search; 0: only one at the bound does.
  int64_t capacity_bytes = 0;

  // In steps of the search, a few nanoseconds each.
  int64_t max_work = 100'000'000;

  // Asked now and then; true ends the search. Null: never.
  std::function<bool()> should_stop;
};

struct OffsetSearchResult {
  std::vector<int64_t> offsets;  // empty: nothing lower than known_height found
  int64_t height = 0;            // of `offsets`, or known_height

  // Nothing lower exists: lower_bound, or more if all placements below were
  // ruled out.
  int64_t proven_bound = 0;

  int64_t work = 0;
  int32_t runs = 0;  // from the root, each in an order of its own
};

// Returns the lowest placement found, by depth-first search that would rule out
// every other one, repeated in ever other orders with rising limits.
//
//   bytes:    > 0, one per buffer; their sum fits in 62 bits.
//   sections: of the same buffers.
//   cost:     max_work, and O(sum of lifetimes in sections) time and memory to
//             begin with.
OffsetSearchResult SearchOffsets(absl::Span<const int64_t> bytes,
                                 const Sections& sections,
                                 const OffsetSearchOptions& options);

// Returns how much work a single descent of the search to a placement is
// likely to be, in units of max_work; with less the search is not worth a
// start.
//
//   cost: O(n).
int64_t DescentWork(const Sections& sections);

}  // namespace reprise

#endif  // PLANNER_OFFSET_SEARCH_H_
