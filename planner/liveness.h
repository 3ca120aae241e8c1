// Which bytes live when: the one memory model behind order, bounds, offsets and
// report.

#ifndef PLANNER_LIVENESS_H_
#define PLANNER_LIVENESS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/lowered_graph.h"
#include "planner/task_graph.h"

namespace reprise {

// Half-open range of steps.
struct Lifetime {
  int32_t begin = 0;
  int32_t end = 0;
};

// Bytes that hold one value after another over a lifetime.
struct Buffer {
  int64_t bytes = 0;  // a multiple of kArenaAlignment
  Lifetime life;
};

struct Peak {
  int64_t bytes = 0;
  int32_t step = 0;  // the first step at which so many bytes live
};

// Returns the most bytes live at any one step: no placement of `buffers` can
// need less.
//
//   buffers: any order; 0 <= begin < end and bytes > 0 for each.
//   returns: 0 bytes at step 0 if `buffers` is empty.
//   cost:    O(n + last step).
Peak PeakLive(absl::Span<const Buffer> buffers);

// The same maximum for buffers that come, go and change one by one.
class LiveBytes {
 public:
  explicit LiveBytes(int32_t num_steps);

  // Adds `bytes`, maybe negative, at each step of `life`.
  //
  //   life: within [0, num_steps).
  //   cost: O(log num_steps).
  void Add(Lifetime life, int64_t bytes);

  // Returns the maximum over all steps, and the first step that has it.
  //
  //   cost: O(log num_steps).
  Peak Max() const;

 private:
  int32_t num_leaves_;
  // Nodes of a complete binary tree, root at 1. `added` counts for the whole
  // subtree; `max` is the largest sum inside it, its own `added` included.
  std::vector<int64_t> added_;
  std::vector<int64_t> max_;
};

// Returns the bytes of the largest single run of a node, operands that persist
// not counted: no schedule can need less.
int64_t WorkingSetBytes(const LoweredGraph& graph);

struct LivenessOptions {
  // Let an output take over the bytes of an input that dies, where its kernel
  // allows it.
  bool in_place = true;
};

// Where every content of a schedule lies, up to offsets.
struct Liveness {
  std::vector<Buffer> buffers;

  // For each instance: its buffer; -1: persistent, or of zero bytes.
  std::vector<int32_t> buffer_of;

  // For each instance: the persistent value whose bytes hold it (itself, or
  // what an update made of it); -1: none.
  std::vector<LoweredValueId> persistent_of;

  // For each step: the buffer of its scratchpad; -1: none.
  std::vector<int32_t> scratchpad_of;

  // For each instance: when it is there. Inputs from step 0; results to the
  // end; what nobody reads for one step.
  std::vector<Lifetime> life;

  Peak peak;  // persistent values not counted
};

// Returns the buffers of a schedule.
//
//   order: every task once; producers first, and whatever overwrites a content
//          after all its other readers.
Liveness ComputeLiveness(const LoweredGraph& graph, const TaskGraph& tasks,
                         absl::Span<const TaskId> order,
                         const LivenessOptions& options);

}  // namespace reprise

#endif  // PLANNER_LIVENESS_H_
