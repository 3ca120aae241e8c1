// Exhaustive search: the cheapest schedule of a small graph, or the proof that
// a known one is.

#ifndef PLANNER_REMAT_REMAT_EXACT_H_
#define PLANNER_REMAT_REMAT_EXACT_H_

#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "planner/remat/remat_model.h"

namespace reprise {

struct ExactOptions {
  int64_t budget_bytes = 0;
  bool fixed_order = true;
  // Only schedules that add less are of interest.
  int64_t below_added_cost = INT64_MAX;
  int64_t max_states = 0;
  int64_t work_limit = 0;
};

struct ExactResult {
  // Cheaper than `below_added_cost`; nullopt: none met.
  absl::optional<std::vector<int32_t>> runs;
  // Nothing cheaper exists than `runs`, or than `below_added_cost`.
  bool complete = false;
  int64_t work = 0;
};

// Whether the graph is of the kind that ExactRuns can search at all.
bool CanSearchExactly(const RematModel& model, bool fixed_order);

// cost: O(states * nodes^2), with at most `max_states` states of 100 bytes.
ExactResult ExactRuns(const RematModel& model, const ExactOptions& options);

}  // namespace reprise

#endif  // PLANNER_REMAT_REMAT_EXACT_H_
