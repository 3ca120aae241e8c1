// `reprise residuals`: what is kept for the backward pass, and why.

#include "absl/strings/str_cat.h"
#include "core/status_macros.h"
#include "tools/commands/command.h"
#include "tools/commands/flags.h"
#include "tools/commands/report.h"

namespace reprise {
namespace {

class ResidualsCommand : public Command {
 public:
  std::string name() const override { return "residuals"; }
  std::string help() const override {
    return "Print the saved residuals with producer, reader and reason, then "
           "the regions with their verdicts";
  }
  void AddOptions(CLI::App& app) override {
    model_.Add(app);
    config_.Add(app);
    format_.Add(app);
  }

  absl::Status Run(const Console& console) override {
    ASSIGN_OR_RETURN(const ModelSource source, model_.Read(console));
    const proto::Graph& graph = source.graph;
    ASSIGN_OR_RETURN(const proto::TrainConfig config, config_.Read());
    ASSIGN_OR_RETURN(TrainerOptions options, model_.trainer_options());
    options.evaluate = false;
    ASSIGN_OR_RETURN(const PlannedTrainer planned,
                     PlanTrainer(graph, config, options));
    const PlanReport& report = planned.reports.front();
    if (format_.json()) {
      console.out << Dump({{"model", model_.model},
                           {"residual_bytes", ResidualBytes(report)},
                           {"residuals", ResidualsJson(report)},
                           {"regions", RegionsJson(report)},
                           {"notes", report.notes}});
      return absl::OkStatus();
    }
    console.out << ResidualsText(report) << "\n" << RegionsText(report);
    for (const std::string& note : report.notes) {
      console.out << "note: " << note << "\n";
    }
    return absl::OkStatus();
  }

 private:
  ModelFlags model_;
  ConfigFlags config_;
  FormatFlag format_;
};

}  // namespace

std::unique_ptr<Command> MakeResidualsCommand() {
  return std::make_unique<ResidualsCommand>();
}

}  // namespace reprise
