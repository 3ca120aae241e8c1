// ONNX's optimizer steps as ordinary nodes: they compute new tensors from old
// ones, several at a time, and overwrite nothing but dying operands.

#ifndef OPS_LIB_TRAINING_STEP_H_
#define OPS_LIB_TRAINING_STEP_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
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

// Returns that operator with the attribute norm_coefficient, and `update`, the
// same rule on parameters in training, where weight_decay stands for it.
//
//   spec:   without a loop.
//   run_of: (attrs, decay, operands) -> what a run of the loop needs.
//   loop:   (operands, run, begin, end).
template <class RunOf, class Loop>
std::vector<OpDef> TrainingStepOps(TrainingStepSpec spec, std::string update,
                                   RunOf run_of, Loop loop) {
  OpDef in_training = UpdateOp(std::move(update), spec.num_slots,
                               /*required_slots=*/spec.num_slots, spec.attrs,
                               spec.flops_per_element);
  in_training.build = [run_of, loop](
                          const Signature& signature,
                          const OpEnv& env) -> absl::StatusOr<Kernel> {
    const Attrs attrs = signature.attrs;
    const double decay = AsWritten(attrs.Float("weight_decay"));
    return UpdateKernel(
        signature, env,
        [attrs, decay, run_of](const UpdateOperands& operands) {
          return run_of(attrs, decay, operands);
        },
        loop);
  };
  spec.attrs.emplace_back("norm_coefficient", 0.0f);
  spec.loop = [run_of, loop](const Attrs& attrs,
                             const UpdateOperands& operands) -> StepRange {
    const double decay = AsWritten(attrs.Float("norm_coefficient"));
    return [run = run_of(attrs, decay, operands), loop](
               const UpdateOperands& o, int64_t begin, int64_t end) {
      loop(o, run, begin, end);
    };
  };
  return {TrainingStepOp(std::move(spec)), std::move(in_training)};
}

}  // namespace reprise

#endif  // OPS_LIB_TRAINING_STEP_H_
