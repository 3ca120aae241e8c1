// ONNX's optimizer steps as ordinary nodes: they compute new tensors from old
// ones, several at a time, and overwrite nothing but dying operands.

#ifndef OPS_LIB_TRAINING_STEP_H_
#define OPS_LIB_TRAINING_STEP_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/op.h"
#include "ops/lib/update.h"

namespace reprise {

// Computes elements [begin, end) of one tensor's step.
using StepRange =
    std::function<void(const UpdateOperands&, int64_t begin, int64_t end)>;

struct TrainingStepSpec {
  std::string name;
  int num_slots = 1;
  std::vector<AttrSpec> attrs;
  std::function<absl::Status(const Attrs&)> judge;  // may be null
  int64_t flops_per_element = 10;
  // Returns the loop of a run: `operands` has lr and step, no tensor.
  std::function<StepRange(const Attrs&, const UpdateOperands& operands)> loop;
};

// Returns the operator of operands R (learning rate, f32), T (completed steps,
// i64), X.., G.., first slots.., second slots..; results X'.., slots'.. . It
// has no gradient.
OpDef TrainingStepOp(TrainingStepSpec spec);

}  // namespace reprise

#endif  // OPS_LIB_TRAINING_STEP_H_
