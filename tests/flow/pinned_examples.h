// The examples whose arena bytes are pinned, and how they are planned.

#ifndef TESTS_FLOW_PINNED_EXAMPLES_H_
#define TESTS_FLOW_PINNED_EXAMPLES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/load.h"
#include "core/lowering.h"
#include "core/machine.h"
#include "core/op_table.h"
#include "core/status_macros.h"
#include "planner/planner.h"

namespace reprise {

inline std::vector<std::string> PinnedExamples() {
  return {"lesson",    "lesson_layer",     "lesson_two_layers", "digits_mlp",
          "mnist_cnn", "char_transformer", "deep_mlp"};
}

// Plans a training step (one thread, AdamW, default symbols) of an example.
inline absl::StatusOr<Plan> PlanExample(const std::string& name,
                                        const OpTable& ops) {
  const std::string path = absl::StrCat("examples/", name, ".textproto");
  ASSIGN_OR_RETURN(const proto::Graph graph, ReadGraphFile(path));
  ASSIGN_OR_RETURN(const Graph model, LoadGraph(graph, ops, {}, path));
  StepOptions step_options;
  step_options.config.set_format_version(1);
  step_options.config.mutable_adamw();
  ASSIGN_OR_RETURN(const StepGraph step,
                   BuildStepGraph(model, ops, step_options));
  LoweringOptions lowering;
  lowering.env.threads = 1;
  lowering.machine = DefaultMachine();
  ASSIGN_OR_RETURN(const LoweredGraph lowered, Lower(step, ops, lowering));
  ASSIGN_OR_RETURN(
      PlanResult result,
      MakePlan(step.graph, lowered, PlanMode::kTrain,
               PlacePersistent(step.graph, lowered), PlanOptions()));
  return std::move(result.plan);
}

}  // namespace reprise

#endif  // TESTS_FLOW_PINNED_EXAMPLES_H_
