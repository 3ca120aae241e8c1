// Graphs by hand or at random, with their replays, ready to be ordered.

#ifndef TESTS_PLANNER_RESOLVED_H_
#define TESTS_PLANNER_RESOLVED_H_

#include "planner/order/order.h"
#include "planner/task_graph.h"
#include "tests/planner/lowered_builder.h"

namespace reprise {

// A graph with its replays.
struct Resolved {
  LoweredBuilder b;
  TaskGraph tasks;
};

Resolved ResolvedOf(LoweredBuilder b);

// Returns LeastPeakOrder and FileOrder with default options.
Order LeastPeakOf(const Resolved& r);
Order FileOrderOf(const Resolved& r);

}  // namespace reprise

#endif  // TESTS_PLANNER_RESOLVED_H_
