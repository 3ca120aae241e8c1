// A plan: a straight-line program of kernel runs with arena offsets.
//
// A recomputed node is a step that appears twice; an in-place operation has
// equal offsets; whoever executes a plan knows nothing of lifetimes, aliases or
// rematerialization. Made by planner/, judged by core/check_plan.h, run by
// core/executor.h.

#ifndef CORE_PLAN_H_
#define CORE_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/lowered_graph.h"

namespace reprise {

// Every offset is a multiple of this.
inline constexpr int64_t kArenaAlignment = 64;

// Returns `bytes` rounded up to kArenaAlignment.
inline int64_t AlignUp(int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

enum class PlanMode : uint8_t {
  kTrain,            // forward, backward, update
  kTrainAccumulate,  // forward, backward, gradients added to accumulators
  kEvaluate,         // forward with running statistics, dropout off
  kForward,          // forward as in training, nothing updated
  kGradients,        // forward and backward, gradients as results
};

struct Operand {
  LoweredValueId value = -1;  // -1: absent
  int64_t offset = 0;         // bytes from the arena's base
  int64_t bytes = 0;
};

struct Step {
  LoweredNodeId node = -1;
  int32_t run = 0;  // 0: the node's first run; more: a replay
  std::vector<Operand> in;
  std::vector<Operand> out;
  Operand scratchpad;  // value -1; bytes 0: none
};

// One mode with one binding of symbols.
struct Plan {
  PlanMode mode = PlanMode::kTrain;
  std::vector<Operand> persistent;  // as in LoweredGraph::persistent
  std::vector<Operand> inputs;      // as in LoweredGraph::inputs
  std::vector<Operand> results;     // as in LoweredGraph::results
  std::vector<Step> steps;

  // After this step the executor reads the guard's operand (a float) and
  // stops with an error if it is not finite. -1: none.
  int32_t guard_step = -1;

  // Persistent segment [0, persistent_bytes), transient up to end_bytes.
  int64_t persistent_bytes = 0;
  int64_t end_bytes = 0;

  // The most bytes live at any step, persistent ones included: no placement
  // of this schedule can need less. `peak_step` is the first such step.
  int64_t peak_live_bytes = 0;
  int32_t peak_step = 0;

  // The largest single step's operands and scratchpad with everything that
  // persists: no schedule can need less.
  int64_t working_set_bytes = 0;
};

// One value that lives outside the steps, at the same place in every plan.
struct PersistentValue {
  std::string name;
  TensorType type;
  ValueKind kind = ValueKind::kParameter;
  Layout layout;
  int64_t offset = 0;
  int64_t bytes = 0;
};

// What a trainer holds: one persistent segment, and a plan for each mode and
// binding over it.
struct PlanSet {
  std::vector<PersistentValue> persistent;
  int64_t persistent_bytes = 0;
  int64_t arena_bytes = 0;  // persistent + the largest transient segment
  std::vector<Plan> plans;
};

}  // namespace reprise

#endif  // CORE_PLAN_H_
