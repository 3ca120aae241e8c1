#include "reprise.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/lowering.h"
#include "core/names.h"
#include "core/plan_file.h"
#include "core/proto_file.h"
#include "core/status_macros.h"
#include "core/train_config.h"
#include "ops/all_ops.h"

namespace reprise {
namespace {

// Of many parameters, an error shows some.
constexpr size_t kShownNames = 5;

// Ok iff the pattern of each override matches a parameter: one that has no
// effect is a mistake.
absl::Status CheckOverrides(const proto::TrainConfig& config,
                            const Graph& model) {
  for (const proto::Override& override : config.override()) {
    if (override.pattern().empty()) {
      return absl::InvalidArgumentError(
          "train config: an override has no pattern");
    }
    bool matches = false;
    std::vector<std::string> names;
    for (const Parameter& parameter : model.parameters) {
      const std::string& name = model.values[parameter.value].name;
      matches = matches || MatchesGlob(override.pattern(), name);
      if (names.size() < kShownNames) names.push_back(name);
    }
    if (matches) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "train config: the pattern ", Quote(override.pattern()),
        " of an override matches none of the ", model.parameters.size(),
        " parameters",
        names.empty()
            ? ""
            : absl::StrCat(", such as '", absl::StrJoin(names, "', '"), "'")));
  }
  return absl::OkStatus();
}

// Adds what `policy` lists of value names, within others too.
void AddPatterns(const Policy& policy, std::set<std::string>& patterns) {
  if (policy.kind == Policy::Kind::kSaveNames ||
      policy.kind == Policy::Kind::kSaveAllButNames) {
    patterns.insert(policy.names.begin(), policy.names.end());
  }
  for (const Policy& one : policy.any_of) AddPatterns(one, patterns);
}

// Returns a note for each pattern of a policy that matches no value made in its
// region. That is no error: one policy may serve many models.
std::vector<std::string> NotesOfPatterns(const Graph& model) {
  std::vector<std::set<std::string>> unmatched(model.regions.size());
  for (size_t r = 0; r < model.regions.size(); ++r) {
    AddPatterns(model.regions[r].policy, unmatched[r]);
  }
  for (const Node& node : model.nodes) {
    for (RegionId r = node.region; r != kNoRegion;
         r = model.regions[r].parent) {
      for (auto it = unmatched[r].begin(); it != unmatched[r].end();) {
        const bool matches =
            std::any_of(node.out.begin(), node.out.end(), [&](ValueId value) {
              return value != kNoValue &&
                     MatchesGlob(*it, model.values[value].name);
            });
        it = matches ? unmatched[r].erase(it) : std::next(it);
      }
    }
  }
  std::vector<std::string> notes;
  for (size_t r = 0; r < model.regions.size(); ++r) {
    for (const std::string& pattern : unmatched[r]) {
      notes.push_back(absl::StrCat("region ", Quote(model.regions[r].name),
                                   ": the pattern ", Quote(pattern),
                                   " of its policy matches no value in it"));
    }
  }
  return notes;
}

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

using Planners = std::vector<std::unique_ptr<PassPlanner>>;

// The budget binds all passes, so the error that counts is the one of the pass
// whose smallest arena is the largest.
absl::Status ExplainBudget(const Planners& planners, int64_t budget_bytes,
                           const absl::Status& status) {
  if (!absl::IsResourceExhausted(status)) return status;
  const auto largest = std::max_element(
      planners.begin(), planners.end(),
      [](const std::unique_ptr<PassPlanner>& a,
         const std::unique_ptr<PassPlanner>& b) {
        return a->SmallestArenaBytes() < b->SmallestArenaBytes();
      });
  return (*largest)->BudgetTooSmall(budget_bytes);
}

// Returns e.g. " with batch = 64, time = 8"; nothing without symbols.
std::string SymbolsText(const Graph& model) {
  std::string text;
  for (const auto& [name, value] : model.symbols) {
    absl::StrAppend(&text, text.empty() ? " with " : ", ", name, " = ", value);
  }
  return text;
}

