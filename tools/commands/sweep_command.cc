// `reprise sweep`: what less memory costs in time, over all budgets.

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/file.h"
#include "core/status_macros.h"
#include "tools/commands/command.h"
#include "tools/commands/flags.h"
#include "tools/commands/output_file.h"
#include "tools/commands/report.h"
#include "tools/commands/size.h"
#include "tools/commands/sweep_picture.h"
#include "tools/commands/text_table.h"

namespace reprise {
namespace {

Json PointJson(const TradeOff& point) {
  return {{"arena_bytes", point.arena_bytes},
          {"lower_bound_bytes", point.peak_live_bytes},
          {"recomputed_steps", point.recomputed_steps},
          {"added_cost_nanoseconds", point.added_cost_nanoseconds},
          {"recompute_cost_fraction", AddedFraction(point)},
          {"method", point.method}};
}

Json ToJson(const std::string& model, const Sweep& sweep) {
  Json json = {
      {"model", model},
      {"symbols", Json::object()},
      {"cost_nanoseconds", sweep.save_everything.cost_nanoseconds},
      {"persistent_bytes", sweep.persistent_bytes},
      {"working_set_bytes", sweep.working_set_bytes},
      {"annotated", PointJson(sweep.annotated)},
      {"save_everything", PointJson(sweep.save_everything)},
      {"curve", Json::array()},
  };
  for (const auto& [name, value] : sweep.symbols) {
    json["symbols"][name] = value;
  }
  for (const TradeOff& point : sweep.curve) {
    json["curve"].push_back(PointJson(point));
  }
  return json;
}

std::string ToText(const std::string& model, const Sweep& sweep) {
  std::string text = absl::StrCat("sweep of ", model);
  const char* separator = ": ";
  for (const auto& [name, value] : sweep.symbols) {
    absl::StrAppend(&text, separator, name, " = ", value);
    separator = ", ";
  }
  absl::StrAppend(
      &text, "\na step costs ",
      FormatNanoseconds(sweep.save_everything.cost_nanoseconds),
      " without anything computed again; no schedule needs less than ",
      FormatSize(sweep.working_set_bytes), "\n\n");
  TextTable table({"", ">arena", ">bytes", ">peak", ">steps again",
                   ">added time", ">added cost", "found by"});
  const auto add = [&table](const std::string& name, const TradeOff& point) {
    table.AddRow({name, FormatSize(point.arena_bytes),
                  FormatCount(point.arena_bytes),
                  FormatSize(point.peak_live_bytes),
                  absl::StrCat(point.recomputed_steps),
                  FormatNanoseconds(point.added_cost_nanoseconds),
                  absl::StrFormat("%.2f %%", 100 * AddedFraction(point)),
                  point.method.empty() ? "-" : point.method});
  };
  add("save everything", sweep.save_everything);
  add("as annotated", sweep.annotated);
  for (size_t i = 0; i < sweep.curve.size(); ++i) {
    add(absl::StrCat("plan ", i + 1), sweep.curve[i]);
  }
  return absl::StrCat(text, table.ToString());
}

class SweepCommand : public Command {
 public:
  std::string name() const override { return "sweep"; }
  std::string help() const override {
    return "Print the trade-off of memory against time over all budgets, "
           "without the graph's annotations; the graph as annotated is marked";
  }
  void AddOptions(CLI::App& app) override {
    model_.Add(app);
    config_.Add(app);
    app.add_flag("--keep-annotations", keep_annotations_,
                 "Regions and annotations bind the plans of the curve, too");
    app.add_option("--html", html_, "File that gets the curve as a picture");
    format_.Add(app);
  }

  absl::Status Run(const Console& console) override {
    RETURN_IF_ERROR(CheckOutputs({html_}, {model_.model, config_.config}));
    ASSIGN_OR_RETURN(const ModelSource source, model_.Read(console));
    const proto::Graph& graph = source.graph;
    ASSIGN_OR_RETURN(const proto::TrainConfig config, config_.Read());
    ASSIGN_OR_RETURN(const TrainerOptions options, model_.trainer_options());
    ASSIGN_OR_RETURN(
        const Sweep sweep,
        SweepTrainer(graph, config, options,
                     keep_annotations_ ? SweepAnnotations::kBinding
                                       : SweepAnnotations::kIgnored));
    if (!html_.empty()) {
      RETURN_IF_ERROR(ReplaceFile(html_, {SweepPicture(model_.model, sweep)}));
    }
    console.out << (format_.json() ? Dump(ToJson(model_.model, sweep))
                                   : ToText(model_.model, sweep));
    return absl::OkStatus();
  }

 private:
  ModelFlags model_;
  ConfigFlags config_;
  FormatFlag format_;
  bool keep_annotations_ = false;
  std::string html_;
};

}  // namespace

std::unique_ptr<Command> MakeSweepCommand() {
  return std::make_unique<SweepCommand>();
}

}  // namespace reprise
