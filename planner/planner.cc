// The flow of planner.h.
//
// Tested by tests/planner/planner_test.cc.

#include "planner/planner.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/status_macros.h"
#include "planner/ledger.h"
#include "planner/liveness.h"
#include "planner/next_drop.h"
#include "planner/offsets/offsets.h"
#include "planner/order/order.h"
#include "planner/plan_assembly.h"
#include "planner/policy.h"
#include "planner/recompute.h"
#include "planner/regions.h"
#include "planner/report.h"
#include "planner/residuals.h"
#include "planner/task_graph.h"
#include "planner/trajectory.h"

namespace reprise {
namespace {

absl::Status CheckStrict(const LoweredGraph& graph) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const LoweredNodeId node = static_cast<LoweredNodeId>(n);
    const Description& description = graph.description(node);
    if (description.library_heap_bytes == 0) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("node '", graph.nodes[n].name, "' (", graph.op(node).name,
                     "): strict plans allow no heap during a step, kernel '",
                     description.implementation, "' takes ",
                     description.library_heap_bytes, " bytes"));
  }
  return absl::OkStatus();
}

// Fills in what is read off the steps one by one.
void CountSteps(const LoweredGraph& graph, const Plan& plan,
                PlanReport& report) {
  for (const Step& step : plan.steps) {
    const int64_t cost = graph.cost_nanoseconds(step.node);
    if (step.run > 0) {
      ++report.recomputed_steps;
      report.recompute_cost_nanoseconds += cost;
    } else {
      report.cost_nanoseconds += cost;
    }
    report.library_heap_bytes =
        std::max(report.library_heap_bytes,
                 graph.description(step.node).library_heap_bytes);
  }
  if (!plan.steps.empty()) {
    report.peak_node = graph.nodes[plan.steps[plan.peak_step].node].name;
  }
}

}  // namespace

class PassPlanner::Impl {
 public:
  Impl(const Graph& step_graph, const LoweredGraph& lowered, PlanMode mode,
       Segment segment, Regions regions, const PlanOptions& options)
      : step_graph_(step_graph),
        lowered_(lowered),
        mode_(mode),
        segment_(std::move(segment)),
        regions_(std::move(regions)),
        work_limit_(options.work_limit) {
    trajectory_options_.liveness.in_place = options.in_place;
    trajectory_options_.placement.max_pairs = 50 * work_limit_;
    trajectory_options_.placement.max_search_work = 40 * work_limit_;
    trajectory_options_.max_remat_work = 100 * work_limit_;
  }

  // Makes the first plan of the trajectory.
  absl::Status Start() {
    resolution_ = regions_.Resolve();
    OrderOptions options;
    options.liveness = trajectory_options_.liveness;
    options.search_work = work_limit_;
    ASSIGN_OR_RETURN(order_,
                     LeastPeakOrder(lowered_, resolution_.tasks, options));
    PlacedSchedule first;
    first.runs.resize(order_.tasks.size());
    std::iota(first.runs.begin(), first.runs.end(), 0);
    first.peak_bytes = order_.peak.bytes;
    first.placement = PlaceSequence(lowered_, {resolution_.tasks, order_.tasks},
                                    trajectory_options_.liveness,
                                    trajectory_options_.placement);
    for (const TaskId t : order_.tasks) {
      cost_ += lowered_.cost_nanoseconds(resolution_.tasks.tasks[t].node);
    }
    schedules_.push_back(std::move(first));
    return absl::OkStatus();
  }

  int64_t SmallestArenaBytes() {
    Search();
    return ArenaBytes(schedules_.back());
  }

  std::vector<TradeOff> Curve() {
    Search();
    std::vector<TradeOff> curve;
    for (const PlacedSchedule& schedule : schedules_) {
      TradeOff point;
      point.arena_bytes = ArenaBytes(schedule);
      point.peak_live_bytes = segment_.bytes + schedule.peak_bytes;
      point.added_cost_nanoseconds = schedule.added_cost;
      point.cost_nanoseconds = cost_;
      point.recomputed_steps =
          static_cast<int32_t>(schedule.runs.size() - order_.tasks.size());
      point.method = schedule.method;
      curve.push_back(std::move(point));
    }
    return curve;
  }

  // Returns the cheapest schedule within the budget; null if there is none.
  const PlacedSchedule* Find(int64_t budget_bytes) {
    if (ArenaBytes(schedules_.front()) > budget_bytes) Search();
    const auto fits = std::find_if(
        schedules_.begin(), schedules_.end(),
        [&](const PlacedSchedule& s) { return ArenaBytes(s) <= budget_bytes; });
    return fits == schedules_.end() ? nullptr : &*fits;
  }

