// `reprise eval`.

#include "absl/strings/str_cat.h"
#include "core/status_macros.h"
#include "tools/commands/command.h"
#include "tools/commands/flags.h"
#include "tools/commands/metrics_report.h"
#include "tools/commands/report.h"
#include "tools/commands/size.h"
#include "tools/importer/onnx_file.h"
#include "tools/training/batches.h"

namespace reprise {
namespace {

class EvalCommand : public Command {
 public:
  std::string name() const override { return "eval"; }
  std::string help() const override {
    return "Evaluate weights on data; with --holdout on the rows held out";
  }
  void AddOptions(CLI::App& app) override {
    model_.Add(app);
    data_.Add(app);
    app.add_option("--load", load_,
                   "Weights (safetensors); needed unless the model is .onnx");
    app.callback([this]() {
      if (load_.empty() && !IsOnnxPath(model_.model)) {
        throw CLI::RequiredError("--load");
      }
    });
    app.add_option("--seed", seed_, "Seed that drew the rows held out")
        ->transform(Seed());
    format_.Add(app);
  }

  absl::Status Run(const Console& console) override {
    ASSIGN_OR_RETURN(const ModelSource source, model_.Read(console));
    const proto::Graph& graph = source.graph;
    const std::unique_ptr<OpTable> ops = MakeOpTable();
    ASSIGN_OR_RETURN(const Graph model,
                     LoadGraph(graph, *ops, model_.symbols(), model_.model));
    if (model.losses.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          model_.model, ": has no loss to evaluate",
          source.imported ? "; --loss puts one behind its first output" : ""));
    }
    ASSIGN_OR_RETURN(const BatchShape shape, BatchShapeOf(graph, model));
    DataOptions data_options;
    data_options.files = data_.data;
    data_options.scale = data_.scale;
    ASSIGN_OR_RETURN(const Dataset dataset,
                     Dataset::Load(data_options, shape.inputs));
    RowSet rows = dataset.All();
    if (data_.holdout > 0) {
      ASSIGN_OR_RETURN(Split split, dataset.SplitRows(data_.holdout, seed_));
      rows = std::move(split.held_out);
    }
    if (shape.NumBatches(rows.size()) < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(data_.data, ": a batch of ", shape.batch,
                       " rows is more than the ", rows.size(), " there are"));
    }
    ASSIGN_OR_RETURN(TrainerOptions options, model_.trainer_options());
    options.more_symbols = PartialBatchBindings(shape, {rows.size()});
    ASSIGN_OR_RETURN(
        const std::unique_ptr<Trainer> runner,
        MakeRunner(graph, PlanMode::kEvaluate, /*gradients=*/{}, options));
    RETURN_IF_ERROR(source.SetWeights(*runner));
    if (!load_.empty()) RETURN_IF_ERROR(runner->LoadWeights(load_));
    BatchRunner batches(shape, dataset, *runner);
    ASSIGN_OR_RETURN(const Metrics metrics, batches.Evaluate(rows.InOrder()));
    if (format_.json()) {
      Json json = MetricsJson(metrics, dataset.is_text());
      json["model"] = model_.model;
      json["arena_bytes"] = runner->arena_bytes();
      console.out << Dump(json);
    } else {
      console.out << FormatCount(metrics.rows)
                  << (dataset.is_text() ? " windows: " : " rows: ")
                  << MetricsText(metrics, dataset.is_text()) << "\n";
    }
    return absl::OkStatus();
  }

 private:
  ModelFlags model_;
  DataFlags data_;
  FormatFlag format_;
  std::string load_;
  uint64_t seed_ = 0;
};

}  // namespace

std::unique_ptr<Command> MakeEvalCommand() {
  return std::make_unique<EvalCommand>();
}

}  // namespace reprise
