// `reprise plan`: every byte of a training run, before it begins.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"
#include "core/file.h"
#include "core/names.h"
#include "core/status_macros.h"
#include "tools/commands/annotations.h"
#include "tools/commands/command.h"
#include "tools/commands/flags.h"
#include "tools/commands/output_file.h"
#include "tools/commands/plan_picture.h"
#include "tools/commands/progress.h"
#include "tools/commands/report.h"
#include "tools/commands/size.h"
#include "tools/commands/text_table.h"

namespace reprise {
namespace {

// How much of what lives at the peak the text shows.
constexpr size_t kShownAtPeak = 12;

// Plans of more steps are searched for their smallest arena only when asked:
// it takes seconds.
constexpr size_t kQuicklySearchedSteps = 200;

constexpr double kDefaultMaxAddedCost = 50;  // percent

// What --maximize tries, as a rule at most: 1, 31 times the double, 30 halves,
// and a last time with all of the work.
constexpr int64_t kMostTries = 63;

std::string SizeAndBytes(int64_t bytes) {
  return absl::StrCat(FormatSize(bytes), " (", FormatCount(bytes), " bytes)");
}

// What a plan is reported with, besides itself.
struct Extras {
  int64_t engine_bytes = 0;
  absl::optional<int64_t> smallest_arena_bytes;  // nullopt: not searched for
  std::string maximized;                         // the symbol; empty: none
};

// By how much the arena is above what no placement of its schedule can need
// less than: of the pass that needs it.
int64_t GapBytes(const TrainerPlan& plan) {
  int64_t bound = plan.persistent_bytes;
  for (const std::unique_ptr<PlannedPass>& pass : plan.passes) {
    bound = std::max(bound, pass->plan.peak_live_bytes);
  }
  return plan.arena_bytes - bound;
}

Json NextDropJson(const absl::optional<NextDrop>& drop) {
  if (!drop.has_value()) return nullptr;
  return {{"value", drop->value},
          {"bytes", drop->bytes},
          {"added_cost_nanoseconds", drop->added_cost_nanoseconds},
          {"peak_bytes_after", drop->peak_bytes_after}};
}

Json ToJson(const std::string& model, const TrainerPlan& plan,
            const std::vector<PlanReport>& reports, const Extras& extras) {
  const PlannedPass& pass = *plan.passes.front();
  const PlanReport& report = reports.front();
  Json json = {
      {"model", model},
      {"symbols", Json::object()},
      {"maximized", nullptr},
      {"threads", plan.env.threads},
      {"arena_bytes", plan.arena_bytes},
      {"lower_bound_bytes", pass.plan.peak_live_bytes},
      {"gap_bytes", GapBytes(plan)},
      {"smallest_arena_bytes", extras.smallest_arena_bytes.has_value()
                                   ? Json(*extras.smallest_arena_bytes)
                                   : Json(nullptr)},
      {"working_set_bytes", pass.plan.working_set_bytes},
      {"persistent_bytes", plan.persistent_bytes},
      {"naive_bytes", report.naive_bytes},
      {"peak_step", pass.plan.peak_step},
      {"peak_node", report.peak_node},
      {"bytes_by_class", BytesByClassJson(report.bytes_by_class)},
      {"next_drop", NextDropJson(report.next_drop)},
      {"engine_bytes", extras.engine_bytes},
      {"library_heap_bytes", report.library_heap_bytes},
      {"steps", pass.plan.steps.size()},
      {"recomputed_steps", report.recomputed_steps},
      {"recompute_cost_fraction", RecomputeCostFraction(report)},
      {"order", report.order},
      {"placement", report.placement},
      {"placement_optimal", report.placement_optimal},
      {"residual_bytes", ResidualBytes(report)},
      {"residuals", ResidualsJson(report)},
      {"regions", RegionsJson(report)},
      {"live_at_peak", Json::array()},
      {"passes", Json::array()},
      {"notes", report.notes},
  };
  for (const auto& [name, value] : pass.model.symbols) {
    json["symbols"][name] = value;
  }
  if (!extras.maximized.empty()) {
    json["maximized"] = {{"symbol", extras.maximized},
                         {"value", pass.model.symbols.at(extras.maximized)}};
  }
  for (const LiveAtPeak& live : report.live_at_peak) {
    json["live_at_peak"].push_back(
        {{"name", live.name}, {"class", live.what}, {"bytes", live.bytes}});
  }
  for (const std::unique_ptr<PlannedPass>& each : plan.passes) {
    json["passes"].push_back(
        {{"mode", ModeName(each->mode)},
         {"steps", each->plan.steps.size()},
         {"end_bytes", each->plan.end_bytes},
         {"lower_bound_bytes", each->plan.peak_live_bytes}});
  }
  return json;
}

std::string ToText(const std::string& model, const TrainerPlan& plan,
                   const std::vector<PlanReport>& reports,
                   const Extras& extras) {
  const PlannedPass& pass = *plan.passes.front();
  const PlanReport& report = reports.front();
  std::string text;
  if (!extras.maximized.empty()) {
    absl::StrAppend(&text, extras.maximized, " = ",
                    pass.model.symbols.at(extras.maximized),
                    " is the largest found to fit\n\n");
  }
  absl::StrAppend(&text, "plan of ", model);
  const char* separator = ": ";
  for (const auto& [name, value] : pass.model.symbols) {
    absl::StrAppend(&text, separator, name, " = ", value);
    separator = ", ";
  }
  absl::StrAppend(&text, "\n\n");
  TextTable table({"", ">size", ">bytes", ""});
  const auto add = [&table](const char* name, int64_t bytes,
                            const std::string& remark) {
    table.AddRow({name, FormatSize(bytes), FormatCount(bytes), remark});
  };
  const int64_t bound = pass.plan.peak_live_bytes;
  add("arena", plan.arena_bytes,
      absl::StrCat(report.placement, ", order: ", report.order));
  add("lower bound", bound,
      absl::StrFormat("most bytes alive, at step %d of %d: %s",
                      pass.plan.peak_step, pass.plan.steps.size(),
                      report.peak_node));
  const int64_t gap = GapBytes(plan);
  add("gap", gap,
      gap == 0 ? std::string("the placement is optimal for these steps")
               : absl::StrFormat("%.2f %% above the lower bound; optimality is "
                                 "not claimed",
                                 100.0 * gap / (plan.arena_bytes - gap)));
  if (extras.smallest_arena_bytes.has_value()) {
    add("smallest arena", *extras.smallest_arena_bytes,
        "found for any budget: smaller budgets are refused");
  }
  add("working set", pass.plan.working_set_bytes,
      "largest single step: no schedule needs less");
  add("persistent", plan.persistent_bytes,
      "parameters, state, optimizer; part of the arena");
  add("without reuse", report.naive_bytes, "every value its own bytes");
  add("engine", extras.engine_bytes, "kernels and tables, beside the arena");
  add("library heap", report.library_heap_bytes,
      "taken by kernels during a step, beside the arena");
  absl::StrAppend(&text, table.ToString(), "\n",
                  BytesByClassText(report.bytes_by_class), "\n");

  TextTable live({"alive at the peak", "class", ">size", ">bytes"});
  for (size_t i = 0; i < std::min(report.live_at_peak.size(), kShownAtPeak);
       ++i) {
    const LiveAtPeak& entry = report.live_at_peak[i];
    live.AddRow({entry.name, entry.what, FormatSize(entry.bytes),
                 FormatCount(entry.bytes)});
  }
  if (report.live_at_peak.size() > kShownAtPeak) {
    int64_t rest = 0;
    for (size_t i = kShownAtPeak; i < report.live_at_peak.size(); ++i) {
      rest += report.live_at_peak[i].bytes;
    }
    live.AddRow(
        {absl::StrCat(report.live_at_peak.size() - kShownAtPeak, " more"), "",
         FormatSize(rest), FormatCount(rest)});
  }
  if (!live.empty()) absl::StrAppend(&text, live.ToString(), "\n");
  if (report.next_drop.has_value()) {
    const NextDrop& drop = *report.next_drop;
    absl::StrAppend(&text, "next to drop: ", drop.value, ", ",
                    SizeAndBytes(drop.bytes), " at the peak, for ",
                    FormatNanoseconds(drop.added_cost_nanoseconds),
                    " a step; the peak is then ",
                    SizeAndBytes(drop.peak_bytes_after), "\n\n");
  } else {
    absl::StrAppend(&text,
                    "next to drop: no single value, dropped and made again, "
                    "lowers the peak\n\n");
  }

  TextTable passes({"pass", ">steps", ">size", ">bytes"});
  for (const std::unique_ptr<PlannedPass>& each : plan.passes) {
    passes.AddRow({ModeName(each->mode), absl::StrCat(each->plan.steps.size()),
                   FormatSize(each->plan.end_bytes),
                   FormatCount(each->plan.end_bytes)});
  }
  absl::StrAppend(&text, passes.ToString(), "\n");
  absl::StrAppend(
      &text, report.residuals.size(), " residuals, ",
      SizeAndBytes(ResidualBytes(report)), "; ", report.recomputed_steps,
      " steps recomputed, ",
      absl::StrFormat("%.1f %%", 100 * RecomputeCostFraction(report)),
      " of the cost of all others\n");
  if (!report.regions.empty()) {
    absl::StrAppend(&text, "\n", RegionsText(report));
  }
  for (const std::string& note : report.notes) {
    absl::StrAppend(&text, "note: ", note, "\n");
  }
  return text;
}

class PlanCommand : public Command {
 public:
  std::string name() const override { return "plan"; }
  std::string help() const override {
    return "Plan a training run: arena, lower bound, what lives at the peak, "
           "what each region buys";
  }
  void AddOptions(CLI::App& app) override {
    model_.Add(app);
    config_.Add(app);
    budget_.Add(app);
    app.add_option("--maximize", maximize_,
                   "Find the largest value of a symbol that fits the budget, "
                   "and plan for it")
        ->type_name("SYMBOL")
        ->excludes("--process-budget")
        ->needs("--budget");
    app.add_option("--max-added-cost", max_added_cost_,
                   "With --maximize: most that recomputing may add to a step, "
                   "in percent; without it 50")
        ->type_name("PERCENT")
        ->check(PositiveNumber(1e6))
        ->needs("--maximize");
    app.add_flag(
        "--smallest", smallest_,
        "Search for the smallest arena that any budget can get without "
        "a --budget and in plans of more than 200 steps, too");
    app.add_option("--out", out_, "File that gets the plan (proto/plan.proto)");
    app.add_option("--html", html_, "File that gets the plan as a picture");
    app.add_option("--emit-annotations", annotations_,
                   "Graph file that asks for what the planner recomputes, in "
                   "regions and annotations");
    format_.Add(app);
  }

