// Batches of a dataset, run through the passes of a trainer.

#ifndef TOOLS_TRAINING_BATCHES_H_
#define TOOLS_TRAINING_BATCHES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/trainer.h"
#include "proto/graph.pb.h"
#include "tools/data/dataset.h"
#include "tools/data/model_inputs.h"

namespace reprise {

// Sums over rows.
struct Metrics {
  int64_t rows = 0;
  double loss_sum = 0;  // of rows: a batch's loss counts once for each row
  int64_t labels = 0;   // compared with the class of the largest score
  int64_t correct = 0;

  double loss() const { return rows > 0 ? loss_sum / rows : 0; }
  bool has_accuracy() const { return labels > 0; }
  double accuracy() const {
    return labels > 0 ? static_cast<double>(correct) / labels : 0;
  }
};

// What a model says about its batches.
struct BatchShape {
  std::vector<ModelInput> inputs;
  ScoresAndLabels scores;
  int64_t batch = 0;   // rows
  std::string symbol;  // that binds it; empty: the number is fixed

  // Returns the batches in `rows` rows: partial ones count if their size can
  // be bound.
  int64_t NumBatches(int64_t rows) const;
};

// Ok if a batch of the model has rows.
//
//   inputs: those of `model`, as ModelInputs has them.
//   errors: InvalidArgument naming the symbol that is set to 0, if one is.
absl::Status CheckHasRows(const proto::Graph& model,
                          const std::vector<ModelInput>& inputs);

// Returns the shape of a model's batches.
//
//   graph: loaded from `model`.
//   errors: those of ModelInputs and CheckHasRows.
absl::StatusOr<BatchShape> BatchShapeOf(const proto::Graph& model,
                                        const Graph& graph);

// Returns the bindings that the last, partial batches of row sets need besides
// the model's own: none where the sizes are multiples of the batch or cannot
// be bound.
std::vector<Bindings> PartialBatchBindings(const BatchShape& shape,
                                           absl::Span<const int64_t> num_rows);

// Feeds a trainer. The trainer and the dataset outlive it.
class BatchRunner {
 public:
  BatchRunner(const BatchShape& shape, const Dataset& dataset, Trainer& trainer)
      : shape_(shape), dataset_(dataset), trainer_(trainer) {}

  // Runs one training step (a micro-step if gradients accumulate) on the rows,
  // at most a batch, and adds what it gave.
  absl::Status Train(absl::Span<const int64_t> rows, Metrics& metrics);

  // Evaluates rows in batches. Rows that fill no batch and cannot be a partial
  // one are left out.
  absl::StatusOr<Metrics> Evaluate(absl::Span<const int64_t> rows);

 private:
  absl::StatusOr<Pass*> FindPass(PlanMode mode, int64_t rows);
  absl::Status Fill(absl::Span<const int64_t> rows, Pass& pass);
  absl::Status AddResults(absl::Span<const int64_t> rows, const Pass& pass,
                          Metrics& metrics);

  const BatchShape& shape_;
  const Dataset& dataset_;
  Trainer& trainer_;
  std::vector<int64_t> labels_;  // of one batch
};

// Returns the bytes of a pass's input.
//
//   errors: those of Pass::Input.
absl::StatusOr<absl::Span<char>> InputBytes(const ModelInput& input,
                                            Pass& pass);

}  // namespace reprise

#endif  // TOOLS_TRAINING_BATCHES_H_
