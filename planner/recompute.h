// From tasks to the abstract problem of planner/remat/remat.h, and back.

#ifndef PLANNER_RECOMPUTE_H_
#define PLANNER_RECOMPUTE_H_

#include <vector>

#include "absl/types/span.h"
#include "core/lowered_graph.h"
#include "planner/liveness.h"
#include "planner/regions.h"
#include "planner/remat/remat.h"
#include "planner/task_graph.h"

namespace reprise {

// Returns the problem whose node k is task `order[k]` and whose value i is
// instance i. What persists has no bytes. Only tasks that no annotation binds
// may repeat.
RematGraph ToRematGraph(const LoweredGraph& graph, const Regions& regions,
                        const TaskGraph& tasks, absl::Span<const TaskId> order,
                        const LivenessOptions& options);

// Tasks, and the sequence in which they run.
struct TaskSequence {
  TaskGraph tasks;
  std::vector<TaskId> order;
};

// Returns the tasks that a schedule of ToRematGraph(...) stands for: each run
// after a node's first is a replay of its own, and every read means the latest
// run before it.
//
//   runs: of RematSchedule.
TaskSequence WithRecomputes(const LoweredGraph& graph, const Regions& regions,
                            const TaskGraph& tasks,
                            absl::Span<const TaskId> order,
                            absl::Span<const int32_t> runs);

}  // namespace reprise

#endif  // PLANNER_RECOMPUTE_H_
