// From a step graph to a lowered graph: layouts, fusion, descriptions.

#ifndef CORE_LOWERING_H_
#define CORE_LOWERING_H_

#include "absl/status/statusor.h"
#include "core/lowered_graph.h"
#include "core/op_table.h"
#include "core/train_step.h"
#include "proto/machine.pb.h"

namespace reprise {

struct LoweringOptions {
  OpEnv env;
  bool fusion = true;
  proto::Machine machine;  // rates for costs; see core/machine.h
};

// Returns the lowered graph of `step`. Deterministic.
//
//   errors: those of OpDef::describe, with the node's name; InvalidArgument
//           if a must_save value can only exist inside a fused kernel.
absl::StatusOr<LoweredGraph> Lower(const StepGraph& step, const OpTable& ops,
                                   const LoweringOptions& options);

}  // namespace reprise

#endif  // CORE_LOWERING_H_
