#include "set_planner.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/machine.h"
#include "core/status_macros.h"
#include "core/train_config.h"
#include "ops/all_ops.h"

namespace reprise {
namespace {

proto::PlanOptions ToProto(const PlanOptions& options,
                           int64_t process_budget_bytes) {
  proto::PlanOptions out;
  if (options.budget_bytes != INT64_MAX) {
    out.set_budget_bytes(options.budget_bytes);
  }
  if (process_budget_bytes != INT64_MAX) {
    out.set_process_budget_bytes(process_budget_bytes);
  }
  out.set_strict(options.strict);
  out.set_work_limit(options.work_limit);
  return out;
}

// Returns e.g. " with batch = 64, time = 8"; nothing without symbols.
std::string SymbolsText(const Graph& model) {
  std::string text;
  for (const auto& [name, value] : model.symbols) {
    absl::StrAppend(&text, text.empty() ? " with " : ", ", name, " = ", value);
  }
  return text;
}

}  // namespace

SetPlanner::SetPlanner(const proto::Graph& graph,
                       const proto::TrainConfig& config,
                       const TrainerOptions& options)
    : graph_(graph), options_(options) {
  plan_.ops = MakeOpTable();
  plan_.config = config;
  plan_.library = KernelLibrary();
  plan_.options = ToProto(options.plan, options.process_budget_bytes);
  plan_.process_budget_bytes = options.process_budget_bytes;
  plan_.env.threads =
      options.threads > 0
          ? options.threads
          : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  lowering_.env = plan_.env;
  lowering_.fusion = options.fusion;
  lowering_.machine = DefaultMachine();
  if (options.machine.format_version() != 0) {
    lowering_.machine = options.machine;
    plan_.options.set_machine(MachineFingerprint(options.machine));
  }
}

absl::Status SetPlanner::Lower(PlanMode mode, const Bindings& symbols,
                               const std::vector<std::string>& gradients) {
  auto pass = std::make_unique<PlannedPass>();
  pass->mode = mode;
  Bindings bindings = options_.symbols;
  for (const auto& [name, value] : symbols) bindings[name] = value;
  ASSIGN_OR_RETURN(pass->model,
                   LoadGraph(graph_, *plan_.ops, bindings, options_.source));
  StepOptions step;
  step.mode = mode;
  step.config = plan_.config;
  step.gradients = gradients;
  ASSIGN_OR_RETURN(pass->step, BuildStepGraph(pass->model, *plan_.ops, step));
  absl::StatusOr<LoweredGraph> lowered =
      reprise::Lower(pass->step, *plan_.ops, lowering_);
  if (!lowered.ok()) {
    // Kernels refuse sizes, which come from the file and the symbols.
    return absl::Status(lowered.status().code(),
                        absl::StrCat(options_.source, SymbolsText(pass->model),
                                     ": ", lowered.status().message()));
  }
  pass->lowered = *std::move(lowered);
  if (plan_.passes.empty()) {
    plan_.persistent = PlacePersistent(pass->step.graph, pass->lowered);
    for (const PersistentValue& value : plan_.persistent) {
      plan_.persistent_bytes =
          std::max(plan_.persistent_bytes, value.offset + AlignUp(value.bytes));
    }
  }
  plan_.passes.push_back(std::move(pass));
  return absl::OkStatus();
}

absl::Status SetPlanner::LowerTraining() {
  std::vector<Bindings> bindings = {{}};
  bindings.insert(bindings.end(), options_.more_symbols.begin(),
                  options_.more_symbols.end());
  for (const Bindings& symbols : bindings) {
    RETURN_IF_ERROR(Lower(PlanMode::kTrain, symbols));
    if (plan_.passes.size() == 1) {
      RETURN_IF_ERROR(CheckOverrides(plan_.config, plan_.passes[0]->model));
    }
    if (plan_.config.accumulate_steps() > 1) {
      RETURN_IF_ERROR(Lower(PlanMode::kTrainAccumulate, symbols));
    }
    if (options_.evaluate) {
      RETURN_IF_ERROR(Lower(PlanMode::kEvaluate, symbols));
    }
  }
  return absl::OkStatus();
}

absl::Status SetPlanner::MakePlanners() {
  planners_ = std::make_shared<Planners>();
  for (const std::unique_ptr<PlannedPass>& pass : plan_.passes) {
    ASSIGN_OR_RETURN(
        std::unique_ptr<PassPlanner> planner,
        PassPlanner::Create(pass->step.graph, pass->lowered, pass->mode,
                            plan_.persistent, options_.plan));
    planners_->push_back(std::move(planner));
  }
  return absl::OkStatus();
}

absl::Status SetPlanner::Plan() {
  RETURN_IF_ERROR(MakePlanners());
  for (size_t i = 0; i < planners_->size(); ++i) {
    absl::StatusOr<PlanResult> planned =
        (*planners_)[i]->Fit(options_.plan.budget_bytes);
    if (!planned.ok()) {
      return ExplainBudget(*planners_, options_.plan.budget_bytes,
                           planned.status());
    }
    PlannedPass& pass = *plan_.passes[i];
    pass.plan = std::move(planned->plan);
    plan_.arena_bytes = std::max(plan_.arena_bytes, pass.plan.end_bytes);
    reports_.push_back(std::move(planned->report));
  }
  plan_.plan_within =
      [planners = planners_](
          int64_t budget) -> absl::StatusOr<std::vector<reprise::Plan>> {
    std::vector<reprise::Plan> plans;
    for (const std::unique_ptr<PassPlanner>& planner : *planners) {
      absl::StatusOr<reprise::Plan> plan = planner->FitPlan(budget);
      if (!plan.ok()) return ExplainBudget(*planners, budget, plan.status());
      plans.push_back(*std::move(plan));
    }
    return plans;
  };
  return absl::OkStatus();
}

absl::StatusOr<std::vector<reprise::Plan>> SetPlanner::PlanBriefly() {
  const int64_t budget = options_.plan.budget_bytes;
  std::vector<reprise::Plan> plans;
  for (const std::unique_ptr<PassPlanner>& planner : *planners_) {
    if (planner->WorkingSetBytes() > budget) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "budget of ", budget, " bytes is too small: a single step needs ",
          planner->WorkingSetBytes()));
    }
  }
  for (const std::unique_ptr<PassPlanner>& planner : *planners_) {
    ASSIGN_OR_RETURN(reprise::Plan plan, planner->FitPlan(budget));
    plans.push_back(std::move(plan));
  }
  return plans;
}

