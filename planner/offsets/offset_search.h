// A complete search for offsets under a capacity.

#ifndef PLANNER_OFFSETS_OFFSET_SEARCH_H_
#define PLANNER_OFFSETS_OFFSET_SEARCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "planner/offsets/sections.h"

namespace reprise {

struct OffsetSearchOptions {
  // No placement is lower, by proof; the search ends when it gets there.
  int64_t lower_bound = 0;

  // A placement that fits ends the search; 0: only one at the bound does.
  int64_t capacity_bytes = 0;
};

// Looks for the lowest placement, by depth-first search that would rule out
// every other one, repeated in ever other orders with rising limits.
class OffsetSearch {
 public:
  //   bytes:        > 0, one per buffer; their sum fits in 62 bits. Borrowed.
  //   sections:     of the same buffers.
  //   known_height: of the best placement known; only lower ones are of
  //                 interest.
  //   cost:         O(sum of lifetimes in sections), time and memory.
  OffsetSearch(absl::Span<const int64_t> bytes, const Sections& sections,
               int64_t known_height, const OffsetSearchOptions& options);
  ~OffsetSearch();

  // Goes on for about `work` steps of a few nanoseconds each: the last run is
  // not cut short.
  //
  //   known_height: as above, if others have found a lower placement.
  //   should_stop:  asked now and then; true ends the call. Null: never.
  void Continue(int64_t work, int64_t known_height,
                const std::function<bool()>& should_stop);

  // Empty: nothing lower than the known height was found.
  const std::vector<int64_t>& offsets() const;

  // Of `offsets`, or the known height.
  int64_t height() const;

  // Nothing lower exists: the lower bound, or more if all placements below were
  // ruled out. That the search missed none is a claim which no witness shows.
  int64_t proven_bound() const;

  // True: at the proven bound, or within the capacity.
  bool done() const;

  int64_t work() const;
  int32_t runs() const;  // from the root, each in an order of its own

 private:
  class Driver;
  std::unique_ptr<Driver> driver_;
};

// Returns how much work a single descent of the search to a placement is
// likely to be, in steps; with less the search is not worth a start.
//
//   cost: O(n).
int64_t DescentWork(const Sections& sections);

}  // namespace reprise

#endif  // PLANNER_OFFSETS_OFFSET_SEARCH_H_
