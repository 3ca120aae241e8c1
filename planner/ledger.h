// What each region changes, against a plan without it.

#ifndef PLANNER_LEDGER_H_
#define PLANNER_LEDGER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/liveness.h"
#include "planner/planner.h"
#include "planner/report.h"

namespace reprise {

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

}  // namespace reprise

#endif  // PLANNER_LEDGER_H_
