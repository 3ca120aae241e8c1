// The one change to a schedule that lowers its peak at the least cost.

#ifndef PLANNER_NEXT_DROP_H_
#define PLANNER_NEXT_DROP_H_

#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "planner/remat/remat.h"

namespace reprise {

// A value that is dropped before the peak step and computed again right before
// its next read.
struct Drop {
  int32_t value = -1;
  int64_t bytes = 0;          // that the peak step has less
  int64_t added_cost = 0;     // of what runs again
  int64_t peak_bytes = 0;     // of the whole schedule, then
  std::vector<int32_t> runs;  // of the schedule, then
};

// Returns the drop of least added cost per byte that lowers the peak of `runs`;
// where several steps share the peak, one that lowers the first of them and no
// step above it. Ties go to more bytes, then to the lower value. nullopt: no
// single drop does, or none was found within the work.
//
// Candidates are values that live across the peak step, neither read nor
// written there. Of what the computation reads, contents that are gone at the
// peak step are either kept until then or computed again as well, whole
// generations at a time.
//
//   runs:     legal, as in EvaluateRuns.
//   max_work: operands looked at.
absl::optional<Drop> FindNextDrop(const RematGraph& graph,
                                  absl::Span<const int32_t> runs,
                                  int64_t max_work);

}  // namespace reprise

#endif  // PLANNER_NEXT_DROP_H_
