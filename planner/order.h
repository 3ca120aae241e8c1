// Which run comes when.

#ifndef PLANNER_ORDER_H_
#define PLANNER_ORDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/lowered_graph.h"
#include "planner/liveness.h"
#include "planner/task_graph.h"

namespace reprise {

struct Order {
  std::vector<TaskId> tasks;  // every task once
  std::string name;           // of the method that found it
  Peak peak;                  // persistent values not counted
};

// Returns the tasks as close to the order of the lowered graph as their
// dependences allow: updates where they stand, replays where they are needed.
//
//   errors: Internal naming a node if the dependences form a cycle.
absl::StatusOr<Order> FileOrder(const LoweredGraph& graph,
                                const TaskGraph& tasks,
                                const LivenessOptions& options);

// Returns the order of the lowest peak among several candidates, of which
// FileOrder is one; the first of equals.
//
//   errors: as above.
//   cost:   O(operands * log tasks).
absl::StatusOr<Order> LeastPeakOrder(const LoweredGraph& graph,
                                     const TaskGraph& tasks,
                                     const LivenessOptions& options);

}  // namespace reprise

#endif  // PLANNER_ORDER_H_