absl::StatusOr<TradeOff> SetPlanner::WithoutBudget() {
  TradeOff point;
  for (size_t i = 0; i < planners_->size(); ++i) {
    ASSIGN_OR_RETURN(const reprise::Plan plan,
                     (*planners_)[i]->FitPlan(INT64_MAX));
    point.arena_bytes = std::max(point.arena_bytes, plan.end_bytes);
    if (i > 0) continue;
    point.peak_live_bytes = plan.peak_live_bytes;
    CountCosts(plan, point);
  }
  return point;
}

absl::StatusOr<std::vector<TradeOff>> SetPlanner::Curve(const TradeOff& first) {
  std::vector<TradeOff> curve;
  for (TradeOff point : (*planners_)[0]->Curve()) {
    for (size_t i = 1; i < planners_->size(); ++i) {
      const absl::StatusOr<reprise::Plan> plan =
          (*planners_)[i]->FitPlan(point.arena_bytes);
      const int64_t bytes =
          plan.ok() ? plan->end_bytes : (*planners_)[i]->SmallestArenaBytes();
      point.arena_bytes = std::max(point.arena_bytes, bytes);
    }
    // What annotations replay counts too.
    point.added_cost_nanoseconds +=
        point.cost_nanoseconds - first.cost_nanoseconds;
    point.cost_nanoseconds = first.cost_nanoseconds;
    point.recomputed_steps += first.recomputed_steps;
    // Below the smallest arena of another pass, cost buys nothing.
    if (curve.empty() || point.arena_bytes < curve.back().arena_bytes) {
      curve.push_back(std::move(point));
    }
  }
  return curve;
}

double SetPlanner::AddedFraction(const reprise::Plan& plan) const {
  TradeOff point;
  CountCosts(plan, point);
  if (point.cost_nanoseconds == 0) return 0;
  return static_cast<double>(point.added_cost_nanoseconds) /
         static_cast<double>(point.cost_nanoseconds);
}

int64_t SetPlanner::WorkingSetBytes() const {
  int64_t bytes = 0;
  for (const std::unique_ptr<PassPlanner>& planner : *planners_) {
    bytes = std::max(bytes, planner->WorkingSetBytes());
  }
  return bytes;
}

PlannedTrainer SetPlanner::Finish() {
  PlannedTrainer planned;
  planned.plan = std::move(plan_);
  planned.reports = std::move(reports_);
  if (planners_ != nullptr) {
    planned.smallest_arena_bytes = [planners = planners_] {
      return SmallestArenaBytes(*planners);
    };
  }
  return planned;
}

int64_t SetPlanner::SmallestArenaBytes(const Planners& planners) {
  int64_t bytes = 0;
  for (const std::unique_ptr<PassPlanner>& planner : planners) {
    bytes = std::max(bytes, planner->SmallestArenaBytes());
  }
  return bytes;
}

// The budget binds all passes, so the error that counts is the one of the pass
// whose smallest arena is the largest.
absl::Status SetPlanner::ExplainBudget(const Planners& planners,
                                       int64_t budget_bytes,
                                       const absl::Status& status) {
  if (!absl::IsResourceExhausted(status)) return status;
  const int64_t smallest = SmallestArenaBytes(planners);
  for (const std::unique_ptr<PassPlanner>& planner : planners) {
    if (planner->SmallestArenaBytes() == smallest) {
      return planner->BudgetTooSmall(budget_bytes);
    }
  }
  return status;
}

// Adds up the steps of a plan of the first pass.
void SetPlanner::CountCosts(const reprise::Plan& plan, TradeOff& point) const {
  const LoweredGraph& lowered = plan_.passes[0]->lowered;
  for (const Step& step : plan.steps) {
    const int64_t cost = lowered.cost_nanoseconds(step.node);
    if (step.run > 0) {
      ++point.recomputed_steps;
      point.added_cost_nanoseconds += cost;
    } else {
      point.cost_nanoseconds += cost;
    }
  }
}

}  // namespace reprise
