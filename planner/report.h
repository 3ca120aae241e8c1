// What a plan's reader wants to know, and what it is read off: bytes at the
// peak here, residuals in planner/residuals.h, regions in planner/ledger.h.

#ifndef PLANNER_REPORT_H_
#define PLANNER_REPORT_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/graph.h"
#include "core/lowered_graph.h"
#include "planner/liveness.h"
#include "planner/order/order.h"
#include "planner/planner.h"
#include "planner/regions.h"
#include "planner/task_graph.h"

namespace reprise {

// Everything a report is made of. All of it must outlive the calls that take
// it.
struct PlanParts {
  const Graph& step_graph;
  const LoweredGraph& graph;
  const Regions& regions;
  const Resolution& resolution;
  const Order& order;
  const Liveness& liveness;
};

// Returns the name that a lowered value goes by in reports: of the step graph
// value it is or copies; made up where there is none.
std::string LogicalName(const Graph& step_graph, const LoweredGraph& graph,
                        LoweredValueId value);

// Returns what lives at the peak step, largest first.
std::vector<LiveAtPeak> ListLiveAtPeak(const PlanParts& parts);

// Returns the sums of `live` by class.
BytesByClass SumByClass(absl::Span<const LiveAtPeak> live);

}  // namespace reprise

#endif  // PLANNER_REPORT_H_