// Plans the passes of one trainer, one after the other, over one persistent
// segment that the first of them fixes.
class SetPlanner {
 public:
  SetPlanner(const proto::Graph& graph, const proto::TrainConfig& config,
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
            : std::max(1,
                       static_cast<int>(std::thread::hardware_concurrency()));
    lowering_.env = plan_.env;
    lowering_.fusion = options.fusion;
    lowering_.machine = options.machine.format_version() == 0 ? DefaultMachine()
                                                              : options.machine;
  }

  // Loads and lowers one pass; `Plan` is still to come.
  absl::Status Lower(PlanMode mode, const Bindings& symbols,
                     const std::vector<std::string>& gradients = {}) {
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
      return absl::Status(
          lowered.status().code(),
          absl::StrCat(options_.source, SymbolsText(pass->model), ": ",
                       lowered.status().message()));
    }
    pass->lowered = *std::move(lowered);
    if (plan_.passes.empty()) {
      plan_.persistent = PlacePersistent(pass->step.graph, pass->lowered);
      for (const PersistentValue& value : plan_.persistent) {
        plan_.persistent_bytes = std::max(plan_.persistent_bytes,
                                          value.offset + AlignUp(value.bytes));
      }
    }
    plan_.passes.push_back(std::move(pass));
    return absl::OkStatus();
  }

  // Lowers the passes of a trainer.
  absl::Status LowerTraining() {
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

  // Plans every pass within the budget of the options.
  absl::Status Plan() {
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

  // Plans every pass within the budget of the options, without explanations.
  //
  //   errors: ResourceExhausted, without a search if no search can help.
  absl::StatusOr<std::vector<reprise::Plan>> PlanBriefly() {
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

  // Returns the plans without a budget as one point of the trade-off.
  absl::StatusOr<TradeOff> WithoutBudget() {
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

  // Returns the cost of replays / the cost of all other steps of a plan of the
  // first pass.
  double AddedFraction(const reprise::Plan& plan) const {
    TradeOff point;
    CountCosts(plan, point);
    if (point.cost_nanoseconds == 0) return 0;
    return static_cast<double>(point.added_cost_nanoseconds) /
           static_cast<double>(point.cost_nanoseconds);
  }

  // Returns the trajectory of the first pass, with the arenas that the whole
  // set then has.
  //
  //   first: of WithoutBudget.
  absl::StatusOr<std::vector<TradeOff>> Curve(const TradeOff& first) {
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

  int64_t WorkingSetBytes() const {
    int64_t bytes = 0;
    for (const std::unique_ptr<PassPlanner>& planner : *planners_) {
      bytes = std::max(bytes, planner->WorkingSetBytes());
    }
    return bytes;
  }

  absl::Status MakePlanners() {
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

  TrainerPlan& plan() { return plan_; }

  // To those of the first pass.
  void AddNotes(const std::vector<std::string>& notes) {
    std::vector<std::string>& all = reports_[0].notes;
    all.insert(all.end(), notes.begin(), notes.end());
  }

  PlannedTrainer Finish() {
    PlannedTrainer planned;
    planned.plan = std::move(plan_);
    planned.reports = std::move(reports_);
    if (planners_ != nullptr) {
      planned.smallest_arena_bytes = [planners = planners_] {
        int64_t bytes = 0;
        for (const std::unique_ptr<PassPlanner>& planner : *planners) {
          bytes = std::max(bytes, planner->SmallestArenaBytes());
        }
        return bytes;
      };
    }
    return planned;
  }

 private:
  // Adds up the steps of a plan of the first pass.
  void CountCosts(const reprise::Plan& plan, TradeOff& point) const {
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

  const proto::Graph& graph_;
  const TrainerOptions& options_;
  LoweringOptions lowering_;
  TrainerPlan plan_;
  std::shared_ptr<Planners> planners_;
  std::vector<PlanReport> reports_;
};

}  // namespace

std::unique_ptr<OpTable> MakeOpTable() {
  return std::make_unique<OpTable>(AllOps());
}

absl::StatusOr<PlannedTrainer> PlanTrainer(const proto::Graph& graph,
                                           const proto::TrainConfig& config,
                                           const TrainerOptions& options) {
  SetPlanner planner(graph, config, options);
  RETURN_IF_ERROR(planner.LowerTraining());
  RETURN_IF_ERROR(planner.Plan());
  planner.AddNotes(NotesOfPatterns(planner.plan().passes[0]->model));
  return planner.Finish();
}

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

absl::StatusOr<LargestValue> MaximizeSymbol(const proto::Graph& graph,
                                            const proto::TrainConfig& config,
                                            const TrainerOptions& options,
                                            const std::string& symbol,
                                            double max_added_fraction) {
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

absl::StatusOr<PlannedTrainer> ReadPlan(const std::string& path,
                                        const proto::Graph& graph,
                                        const proto::TrainConfig& config,
                                        const TrainerOptions& options) {
  proto::PlanSet file;
  RETURN_IF_ERROR(ReadProtoFile(path, file));
  SetPlanner planner(graph, config, options);
  RETURN_IF_ERROR(planner.LowerTraining());
  // A plan is what its own options made of the graph.
  planner.plan().options = file.options();
  absl::Status adopted = AdoptPlans(file, planner.plan());
  if (adopted.ok() && file.arena_bytes() > options.plan.budget_bytes) {
    adopted = absl::ResourceExhaustedError(absl::StrCat(
        "budget of ", options.plan.budget_bytes,
        " bytes is too small for the plan's arena of ", file.arena_bytes()));
  }
  if (!adopted.ok()) {
    return absl::Status(adopted.code(),
                        absl::StrCat(path, ": ", adopted.message()));
  }
  return planner.Finish();
}

absl::Status WritePlan(const TrainerPlan& plan, const std::string& path) {
  return WriteProtoFile(ToProto(plan), path);
}

absl::StatusOr<PlannedTrainer> PlanRunner(
    const proto::Graph& graph, PlanMode mode,
    const std::vector<std::string>& gradients, const TrainerOptions& options) {
  if (mode == PlanMode::kTrain || mode == PlanMode::kTrainAccumulate) {
    return absl::InvalidArgumentError("PlanRunner takes no training mode");
  }
  SetPlanner planner(graph, proto::TrainConfig(), options);
  std::vector<Bindings> bindings = {{}};
  bindings.insert(bindings.end(), options.more_symbols.begin(),
                  options.more_symbols.end());
  for (const Bindings& symbols : bindings) {
    RETURN_IF_ERROR(planner.Lower(mode, symbols, gradients));
  }
  RETURN_IF_ERROR(planner.Plan());
  return planner.Finish();
}

absl::StatusOr<std::unique_ptr<Trainer>> MakeTrainer(
    const proto::Graph& graph, const proto::TrainConfig& config,
    const TrainerOptions& options) {
  ASSIGN_OR_RETURN(PlannedTrainer planned, PlanTrainer(graph, config, options));
  return Trainer::Create(std::move(planned.plan));
}

absl::StatusOr<std::unique_ptr<Trainer>> MakeRunner(
    const proto::Graph& graph, PlanMode mode,
    const std::vector<std::string>& gradients, const TrainerOptions& options) {
  ASSIGN_OR_RETURN(PlannedTrainer planned,
                   PlanRunner(graph, mode, gradients, options));
  return Trainer::Create(std::move(planned.plan));
}

absl::StatusOr<proto::TrainConfig> ReadTrainConfig(const std::string& path) {
  proto::TrainConfig config;
  RETURN_IF_ERROR(ReadProtoFile(path, config));
  const absl::Status status = CheckTrainConfig(config);
  if (!status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat(path, ": ", status.message()));
  }
  return config;
}

}  // namespace reprise
