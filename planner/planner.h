// The planner: decides what is kept, what is recomputed, in which order steps
// run, and at which byte every value lies. The only public header of planner/.
//
// Flow of MakePlan, one file or folder per stage:
//   regions.cc       which nodes lie where; resolve.cc: held values and replays
//   order/           a sequence of node runs
//   trajectory.cc    with a budget: what to recompute besides, by remat/
//   liveness.cc      buffers: merged values with lifetimes; peak, working set
//   offsets/         arena offsets
//   plan_assembly.cc from a schedule with offsets to a Plan
//   residuals.cc     who keeps what, and why
//   ledger.cc        what each region changes
//   report.cc        what lives at the peak, bytes by class
//   next_drop.cc     which single change would lower the peak

#ifndef PLANNER_PLANNER_H_
#define PLANNER_PLANNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/graph.h"
#include "core/lowered_graph.h"
#include "core/plan.h"

namespace reprise {

struct PlanOptions {
  // Arena bytes that the plan may use, persistent segment included.
  int64_t budget_bytes = INT64_MAX;
  bool in_place = true;
  // Refuse kernels that take heap during a step.
  bool strict = false;
  // Ends searches, in units of work; same on every machine.
  int64_t work_limit = 1'000'000;
};

// A forward value that backward nodes or replays read.
struct Residual {
  std::string value;  // logical name
  LoweredValueId lowered = -1;
  TensorType type;          // logical
  int64_t bytes = 0;        // that keeping it adds; 0: input or parameter
  std::string producer;     // node name; empty for inputs and parameters
  std::string producer_op;  // operator name
  std::vector<std::string> readers;  // logical nodes whose backward reads it
  std::string region;                // innermost of the producer; empty: none
  std::string reason;
  bool workspace = false;  // a statistic or workspace of its producer
};

// What a region does to the plan, against saving everything in its place and
// all other regions as they are.
enum class Verdict : uint8_t {
  kNoEffect,   // the same residuals, the same replays
  kSaves,      // the peak is lower with the region
  kCostsMore,  // it is not
  kNotJudged,  // left out: so many regions that judging would take too long
};

// Returns e.g. "no effect".
std::string ToString(Verdict verdict);

struct RegionReport {
  std::string name;
  std::string policy;
  int64_t bytes_avoided = 0;       // residual bytes
  int64_t peak_bytes_avoided = 0;  // of the plan's peak
  int32_t steps_replayed = 0;
  int64_t replay_cost_nanoseconds = 0;
  // Operators replayed, with how often, in the order of names; each of several
  // in one kernel counts.
  std::vector<std::pair<std::string, int>> replayed;
  Verdict verdict = Verdict::kNoEffect;
};

// What lives at the peak step, by class; sums to Plan::peak_live_bytes.
struct BytesByClass {
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t optimizer_state = 0;
  int64_t state = 0;
  int64_t inputs = 0;
  int64_t residuals = 0;
  int64_t temporaries = 0;
  int64_t workspaces = 0;
  int64_t scratchpads = 0;
};

struct LiveAtPeak {
  std::string name;
  std::string what;  // a class of BytesByClass
  int64_t bytes = 0;
};

// The one value to drop, and to compute again right before its next read, that
// lowers the peak at the least cost for a byte. Where several steps share the
// peak, it lowers the first of them.
struct NextDrop {
  std::string value;  // logical name
  int64_t bytes = 0;  // that the peak step has less
  int64_t added_cost_nanoseconds = 0;
  int64_t peak_bytes_after = 0;  // of the plan, then; as peak_live_bytes
};

struct PlanReport {
  std::vector<Residual> residuals;
  std::vector<RegionReport> regions;
  BytesByClass bytes_by_class;
  std::vector<LiveAtPeak> live_at_peak;  // largest first
  std::string peak_node;                 // name of the node at the peak step
  absl::optional<NextDrop> next_drop;    // nullopt: no single one was found
  int32_t recomputed_steps = 0;
  int64_t recompute_cost_nanoseconds = 0;
  int64_t cost_nanoseconds = 0;    // of all other steps
  int64_t library_heap_bytes = 0;  // largest of any step
  int64_t naive_bytes = 0;         // of MakeNaivePlan
  std::string order;               // which order won
  std::string rematerialization;   // which search won; empty: none was needed
  std::string placement;           // which placement won
  bool placement_optimal = false;  // arena = lower bound
  std::vector<std::string> notes;  // e.g. annotations without effect
};

struct PlanResult {
  Plan plan;
  PlanReport report;
};

// One plan of a pass's trajectory.
struct TradeOff {
  int64_t arena_bytes = 0;             // persistent segment included
  int64_t peak_live_bytes = 0;         // likewise
  int64_t added_cost_nanoseconds = 0;  // of what the planner recomputes
  int64_t cost_nanoseconds = 0;        // of every other step
  int32_t recomputed_steps = 0;
  std::string method;
};

// Returns offsets for the persistent values of `lowered`, in order.
std::vector<PersistentValue> PlacePersistent(const Graph& step_graph,
                                             const LoweredGraph& lowered);

// The plans of one pass: from the one that nothing but annotations makes
// recompute, down to the smallest arena found. They do not depend on the
// budgets asked for: a budget gets the cheapest one that fits, so a smaller
// budget never gets a larger arena.
class PassPlanner {
 public:
  // The graphs must outlive the result.
  //
  //   persistent: made by PlacePersistent, maybe from another mode's graph;
  //               every persistent value of `lowered` is there by name.
  //   options:    `budget_bytes` is not used.
  //   errors: FailedPrecondition if `strict` finds a kernel that takes heap;
  //           InvalidArgument for annotations that contradict each other or the
  //           graph.
  static absl::StatusOr<std::unique_ptr<PassPlanner>> Create(
      const Graph& step_graph, const LoweredGraph& lowered, PlanMode mode,
      absl::Span<const PersistentValue> persistent, const PlanOptions& options);
  ~PassPlanner();

  // Returns the smallest arena found. The first call searches.
  int64_t SmallestArenaBytes();

  // Returns the largest single step with what persists: no budget below it can
  // be met. Searches nothing.
  int64_t WorkingSetBytes() const;

  // Returns the trajectory, the largest arena and least cost first.
  std::vector<TradeOff> Curve();

  // Returns the cheapest plan whose arena is within the budget, with its
  // explanation. Searches only if the first plan does not fit.
  //
  //   errors: ResourceExhausted naming the smallest arena found and the working
  //           set, if the budget is below it.
  absl::StatusOr<PlanResult> Fit(int64_t budget_bytes);

  // The same without the explanation.
  absl::StatusOr<Plan> FitPlan(int64_t budget_bytes);

  // Returns the error of `Fit` for a budget below the smallest arena found.
  absl::Status BudgetTooSmall(int64_t budget_bytes);

 private:
  class Impl;
  explicit PassPlanner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Returns the plan of a step graph within `options.budget_bytes`: Create and
// Fit, with the errors of both.
absl::StatusOr<PlanResult> MakePlan(
    const Graph& step_graph, const LoweredGraph& lowered, PlanMode mode,
    absl::Span<const PersistentValue> persistent, const PlanOptions& options);

// Returns the plan without any reuse: every value its own bytes, nothing
// dropped, no in-place but for updates. The oracle of tests and the baseline
// of reports.
Plan MakeNaivePlan(const LoweredGraph& lowered, PlanMode mode,
                   const Graph& step_graph,
                   absl::Span<const PersistentValue> persistent);

}  // namespace reprise

#endif  // PLANNER_PLANNER_H_
