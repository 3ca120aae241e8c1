// A plan as a picture: steps from left to right, the arena from bottom to top,
// one rectangle for each content of a value.

#ifndef TOOLS_COMMANDS_PLAN_PICTURE_H_
#define TOOLS_COMMANDS_PLAN_PICTURE_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/commands/report.h"

namespace reprise {

// Returns what the picture shows, as the page carries it (an element of id
// "plan"):
//
//   classes   of BytesByClass, in its order
//   names     of buffers
//   nodes     names of the graph's nodes
//   roles     of nodes: 0 forward, 1 backward, 2 update
//   steps     [node, run], run 0 being the first
//   live      bytes alive at each step
//   buffers   [name, class, offset, bytes, begin, end], ranges of CheckPlan,
//             in steps [begin, end)
//   persistent_bytes, arena_bytes, end_bytes, peak_live_bytes, peak_step
//
//   errors: those of CheckPlan: what is drawn has been checked.
absl::StatusOr<Json> PlanPictureData(const TrainerPlan& plan,
                                     const PlannedPass& pass);

// Returns a page that needs nothing but itself, for the first pass.
//
//   errors: those of PlanPictureData.
absl::StatusOr<std::string> PlanPicture(const std::string& model,
                                        const PlannedTrainer& planned);

}  // namespace reprise

#endif  // TOOLS_COMMANDS_PLAN_PICTURE_H_
