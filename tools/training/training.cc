#include "tools/training/training.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

constexpr int64_t kMostReports = 20;

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

int64_t StepsInEpochs(const BatchShape& shape, int64_t epoch_rows,
                      int64_t epochs, int64_t accumulate_steps) {
  return epochs * shape.NumBatches(epoch_rows) / accumulate_steps;
}

int64_t ReportSteps(int64_t total_steps, int64_t epoch_steps) {
  const int64_t twentieth = (total_steps + kMostReports - 1) / kMostReports;
  return std::max<int64_t>({1, epoch_steps, twentieth});
}

absl::Status RunTraining(
    const BatchShape& shape, const Dataset& dataset, const RowSet& train,
    const std::function<absl::StatusOr<Metrics>()>& evaluate_held_out,
    const TrainingOptions& options, Trainer& trainer) {
  const int64_t batches = shape.NumBatches(train.epoch_size());
  if (batches < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a batch of ", shape.batch, " rows is more than the ",
                     train.epoch_size(), " of an epoch"));
  }
  const int64_t accumulate =
      std::max(1, trainer.plan().config.accumulate_steps());
  BatchRunner runner(shape, dataset, trainer);
  std::vector<int64_t> rows;
  int64_t epoch = -1;  // of `rows`
  Metrics metrics;     // since the last report
  int64_t steps = 0;   // likewise
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
  while (trainer.step() < options.total_steps) {
    const int64_t first = trainer.step() * accumulate;
    for (int64_t at = first; at < first + accumulate; ++at) {
      if (at / batches != epoch) {
        epoch = at / batches;
        rows = train.Shuffled(options.seed, epoch);
      }
      const absl::Status status =
          runner.Train(absl::MakeConstSpan(rows).subspan(
                           at % batches * shape.batch, shape.batch),
                       metrics);
      if (!status.ok()) {
        return absl::Status(
            status.code(),
            absl::StrCat("step ", trainer.step(), ": ", status.message()));
      }
    }
    ++steps;
    if (options.on_step) options.on_step(trainer.step(), metrics);
    if (trainer.step() % options.report_steps != 0 &&
        trainer.step() < options.total_steps) {
      continue;
    }
    TrainingReport report;
    report.step = trainer.step();
    report.epochs = static_cast<double>(trainer.step() * accumulate) / batches;
    report.train = metrics;
    const double seconds = Seconds(std::chrono::steady_clock::now() - start);
    report.steps_per_second = seconds > 0 ? steps / seconds : 0;
    if (evaluate_held_out) {
      ASSIGN_OR_RETURN(report.held_out, evaluate_held_out());
    }
    RETURN_IF_ERROR(options.on_report(report));
    metrics = Metrics();
    steps = 0;
    start = std::chrono::steady_clock::now();
  }
  return absl::OkStatus();
}

}  // namespace reprise
