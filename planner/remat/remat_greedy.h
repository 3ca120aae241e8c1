// Offline greedy: runs the order in a memory of the budget's size, and evicts.

#ifndef PLANNER_REMAT_REMAT_GREEDY_H_
#define PLANNER_REMAT_REMAT_GREEDY_H_

#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "planner/remat/remat_model.h"

namespace reprise {

// What is evicted first: least of
//   cost to have it again / (bytes * distance to the next read ^ power).
struct GreedyOptions {
  double distance_power = 1;
  double bytes_power = 1;
  // The cost counts what would have to be repeated for it, not its node alone.
  bool with_evicted_operands = true;
};

// Returns a schedule within the budget; nullopt if the eviction gets stuck or
// `max_runs` runs do not suffice. `work` grows by what was looked at.
//
//   cost: O(evictions * values live), of which no more than some hundreds are
//         looked at.
absl::optional<std::vector<int32_t>> GreedyRuns(const RematModel& model,
                                                int64_t budget_bytes,
                                                const GreedyOptions& options,
                                                int64_t max_runs,
                                                int64_t* work);

}  // namespace reprise

#endif  // PLANNER_REMAT_REMAT_GREEDY_H_
