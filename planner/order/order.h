// Which run comes when.

#ifndef PLANNER_ORDER_ORDER_H_
#define PLANNER_ORDER_ORDER_H_

#include <cstdint>
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

  // A claim: no order has a lower peak in which tasks on demand run directly
  // before the first task that needs them.
  bool proven = false;
  int64_t bound_bytes = 0;  // that no such order is below; a claim too
};

struct OrderOptions {
  LivenessOptions liveness;

  // Ends searches, in operands looked at, each of them; 0: there is none, and
  // the result is the best of the candidates.
  int64_t search_work = 1'000'000;
};

// Returns the tasks as close to the order of the lowered graph as their
// dependences allow: updates where they stand, replays where they are needed.
//
//   errors: Internal naming a node if the dependences form a cycle.
absl::StatusOr<Order> FileOrder(const LoweredGraph& graph,
                                const TaskGraph& tasks,
                                const LivenessOptions& options);

// Returns the order of the lowest peak found: among several candidates, of
// which FileOrder is one, and by searching from there.
//
//   errors: as above.
//   cost:   O(operands * log tasks + search_work).
absl::StatusOr<Order> LeastPeakOrder(const LoweredGraph& graph,
                                     const TaskGraph& tasks,
                                     const OrderOptions& options);

}  // namespace reprise

#endif  // PLANNER_ORDER_ORDER_H_
