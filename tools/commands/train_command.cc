// `reprise train`.

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "core/status_macros.h"
#include "tools/commands/command.h"
#include "tools/commands/flags.h"
#include "tools/commands/metrics_report.h"
#include "tools/commands/output_file.h"
#include "tools/commands/progress.h"
#include "tools/commands/report.h"
#include "tools/commands/size.h"
#include "tools/training/training.h"

namespace reprise {
namespace {

constexpr int64_t kDefaultEpochs = 10;

// What is trained on and what is held out.
struct Data {
  Dataset train;
  RowSet train_rows;
  // Of --eval-data, or the held-out rows of the same files.
  absl::optional<Dataset> other;
  absl::optional<RowSet> held_out_rows;

  const Dataset& held_out() const { return other ? *other : train; }
};

// Returns the elements of parameters that a step updates.
int64_t NumTrained(const PlannedPass& pass) {
  int64_t elements = 0;
  const Graph& graph = pass.step.graph;
  for (const Node& node : graph.nodes) {
    if (node.role != Role::kUpdate || node.in.empty()) continue;
    const Value& updated = graph.values[node.in[0]];
    if (updated.kind == ValueKind::kParameter) {
      elements += updated.type.num_elements();
    }
  }
  return elements;
}

class TrainCommand : public Command {
 public:
  std::string name() const override { return "train"; }
  std::string help() const override {
    return "Train a model on data; save weights and checkpoints";
  }
  void AddOptions(CLI::App& app) override {
    model_.Add(app);
    CLI::Option* const holdout = data_.Add(app);
    app.add_option("--eval-data", eval_data_,
                   "Files to evaluate on, in place of --holdout")
        ->excludes(holdout);
    config_.Add(app);
    budget_.Add(app);
    CLI::Option* const epochs =
        app.add_option("--epochs", epochs_,
                       absl::StrCat("Passes over the data; without --steps ",
                                    kDefaultEpochs))
            ->transform(Integer(1, kMostEpochs));
    app.add_option("--steps", steps_, "Optimizer steps")
        ->transform(Integer(1, kMostSteps))
        ->excludes(epochs);
    app.add_option("--report-every", report_steps_,
                   "Steps between reports; 0: an epoch, or a twentieth of the "
                   "run if that is more")
        ->transform(Integer(0, kMostSteps));
    CLI::Option* const load =
        app.add_option("--load", load_, "Weights to begin with (safetensors)");
    app.add_option("--save", save_, "Weights at the end (safetensors)");
    app.add_option("--checkpoint", checkpoint_,
                   "Checkpoint, written at each report");
    app.add_option("--resume", resume_, "Checkpoint to continue from")
        ->excludes(load);
    format_.Add(app);
  }

  absl::Status Run(const Console& console) override {
    std::vector<std::string> inputs = {model_.model, config_.config};
    for (const std::string& files : {data_.data, eval_data_}) {
      for (const absl::string_view file : absl::StrSplit(files, ',')) {
        inputs.emplace_back(file);
      }
    }
    RETURN_IF_ERROR(CheckOutputs({save_, checkpoint_}, inputs));
    ASSIGN_OR_RETURN(const ModelSource source, model_.Read(console));
    const proto::Graph& graph = source.graph;
    ASSIGN_OR_RETURN(const proto::TrainConfig config, config_.Read());
    const std::unique_ptr<OpTable> ops = MakeOpTable();
    ASSIGN_OR_RETURN(const Graph model,
                     LoadGraph(graph, *ops, model_.symbols(), model_.model));
    if (model.losses.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(model_.model, ": has no loss to train for"));
    }
    ASSIGN_OR_RETURN(const BatchShape shape, BatchShapeOf(graph, model));
    ASSIGN_OR_RETURN(const Data data, ReadData(shape, config.seed()));