  absl::Status BudgetTooSmall(int64_t budget_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "budget of ", budget_bytes,
        " bytes is too small: the smallest arena found has ",
        SmallestArenaBytes(),
        " bytes, and no schedule can need less than the working set of ",
        LargestStepBytes(), BoundByAnnotations()));
  }

  // Returns what the graph's annotations forbid; empty if nothing.
  std::string BoundByAnnotations() const {
    int bound = 0;
    for (LoweredNodeId n = 0;
         n < static_cast<LoweredNodeId>(lowered_.nodes.size()); ++n) {
      const bool may_repeat = lowered_.nodes[n].effect == Effect::kPure &&
                              lowered_.MustOverwrite(n).empty();
      if (may_repeat && !regions_.IsFree(n)) ++bound;
    }
    if (bound == 0) return "";
    return absl::StrCat("; the graph's annotations bind the runs of ", bound,
                        bound == 1 ? " node" : " nodes");
  }

  int64_t LargestStepBytes() const {
    return segment_.bytes + reprise::WorkingSetBytes(lowered_);
  }

  // A schedule with everything that follows from it.
  struct Scheduled {
    Resolution resolution;
    Order order;
    Liveness liveness;
  };

  Scheduled Schedule(const PlacedSchedule& schedule) const {
    Scheduled result;
    TaskSequence sequence = WithRecomputes(
        lowered_, regions_, resolution_.tasks, order_.tasks, schedule.runs);
    result.resolution = resolution_;
    result.resolution.tasks = std::move(sequence.tasks);
    result.order.tasks = std::move(sequence.order);
    result.order.name = order_.name;
    result.liveness =
        ComputeLiveness(lowered_, result.resolution.tasks, result.order.tasks,
                        trajectory_options_.liveness);
    result.order.peak = result.liveness.peak;
    return result;
  }

  Plan Write(const Scheduled& scheduled, const PlacedSchedule& schedule) const {
    return AssemblePlan(lowered_, mode_, scheduled.resolution.tasks,
                        scheduled.order.tasks, scheduled.liveness,
                        schedule.placement.offsets, segment_);
  }

  absl::StatusOr<Plan> FitPlan(int64_t budget_bytes) {
    const PlacedSchedule* const schedule = Find(budget_bytes);
    if (schedule == nullptr) return BudgetTooSmall(budget_bytes);
    return Write(Schedule(*schedule), *schedule);
  }

  absl::StatusOr<PlanResult> Fit(int64_t budget_bytes) {
    const PlacedSchedule* const schedule = Find(budget_bytes);
    if (schedule == nullptr) return BudgetTooSmall(budget_bytes);
    const Scheduled scheduled = Schedule(*schedule);
    PlanResult result;
    result.plan = Write(scheduled, *schedule);
    ASSIGN_OR_RETURN(result.report, Explain(scheduled, *schedule, result.plan));
    return result;
  }

 private:
  int64_t ArenaBytes(const PlacedSchedule& schedule) const {
    return segment_.end + schedule.placement.height;
  }

  void Search() {
    if (searched_) return;
    searched_ = true;
    const PlacedSchedule first = std::move(schedules_.front());
    schedules_ = MakeTrajectory(lowered_, regions_, resolution_.tasks,
                                order_.tasks, first, trajectory_options_);
  }

  absl::StatusOr<PlanReport> Explain(const Scheduled& scheduled,
                                     const PlacedSchedule& schedule,
                                     const Plan& plan) const {
    const PlanParts parts{step_graph_,     lowered_,
                          regions_,        scheduled.resolution,
                          scheduled.order, scheduled.liveness};
    PlanReport report;
    report.residuals = ListResiduals(parts);
    ASSIGN_OR_RETURN(report.regions, Ledger(parts, schedule));
    report.live_at_peak = ListLiveAtPeak(parts);
    report.bytes_by_class = SumByClass(report.live_at_peak);
    CountSteps(lowered_, plan, report);
    report.next_drop = NextDropOf(schedule);
    report.naive_bytes = NaiveBytes(lowered_, segment_);
    report.order = order_.name;
    report.rematerialization = schedule.method;
    report.placement = schedule.placement.name;
    report.placement_optimal =
        schedule.placement.height == schedule.placement.lower_bound;
    report.notes = resolution_.notes;
    for (std::string& note : NotesOfPatterns(step_graph_)) {
      report.notes.push_back(std::move(note));
    }
    const auto not_judged = std::count_if(
        report.regions.begin(), report.regions.end(),
        [](const RegionReport& r) { return r.verdict == Verdict::kNotJudged; });
    if (not_judged > 0) {
      report.notes.push_back(absl::StrCat(
          not_judged, " of ", report.regions.size(),
          " regions are not judged: each takes planning the graph once more"));
    }
    return report;
  }

  absl::optional<NextDrop> NextDropOf(const PlacedSchedule& schedule) const {
    const RematGraph problem =
        ToRematGraph(lowered_, regions_, resolution_.tasks, order_.tasks,
                     trajectory_options_.liveness);
    const absl::optional<Drop> drop =
        FindNextDrop(problem, schedule.runs, 20 * work_limit_);
    if (!drop.has_value()) return absl::nullopt;
    NextDrop result;
    result.value = LogicalName(step_graph_, lowered_,
                               resolution_.tasks.instances[drop->value].value);
    result.bytes = drop->bytes;
    result.added_cost_nanoseconds = drop->added_cost;
    result.peak_bytes_after = segment_.bytes + drop->peak_bytes;
    return result;
  }

  // Regions with a policy of their own are judged by the annotations alone;
  // `auto` regions by what the planner made of them.
  absl::StatusOr<std::vector<RegionReport>> Ledger(
      const PlanParts& parts, const PlacedSchedule& schedule) const {
    LedgerOptions options;
    options.liveness = trajectory_options_.liveness;
    options.max_work = 20 * work_limit_;
    options.search_work = work_limit_;
    const Liveness liveness =
        ComputeLiveness(lowered_, resolution_.tasks, order_.tasks,
                        trajectory_options_.liveness);
    const PlanParts annotated{step_graph_, lowered_, regions_,
                              resolution_, order_,   liveness};
    ASSIGN_OR_RETURN(std::vector<RegionReport> ledger,
                     MakeLedger(annotated, options));
    JudgeAutoRegions(annotated, parts, schedule.runs, options, ledger);
    return ledger;
  }

  const Graph& step_graph_;
  const LoweredGraph& lowered_;
  const PlanMode mode_;
  const Segment segment_;
  const Regions regions_;
  const int64_t work_limit_;
  TrajectoryOptions trajectory_options_;
  Resolution resolution_;  // what annotations ask for
  Order order_;
  int64_t cost_ = 0;  // nanoseconds of `order_`
  bool searched_ = false;
  std::vector<PlacedSchedule> schedules_;  // never empty
};

