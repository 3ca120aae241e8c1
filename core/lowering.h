// From a step graph to a lowered graph: layouts, fusion, descriptions.

#ifndef CORE_LOWERING_H_
#define CORE_LOWERING_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/lowered_graph.h"
#include "core/op_table.h"
#include "core/train_step.h"
#include "proto/machine.pb.h"

namespace reprise {

struct LoweringOptions {
  OpEnv env;
  bool fusion = true;
  proto::Machine machine;  // rates for costs; DefaultMachine() if in doubt
};

// The roofline table that is compiled in.
proto::Machine DefaultMachine();

// Ok if every list has a rate, and all rates are positive and finite.
//
//   errors: InvalidArgument naming field and number.
absl::Status CheckMachine(const proto::Machine& machine);

// SHA-256 over the rates, as 64 hex digits; the name does not count.
std::string MachineFingerprint(const proto::Machine& machine);

// Returns the cost of one run in nanoseconds: the slower of arithmetic and
// traffic at the machine's rates, plus the overhead of a kernel.
int64_t CostNanoseconds(const Description& description,
                        const proto::Machine& machine, int threads);

// Returns the lowered graph of `step`. Deterministic.
//
//   errors: those of OpDef::describe, with the node's name; InvalidArgument
//           if a must_save value can only exist inside a fused kernel.
absl::StatusOr<LoweredGraph> Lower(const StepGraph& step, const OpTable& ops,
                                   const LoweringOptions& options);

}  // namespace reprise

#endif  // CORE_LOWERING_H_