    ASSIGN_OR_RETURN(TrainerOptions options, model_.trainer_options());
    budget_.Apply(options);
    options.evaluate = data.held_out_rows.has_value();
    std::vector<int64_t> row_counts = {data.train_rows.epoch_size()};
    if (options.evaluate) row_counts.push_back(data.held_out_rows->size());
    options.more_symbols = PartialBatchBindings(shape, row_counts);
    ASSIGN_OR_RETURN(PlannedTrainer planned,
                     PlanTrainer(graph, config, options));
    const int64_t trained = NumTrained(*planned.plan.passes.front());
    if (trained == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          model_.model, ": there is nothing to train: none of its ",
          model.parameters.size(),
          " parameters is trainable and reaches a loss"));
    }
    const PlanReport report = planned.reports.front();
    ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer,
                     Trainer::Create(std::move(planned.plan)));
    RETURN_IF_ERROR(source.SetWeights(*trainer));
    if (!load_.empty()) RETURN_IF_ERROR(trainer->LoadWeights(load_));
    if (!resume_.empty()) RETURN_IF_ERROR(trainer->Resume(resume_));

    if (!format_.json()) {
      console.out << Header(trained, data, report, *trainer) << std::flush;
    }
    Json reports = Json::array();
    RETURN_IF_ERROR(Train(console, shape, data, *trainer, reports));
    if (!save_.empty()) RETURN_IF_ERROR(trainer->SaveWeights(save_));
    if (format_.json()) {
      console.out << Dump(
          {{"model", model_.model},
           {"steps", trainer->step()},
           {"train_rows", data.train_rows.size()},
           {"held_out_rows",
            data.held_out_rows ? data.held_out_rows->size() : 0},
           {"arena_bytes", trainer->arena_bytes()},
           {"lower_bound_bytes",
            trainer->plan().passes.front()->plan.peak_live_bytes},
           {"engine_bytes", trainer->engine_bytes()},
           {"library_heap_bytes", report.library_heap_bytes},
           {"reports", std::move(reports)}});
    } else if (!save_.empty()) {
      console.out << "weights in " << save_ << "\n";
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Data> ReadData(const BatchShape& shape, uint64_t seed) const {
    DataOptions options;
    options.files = data_.data;
    options.scale = data_.scale;
    ASSIGN_OR_RETURN(Dataset train, Dataset::Load(options, shape.inputs));
    RowSet all = train.All();
    Data data{std::move(train), std::move(all), absl::nullopt, absl::nullopt};
    if (!eval_data_.empty()) {
      options.files = eval_data_;
      ASSIGN_OR_RETURN(data.other, Dataset::Load(options, shape.inputs));
      data.held_out_rows = data.other->All();
    } else if (data_.holdout > 0) {
      ASSIGN_OR_RETURN(Split split, data.train.SplitRows(data_.holdout, seed));
      data.train_rows = std::move(split.train);
      data.held_out_rows = std::move(split.held_out);
    }
    if (data.held_out_rows.has_value() &&
        shape.NumBatches(data.held_out_rows->size()) < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(eval_data_.empty() ? data_.data : eval_data_,
                       ": a batch of ", shape.batch, " rows is more than the ",
                       data.held_out_rows->size(), " held out"));
    }
    return data;
  }

  std::string Header(int64_t trained, const Data& data,
                     const PlanReport& report, const Trainer& trainer) const {
    const char* const rows = data.train.is_text() ? " windows" : " rows";
    std::string text =
        absl::StrCat("model  ", model_.model, ", ", FormatCount(trained),
                     " trained numbers\ndata   ", data_.data, ", ",
                     FormatCount(data.train_rows.size()), rows);
    if (data.held_out_rows.has_value()) {
      absl::StrAppend(&text, ", ", FormatCount(data.held_out_rows->size()),
                      " held out");
    }
    return absl::StrCat(
        text, "\narena  ", FormatSize(trainer.arena_bytes()), " (",
        FormatCount(trainer.arena_bytes()), " bytes), lower bound ",
        FormatCount(trainer.plan().passes.front()->plan.peak_live_bytes),
        " bytes, ", report.recomputed_steps, " steps recomputed; engine ",
        FormatSize(trainer.engine_bytes()), ", library heap ",
        FormatSize(report.library_heap_bytes), "\n");
  }

  absl::Status Train(const Console& console, const BatchShape& shape,
                     const Data& data, Trainer& trainer, Json& reports) const {
    const int64_t accumulate =
        std::max(1, trainer.plan().config.accumulate_steps());
    const int64_t rows = data.train_rows.epoch_size();
    TrainingOptions options;
    options.seed = trainer.plan().config.seed();
    options.total_steps =
        steps_ > 0
            ? steps_
            : StepsInEpochs(shape, rows, epochs_ > 0 ? epochs_ : kDefaultEpochs,
                            accumulate);
    options.report_steps =
        report_steps_ > 0
            ? report_steps_
            : ReportSteps(options.total_steps,
                          StepsInEpochs(shape, rows, 1, accumulate));
    if (!resume_.empty() && trainer.step() >= options.total_steps) {
      console.err << "note: " << resume_ << " is at step " << trainer.step()
                  << " of " << options.total_steps
                  << " already: nothing is trained\n";
    }
    const bool text = data.train.is_text();
    BatchRunner held_out(shape, data.held_out(), trainer);
    std::function<absl::StatusOr<Metrics>()> evaluate;
    if (data.held_out_rows.has_value()) {
      evaluate = [&held_out, &data] {
        return held_out.Evaluate(data.held_out_rows->InOrder());
      };
    }
    Progress progress(console, std::max<int64_t>(1, options.total_steps));
    options.on_step = [&progress, text](int64_t step, const Metrics& metrics) {
      progress.Update(step, MetricsText(metrics, text));
    };
    options.on_report = [&](const TrainingReport& report) -> absl::Status {
      if (!checkpoint_.empty()) {
        RETURN_IF_ERROR(trainer.SaveCheckpoint(checkpoint_));
      }
      Json entry = {{"step", report.step},
                    {"epochs", report.epochs},
                    {"train", MetricsJson(report.train, text)}};
      std::string line = absl::StrFormat(
          "step %d/%d, epoch %.2f: %s", report.step, options.total_steps,
          report.epochs, MetricsText(report.train, text));
      if (report.held_out.has_value()) {
        entry["held_out"] = MetricsJson(*report.held_out, text);
        absl::StrAppend(&line,
                        " | held out: ", MetricsText(*report.held_out, text));
      }
      entry["steps_per_second"] = report.steps_per_second;
      absl::StrAppendFormat(&line, " | %.3g steps/s", report.steps_per_second);
      reports.push_back(std::move(entry));
      if (!format_.json()) progress.Line(line);
      return absl::OkStatus();
    };
    return RunTraining(shape, data.train, data.train_rows, evaluate, options,
                       trainer);
  }

  ModelFlags model_;
  DataFlags data_;
  ConfigFlags config_;
  BudgetFlags budget_;
  FormatFlag format_;
  std::string eval_data_;
  int64_t epochs_ = 0;  // 0: not given
  int64_t steps_ = 0;   // likewise
  int64_t report_steps_ = 0;
  std::string load_;
  std::string save_;
  std::string checkpoint_;
  std::string resume_;
};

}  // namespace

std::unique_ptr<Command> MakeTrainCommand() {
  return std::make_unique<TrainCommand>();
}

}  // namespace reprise