PassPlanner::PassPlanner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PassPlanner::~PassPlanner() = default;

absl::StatusOr<std::unique_ptr<PassPlanner>> PassPlanner::Create(
    const Graph& step_graph, const LoweredGraph& lowered, PlanMode mode,
    absl::Span<const PersistentValue> persistent, const PlanOptions& options) {
  if (options.strict) RETURN_IF_ERROR(CheckStrict(lowered));
  ASSIGN_OR_RETURN(Segment segment,
                   FindPersistent(step_graph, lowered, persistent));
  ASSIGN_OR_RETURN(Regions regions, Regions::Create(step_graph, lowered));
  auto impl =
      std::make_unique<Impl>(step_graph, lowered, mode, std::move(segment),
                             std::move(regions), options);
  RETURN_IF_ERROR(impl->Start());
  // Not make_unique: the constructor is private.
  return std::unique_ptr<PassPlanner>(new PassPlanner(std::move(impl)));
}

int64_t PassPlanner::SmallestArenaBytes() {
  return impl_->SmallestArenaBytes();
}

int64_t PassPlanner::WorkingSetBytes() const {
  return impl_->LargestStepBytes();
}

std::vector<TradeOff> PassPlanner::Curve() { return impl_->Curve(); }

absl::StatusOr<PlanResult> PassPlanner::Fit(int64_t budget_bytes) {
  return impl_->Fit(budget_bytes);
}

absl::StatusOr<Plan> PassPlanner::FitPlan(int64_t budget_bytes) {
  return impl_->FitPlan(budget_bytes);
}

absl::Status PassPlanner::BudgetTooSmall(int64_t budget_bytes) {
  return impl_->BudgetTooSmall(budget_bytes);
}

absl::StatusOr<PlanResult> MakePlan(
    const Graph& step_graph, const LoweredGraph& lowered, PlanMode mode,
    absl::Span<const PersistentValue> persistent, const PlanOptions& options) {
  ASSIGN_OR_RETURN(
      const std::unique_ptr<PassPlanner> planner,
      PassPlanner::Create(step_graph, lowered, mode, persistent, options));
  return planner->Fit(options.budget_bytes);
}

}  // namespace reprise
