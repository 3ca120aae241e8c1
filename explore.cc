// What could be: trade-offs over budgets, and the largest value of a symbol.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/names.h"
#include "core/status_macros.h"
#include "reprise.h"
#include "set_planner.h"

namespace reprise {

proto::Graph WithoutAnnotations(const proto::Graph& graph) {
  proto::Graph bare = graph;
  bare.clear_region();
  bare.clear_annotation();
  for (proto::Node& node : *bare.mutable_node()) node.clear_region();
  return bare;
}

absl::StatusOr<Sweep> SweepTrainer(const proto::Graph& graph,
                                   const proto::TrainConfig& config,
                                   const TrainerOptions& options,
                                   SweepAnnotations annotations) {
  Sweep sweep;
  const auto fill_in_curve = [&sweep](SetPlanner& planner,
                                      const TradeOff& first) -> absl::Status {
    ASSIGN_OR_RETURN(sweep.curve, planner.Curve(first));
    sweep.symbols = planner.plan().passes[0]->model.symbols;
    sweep.persistent_bytes = planner.plan().persistent_bytes;
    sweep.working_set_bytes = planner.WorkingSetBytes();
    return absl::OkStatus();
  };
  SetPlanner annotated(graph, config, options);
  RETURN_IF_ERROR(annotated.LowerTraining());
  RETURN_IF_ERROR(annotated.MakePlanners());
  ASSIGN_OR_RETURN(sweep.annotated, annotated.WithoutBudget());
  const bool is_bare = graph.region().empty() && graph.annotation().empty();
  if (annotations == SweepAnnotations::kBinding || is_bare) {
    RETURN_IF_ERROR(fill_in_curve(annotated, sweep.annotated));
  }
  if (is_bare) {
    sweep.save_everything = sweep.annotated;
    return sweep;
  }
  const proto::Graph without = WithoutAnnotations(graph);
  SetPlanner bare(without, config, options);
  RETURN_IF_ERROR(bare.LowerTraining());
  RETURN_IF_ERROR(bare.MakePlanners());
  ASSIGN_OR_RETURN(sweep.save_everything, bare.WithoutBudget());
  if (annotations == SweepAnnotations::kIgnored) {
    RETURN_IF_ERROR(fill_in_curve(bare, sweep.save_everything));
  }
  return sweep;
}

absl::StatusOr<LargestValue> MaximizeSymbol(
    const proto::Graph& graph, const proto::TrainConfig& config,
    const TrainerOptions& options, const std::string& symbol,
    double max_added_fraction,
    const std::function<void(int64_t value)>& on_try) {
  constexpr int64_t kLargest = INT32_MAX;  // of any dim of a kernel
  std::vector<std::string> symbols;
  for (const proto::Symbol& each : graph.symbol()) {
    symbols.push_back(Quote(each.name()));
  }
  if (std::find(symbols.begin(), symbols.end(), Quote(symbol)) ==
      symbols.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.source, ": no symbol ", Quote(symbol),
        symbols.empty()
            ? "; there are none"
            : absl::StrCat("; there are ", absl::StrJoin(symbols, ", "))));
  }
  // Probes are many, and those that fail search to the end: each gets a part of
  // the work, the plan that is returned all of it.
  constexpr int64_t kProbeShare = 16;
  TrainerOptions bound = options;
  bound.plan.work_limit =
      std::max<int64_t>(1, bound.plan.work_limit / kProbeShare);
  const auto probe = [&](int64_t value) -> absl::Status {
    if (on_try) on_try(value);
    bound.symbols[symbol] = value;
    SetPlanner planner(graph, config, bound);
    RETURN_IF_ERROR(planner.LowerTraining());
    RETURN_IF_ERROR(planner.MakePlanners());
    ASSIGN_OR_RETURN(const std::vector<reprise::Plan> plans,
                     planner.PlanBriefly());
    const double added = planner.AddedFraction(plans[0]);
    if (added <= max_added_fraction) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrFormat(
        "within %d bytes, with %s = %d, the cheapest plan found adds %.1f %% "
        "to the cost of a step, more than %.1f %%",
        bound.plan.budget_bytes, symbol, value, 100 * added,
        100 * max_added_fraction));
  };
  const absl::Status first = probe(1);
  if (!first.ok()) {
    return absl::Status(
        first.code(), absl::StrCat("with ", symbol, " = 1: ", first.message()));
  }
  int64_t fits = 1;
  int64_t fails = 2;
  while (fails <= kLargest && probe(fails).ok()) {
    fits = fails;
    fails *= 2;
  }
  fails = std::min(fails, kLargest + 1);
  while (fails - fits > 1) {
    const int64_t middle = fits + (fails - fits) / 2;
    (probe(middle).ok() ? fits : fails) = middle;
  }
  // All of the work may find a plan for a few more.
  TrainerOptions thorough = bound;
  thorough.plan.work_limit = options.plan.work_limit;
  const auto plan_thoroughly =
      [&](int64_t value) -> absl::StatusOr<PlannedTrainer> {
    if (on_try) on_try(value);
    thorough.symbols[symbol] = value;
    ASSIGN_OR_RETURN(PlannedTrainer planned,
                     PlanTrainer(graph, config, thorough));
    const PlanReport& report = planned.reports[0];
    if (static_cast<double>(report.recompute_cost_nanoseconds) >
        max_added_fraction * static_cast<double>(report.cost_nanoseconds)) {
      return absl::ResourceExhaustedError("its plans cost too much");
    }
    return planned;
  };
  LargestValue largest;
  largest.value = fits;
  absl::StatusOr<PlannedTrainer> planned = plan_thoroughly(fits);
  while (planned.ok()) {
    largest.planned = *std::move(planned);
    largest.value = fits;
    planned = fits < kLargest ? plan_thoroughly(++fits)
                              : absl::StatusOr<PlannedTrainer>(
                                    absl::OutOfRangeError("the largest dim"));
  }
  if (largest.planned.plan.passes.empty()) {
    bound.symbols[symbol] = largest.value;
    ASSIGN_OR_RETURN(largest.planned, PlanTrainer(graph, config, bound));
  }
  return largest;
}

}  // namespace reprise
