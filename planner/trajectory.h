// A series of schedules of one pass, each with a smaller arena than the last.

#ifndef PLANNER_TRAJECTORY_H_
#define PLANNER_TRAJECTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/liveness.h"
#include "planner/offsets/offsets.h"
#include "planner/recompute.h"
#include "planner/regions.h"

namespace reprise {

// A schedule with its placement, without what lives longer than a step.
struct PlacedSchedule {
  std::vector<int32_t> runs;  // of ToRematGraph; see planner/remat/remat.h
  int64_t added_cost = 0;     // nanoseconds of what the planner recomputes
  std::string method;         // that found it; empty: nothing is recomputed
  int64_t peak_bytes = 0;
  Placement placement;
};

struct TrajectoryOptions {
  LivenessOptions liveness;
  PlacementOptions placement;

  // Work of the search for recomputations, over all schedules.
  int64_t max_remat_work = 0;
};

// Returns schedules of falling height and rising cost. The first is `tasks` in
// the order given, the last has the lowest height found; which there are
// depends on the arguments alone, not on a budget.
//
// Heights are those of placements, so fragmentation counts: where one exceeds
// the target, the search is run again with a target that much lower.
std::vector<PlacedSchedule> MakeTrajectory(const LoweredGraph& graph,
                                           const Regions& regions,
                                           const TaskGraph& tasks,
                                           absl::Span<const TaskId> order,
                                           const PlacedSchedule& first,
                                           const TrajectoryOptions& options);

// Returns the placement of a sequence of tasks.
Placement PlaceSequence(const LoweredGraph& graph, const TaskSequence& sequence,
                        const LivenessOptions& liveness,
                        const PlacementOptions& options);

}  // namespace reprise

#endif  // PLANNER_TRAJECTORY_H_
