// `reprise plan`: every byte of a training run, before it begins.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/status_macros.h"
#include "tools/commands/command.h"
#include "tools/commands/flags.h"
#include "tools/commands/output_file.h"
#include "tools/commands/report.h"
#include "tools/commands/size.h"
#include "tools/commands/text_table.h"

namespace reprise {
namespace {

// How much of what lives at the peak the text shows.
constexpr size_t kShownAtPeak = 12;

std::string SizeAndBytes(int64_t bytes) {
  return absl::StrCat(FormatSize(bytes), " (", FormatCount(bytes), " bytes)");
}

Json ToJson(const std::string& model, const TrainerPlan& plan,
            const std::vector<PlanReport>& reports, int64_t engine_bytes) {
  const PlannedPass& pass = *plan.passes.front();
  const PlanReport& report = reports.front();
  Json json = {
      {"model", model},
      {"symbols", Json::object()},
      {"threads", plan.env.threads},
      {"arena_bytes", plan.arena_bytes},
      {"lower_bound_bytes", pass.plan.peak_live_bytes},
      {"working_set_bytes", pass.plan.working_set_bytes},
      {"persistent_bytes", plan.persistent_bytes},
      {"naive_bytes", report.naive_bytes},
      {"peak_step", pass.plan.peak_step},
      {"peak_node", report.peak_node},
      {"bytes_by_class", BytesByClassJson(report.bytes_by_class)},
      {"engine_bytes", engine_bytes},
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
                   int64_t engine_bytes) {
  const PlannedPass& pass = *plan.passes.front();
  const PlanReport& report = reports.front();
  std::string text = absl::StrCat("plan of ", model);
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
  add("working set", pass.plan.working_set_bytes,
      "largest single step: no schedule needs less");
  add("persistent", plan.persistent_bytes,
      "parameters, state, optimizer; part of the arena");
  add("without reuse", report.naive_bytes, "every value its own bytes");
  add("engine", engine_bytes, "kernels and tables, beside the arena");
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
    app.add_option("--out", out_, "File that gets the plan (proto/plan.proto)");
    format_.Add(app);
  }

  absl::Status Run(const Console& console) override {
    RETURN_IF_ERROR(CheckWritable(out_));
    ASSIGN_OR_RETURN(const proto::Graph graph, ReadGraphFile(model_.model));
    ASSIGN_OR_RETURN(const proto::TrainConfig config, config_.Read());
    TrainerOptions options = model_.trainer_options();
    budget_.Apply(options);
    ASSIGN_OR_RETURN(PlannedTrainer planned,
                     PlanTrainer(graph, config, options));
    ASSIGN_OR_RETURN(const int64_t engine_bytes,
                     MeasureEngineBytes(planned.plan));
    if (options.process_budget_bytes != INT64_MAX) {
      const int64_t left = ArenaBytesLeft(planned.plan, engine_bytes);
      options.plan.budget_bytes = std::min(options.plan.budget_bytes,
                                           std::max<int64_t>(left, 0));
      ASSIGN_OR_RETURN(planned, PlanTrainer(graph, config, options));
      planned.reports.front().notes.push_back(absl::StrCat(
          "of the process budget, ", options.process_budget_bytes - left,
          " bytes are for all but the arena"));
    }
    if (!out_.empty()) RETURN_IF_ERROR(WritePlan(planned.plan, out_));
    console.out << (format_.json() ? Dump(ToJson(model_.model, planned.plan,
                                                 planned.reports, engine_bytes))
                                   : ToText(model_.model, planned.plan,
                                            planned.reports, engine_bytes));
    return absl::OkStatus();
  }

 private:
  ModelFlags model_;
  ConfigFlags config_;
  BudgetFlags budget_;
  FormatFlag format_;
  std::string out_;
};

}  // namespace

std::unique_ptr<Command> MakePlanCommand() {
  return std::make_unique<PlanCommand>();
}

}  // namespace reprise
