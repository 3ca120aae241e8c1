// The step graph: everything one call does, as ordinary nodes. Forward,
// gradients, clipping, optimizer updates, running statistics.

#ifndef CORE_TRAIN_STEP_H_
#define CORE_TRAIN_STEP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/expand.h"
#include "core/graph.h"
#include "core/op_table.h"
#include "core/plan.h"
#include "proto/train.pb.h"

namespace reprise {

struct StepOptions {
  PlanMode mode = PlanMode::kTrain;
  proto::TrainConfig config;
  // kGradients: names of inputs and parameters; empty: all parameters.
  std::vector<std::string> gradients;
};

// What the caller reads after a step.
struct StepResult {
  enum class Kind : uint8_t { kOutput, kLoss, kTotalLoss, kGradient };
  Kind kind = Kind::kOutput;
  std::string name;  // of the output, loss or differentiated value
  ValueId value = kNoValue;
};

// What an optimizer's slot holds before the first step, in every element.
struct SlotContent {
  ValueId slot = kNoValue;
  float content = 0;
};

struct StepGraph {
  Graph graph;
  StepScalars scalars;
  std::vector<SlotContent> slots;
  std::vector<StepResult> results;
};

// Returns the step graph of `model` in a mode.
//
//   errors: InvalidArgument for a bad config (naming field and number) or an
//           unknown gradient name, with the known ones; Unimplemented listing
//           all missing gradients.
absl::StatusOr<StepGraph> BuildStepGraph(const Graph& model, const OpTable& ops,
                                         const StepOptions& options);

}  // namespace reprise

#endif  // CORE_TRAIN_STEP_H_