  absl::Status Run(const Console& console) override {
    RETURN_IF_ERROR(CheckOutputs({out_, html_, annotations_},
                                 {model_.model, config_.config}));
    ASSIGN_OR_RETURN(const ModelSource source, model_.Read(console));
    const proto::Graph& graph = source.graph;
    ASSIGN_OR_RETURN(const proto::TrainConfig config, config_.Read());
    ASSIGN_OR_RETURN(TrainerOptions options, model_.trainer_options());
    budget_.Apply(options);
    PlannedTrainer planned;
    Extras extras;
    if (maximize_.empty()) {
      ASSIGN_OR_RETURN(planned, PlanTrainer(graph, config, options));
    } else {
      // As --set, an ONNX file's own name of a dim will do.
      const auto dim = FindDim(source.symbols, maximize_);
      extras.maximized = dim == source.symbols.end() ? maximize_ : dim->first;
      if (options.symbols.count(extras.maximized) +
              options.symbols.count(maximize_) >
          0) {
        return absl::InvalidArgumentError(
            absl::StrCat("--maximize finds the value of ", Quote(maximize_),
                         ": it cannot be --set too"));
      }
      Progress progress(console, kMostTries);
      int64_t tries = 0;
      const auto show = [&](int64_t value) {
        progress.Update(
            ++tries, absl::StrCat("trying ", extras.maximized, " = ", value));
      };
      ASSIGN_OR_RETURN(LargestValue largest,
                       MaximizeSymbol(graph, config, options, extras.maximized,
                                      max_added_cost_ / 100, show));
      options.symbols[extras.maximized] = largest.value;
      planned = std::move(largest.planned);
    }
    ASSIGN_OR_RETURN(extras.engine_bytes, MeasureEngineBytes(planned.plan));
    if (options.process_budget_bytes != INT64_MAX) {
      const int64_t left = ArenaBytesLeft(planned.plan, extras.engine_bytes);
      options.plan.budget_bytes =
          std::min(options.plan.budget_bytes, std::max<int64_t>(left, 0));
      absl::StatusOr<PlannedTrainer> fitting =
          PlanTrainer(graph, config, options);
      if (!fitting.ok()) {
        return absl::Status(
            fitting.status().code(),
            absl::StrCat("process budget of ", options.process_budget_bytes,
                         " bytes, of which everything but the arena takes ",
                         options.process_budget_bytes - left, ": ",
                         fitting.status().message()));
      }
      planned = *std::move(fitting);
      planned.reports.front().notes.push_back(absl::StrCat(
          "of the process budget, ", options.process_budget_bytes - left,
          " bytes are for all but the arena"));
    }
    // With a budget, the search has mostly been done already.
    if (smallest_ || options.plan.budget_bytes != INT64_MAX ||
        planned.plan.passes.front()->plan.steps.size() <=
            kQuicklySearchedSteps) {
      extras.smallest_arena_bytes = planned.smallest_arena_bytes();
    }
    if (!annotations_.empty()) {
      RETURN_IF_ERROR(WriteAnnotations(graph, config, options, planned));
    }
    if (!out_.empty()) RETURN_IF_ERROR(WritePlan(planned.plan, out_));
    if (!html_.empty()) {
      ASSIGN_OR_RETURN(const std::string picture,
                       PlanPicture(model_.model, planned));
      RETURN_IF_ERROR(ReplaceFile(html_, {picture}));
    }
    console.out << (format_.json() ? Dump(ToJson(model_.model, planned.plan,
                                                 planned.reports, extras))
                                   : ToText(model_.model, planned.plan,
                                            planned.reports, extras));
    return absl::OkStatus();
  }

