// Plans on disk (proto/plan.proto).

#ifndef CORE_PLAN_FILE_H_
#define CORE_PLAN_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "core/trainer.h"
#include "proto/plan.pb.h"

namespace reprise {

// Returns SHA-256, 64 hex digits, over what lowering decided: every node's
// kernel with its operands, layouts, bytes, scratchpad and implementation. It
// differs where the library or the CPU makes a difference.
std::string LayoutsFingerprint(const TrainerPlan& plan);

// Returns SHA-256 over what the plans were made from: the math of each pass,
// regions and annotations, the training config, plan options, threads, and the
// kernel library with its version and ISA.
std::string PlanFingerprint(const TrainerPlan& plan);

// Returns the message for `plan`.
proto::PlanSet ToProto(const TrainerPlan& plan);

// Replaces the schedule and the offsets of `plan`, whose passes have been
// loaded and lowered, by those in `file`, and checks every one of them.
//
//   errors: InvalidArgument for another format version or a malformed
//           message; FailedPrecondition naming what differs (fingerprints,
//           threads, modes, bindings); Internal from CheckPlan. `plan` is
//           unchanged then.
absl::Status AdoptPlans(const proto::PlanSet& file, TrainerPlan& plan);

}  // namespace reprise

#endif  // CORE_PLAN_FILE_H_
