// The judge of plans. Shares no code with the planner and is plainly right
// rather than fast.

#ifndef CORE_CHECK_PLAN_H_
#define CORE_CHECK_PLAN_H_

#include <vector>

#include "absl/status/statusor.h"
#include "core/lowered_graph.h"
#include "core/plan.h"

namespace reprise {

// Bytes that hold one run's result (or an input, or a persistent value) from
// the step that writes them to the last step that needs them.
struct LiveRange {
  LoweredValueId value = -1;  // -1: a scratchpad
  int64_t offset = 0;
  int64_t bytes = 0;
  int32_t begin = 0;  // first step; 0 for inputs and persistent values
  int32_t end = 0;    // one past the last; the number of steps for results
};

// How bytes are counted, everywhere: each range by AlignUp of its bytes; an
// input from step 0, a result of a step from that step, up to and including
// the last step that reads it (at least one step; results of the plan up to
// its end); an operand whose bytes the step's output takes over only up to the
// step before; persistent values at every step. The working set of a step is
// its distinct transient operands and its scratchpad, an output counting with
// the first operand of equal bytes that the kernel may overwrite, plus all
// persistent values.
struct PlanFacts {
  std::vector<LiveRange> ranges;
  int64_t peak_live_bytes = 0;
  int32_t peak_step = 0;
  int64_t working_set_bytes = 0;
};

// Replays `plan` symbolically and returns what it found.
//
//   errors: Internal, naming the step, the operand and the numbers, if an
//           operand does not hold the value expected there, live bytes overlap,
//           an offset is unaligned or outside the arena, an in-place use is
//           not permitted, old content is read after its update, an update or
//           result is missing or doubled, or a byte count of `plan` disagrees.
//   cost:   O(steps * live operands).
absl::StatusOr<PlanFacts> CheckPlan(const LoweredGraph& graph,
                                    const Plan& plan);

}  // namespace reprise

#endif  // CORE_CHECK_PLAN_H_