 private:
  // Says in a note how close the annotations come to the plan.
  absl::Status WriteAnnotations(const proto::Graph& graph,
                                const proto::TrainConfig& config,
                                const TrainerOptions& options,
                                PlannedTrainer& planned) {
    ASSIGN_OR_RETURN(const EmittedAnnotations emitted,
                     EmitAnnotations(graph, config, options, planned.plan));
    const AnnotatedGraph& annotated = emitted.annotated;
    PlanReport& report = planned.reports.front();
    report.notes.push_back(absl::StrFormat(
        "%s: %d regions, %d must_save and %d must_recompute added; planned "
        "without a budget it has an arena of %d bytes and adds %.1f %%, this "
        "plan has %d and adds %.1f %%",
        annotations_, annotated.regions, annotated.must_save,
        annotated.must_recompute, emitted.arena_bytes,
        100 * emitted.added_fraction, planned.plan.arena_bytes,
        100 * RecomputeCostFraction(report)));
    if (annotated.steps_left_out > 0) {
      report.notes.push_back(absl::StrCat(
          annotated.steps_left_out,
          annotated.steps_left_out == 1 ? " recomputed step"
                                        : " recomputed steps",
          " cannot be said in annotations: a node that runs "
          "a third time, one of the backward pass, or one whose result is kept "
          "for one gradient and made again for another"));
    }
    return WriteGraphFile(annotated.graph, annotations_);
  }

  ModelFlags model_;
  ConfigFlags config_;
  BudgetFlags budget_;
  FormatFlag format_;
  std::string maximize_;
  double max_added_cost_ = kDefaultMaxAddedCost;
  bool smallest_ = false;
  std::string out_;
  std::string html_;
  std::string annotations_;
};

}  // namespace

std::unique_ptr<Command> MakePlanCommand() {
  return std::make_unique<PlanCommand>();
}

}  // namespace reprise
