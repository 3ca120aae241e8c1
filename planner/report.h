// What a plan's reader wants to know: who keeps what, and what it costs.

#ifndef PLANNER_REPORT_H_
#define PLANNER_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/graph.h"
#include "core/lowered_graph.h"
#include "planner/liveness.h"
#include "planner/order/order.h"
#include "planner/planner.h"
#include "planner/regions.h"
#include "planner/task_graph.h"

namespace reprise {

// Everything a report is made of. All of it must outlive the calls below.
struct PlanParts {
  const Graph& step_graph;
  const LoweredGraph& graph;
  const Regions& regions;
  const Resolution& resolution;
  const Order& order;
  const Liveness& liveness;
};

// Returns the forward values whose forward content backward nodes or replays
// read, inputs and parameters too, in the order in which they are made.
std::vector<Residual> ListResiduals(const PlanParts& parts);

struct LedgerOptions {
  LivenessOptions liveness;

  // Node visits that all regions together may cost; regions beyond that stay
  // without a verdict.
  int64_t max_work = 20'000'000;

  // Of the search behind the plan's own order (see planner/order/order.h).
  // Orders without a region are searched as long, if `max_work` lets all of
  // them be; otherwise both sides of every verdict are the best of the
  // candidates.
  int64_t search_work = 0;
};

// Returns what each region of the step graph changes, all others as they are.
absl::StatusOr<std::vector<RegionReport>> MakeLedger(
    const PlanParts& parts, const LedgerOptions& options);

// Corrects the entries of `auto` regions for what the planner itself
// recomputes, against not repeating the nodes whose innermost region it is.
//
//   annotated: what annotations alone ask for; what MakeLedger was given.
//   planned:   the plan; `runs` (see planner/remat/remat.h) made it of
//   `annotated`.
void JudgeAutoRegions(const PlanParts& annotated, const PlanParts& planned,
                      absl::Span<const int32_t> runs,
                      const LedgerOptions& options,
                      std::vector<RegionReport>& ledger);

// Returns the name that a lowered value goes by in reports: of the step graph
// value it is or copies; made up where there is none.
std::string LogicalName(const Graph& step_graph, const LoweredGraph& graph,
                        LoweredValueId value);

// Returns what lives at the peak step, largest first.
//
//   persistent: the segment's values; of these, the ones of this graph count.
std::vector<LiveAtPeak> ListLiveAtPeak(const PlanParts& parts);

// Returns the sums of `live` by class.
BytesByClass SumByClass(absl::Span<const LiveAtPeak> live);

}  // namespace reprise

#endif  // PLANNER_REPORT_H_
