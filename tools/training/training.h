// A training run: steps over shuffled epochs, with reports on the way.

#ifndef TOOLS_TRAINING_TRAINING_H_
#define TOOLS_TRAINING_TRAINING_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "core/trainer.h"
#include "tools/data/dataset.h"
#include "tools/training/batches.h"

namespace reprise {

// What a run knows at a step that it reports.
struct TrainingReport {
  int64_t step = 0;   // optimizer steps completed
  double epochs = 0;  // passed by then
  Metrics train;      // since the last report
  absl::optional<Metrics> held_out;
  double steps_per_second = 0;  // since the last report, evaluation left out
};

struct TrainingOptions {
  int64_t total_steps = 0;   // of the optimizer, those before a resume included
  int64_t report_steps = 1;  // steps from one report to the next
  uint64_t seed = 0;         // of the order of rows

  // Called after every step, for progress; may be null.
  std::function<void(int64_t step, const Metrics& since_last_report)> on_step;

  // Called at every multiple of report_steps and at the end.
  std::function<absl::Status(const TrainingReport&)> on_report;
};

// Returns how many steps `epochs` epochs have; a last step that would need
// micro-steps of another epoch is left out.
//
//   epoch_rows:       rows that an epoch trains on.
//   accumulate_steps: micro-steps in a step, >= 1.
int64_t StepsInEpochs(const BatchShape& shape, int64_t epoch_rows,
                      int64_t epochs, int64_t accumulate_steps);

// Returns a number of steps between reports: an epoch if the run has at most
// 20 of them, otherwise a twentieth of the run.
int64_t ReportSteps(int64_t total_steps, int64_t epoch_steps);

// Trains up to options.total_steps from where the trainer stands: which rows a
// step sees depends on the seed and its number only, so a resumed run continues
// as if it had never stopped.
//
//   evaluate_held_out: called at each report, if not null.
//   errors: those of the trainer, with the step; those of the callbacks.
absl::Status RunTraining(
    const BatchShape& shape, const Dataset& dataset, const RowSet& train,
    const std::function<absl::StatusOr<Metrics>()>& evaluate_held_out,
    const TrainingOptions& options, Trainer& trainer);

}  // namespace reprise

#endif  // TOOLS_TRAINING_TRAINING_H_
