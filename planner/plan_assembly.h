// From a schedule with offsets to a Plan.

#ifndef PLANNER_PLAN_ASSEMBLY_H_
#define PLANNER_PLAN_ASSEMBLY_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/graph.h"
#include "core/lowered_graph.h"
#include "core/plan.h"
#include "planner/liveness.h"
#include "planner/task_graph.h"

namespace reprise {

// Offsets of persistent values, by lowered id (-1 elsewhere), and the segment.
struct Segment {
  std::vector<int64_t> offset_of;
  int64_t end = 0;    // of everything that persists
  int64_t bytes = 0;  // of what this graph has of it
};

// Returns where the persistent values of `graph` lie.
//
//   persistent: as for PassPlanner::Create.
//   errors:     Internal, naming the value, if one has no place there, or one
//               of other bytes or layout.
absl::StatusOr<Segment> FindPersistent(
    const Graph& step_graph, const LoweredGraph& graph,
    absl::Span<const PersistentValue> persistent);

// Returns a schedule as a Plan.
//
//   offsets: of each buffer, from the end of the persistent segment.
Plan AssemblePlan(const LoweredGraph& graph, PlanMode mode,
                  const TaskGraph& tasks, absl::Span<const TaskId> order,
                  const Liveness& liveness, absl::Span<const int64_t> offsets,
                  const Segment& segment);

// MakeNaivePlan(...).end_bytes.
int64_t NaiveBytes(const LoweredGraph& graph, const Segment& segment);

}  // namespace reprise

#endif  // PLANNER_PLAN_ASSEMBLY_H_
