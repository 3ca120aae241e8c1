// Lifetimes and merging, derived from the final steps.
//
// An instance lives from the step that writes it to the last step that reads
// it, both included, so [write, last read + 1). Two instances share a buffer in
// two cases:
//
//   must  an update writes over its operand: the new content of a parameter is
//         at the parameter's place, whoever reads it later
//   may   a kernel allows output o to overwrite input i, nobody reads i after
//         this step, both have equal bytes, i does not persist and is no
//         result, and the kernel reads i in no other way
//
//   step  0: a = f(x)   1: b = relu(a)   2: c = g(b, a)     a and b apart
//   step  0: a = f(x)   1: b = relu(a)   2: c = g(b)        b takes a's bytes
//
// A replay adds a reader, so nothing of this is decided before the order of the
// steps is final; and then it is one pass. Sizes are rounded up to the arena's
// alignment once, here: every sum below is one that offsets can reach exactly.
//
// Cost: O(operands). Tested by tests/planner/liveness_test.cc, against a
// definition that looks at every pair of a step and an instance.

#include "planner/liveness.h"

#include <algorithm>
#include <cstddef>

#include "core/plan.h"

namespace reprise {
namespace {

// Returns whether `task` reads instance `in` only in ways that let output
// `out` take over its bytes.
bool EveryUseMayBeOverwritten(const Task& task, InstanceId in, int out,
                              absl::Span<const Overwrite> permitted) {
  for (size_t i = 0; i < task.in.size(); ++i) {
    if (task.in[i] != in) continue;
    const bool allowed = std::any_of(
        permitted.begin(), permitted.end(), [&](const Overwrite& o) {
          return o.in == static_cast<int>(i) && o.out == out;
        });
    if (!allowed) return false;
  }
  return true;
}

class LivenessPass {
 public:
  LivenessPass(const LoweredGraph& graph, const TaskGraph& tasks,
               absl::Span<const TaskId> order, const LivenessOptions& options)
      : graph_(graph), tasks_(tasks), order_(order), options_(options) {}

  Liveness Run() {
    FindLifetimes();
    result_.buffer_of.assign(tasks_.instances.size(), -1);
    result_.persistent_of.assign(tasks_.instances.size(), -1);
    result_.scratchpad_of.assign(order_.size(), -1);
    for (const LoweredValueId value : graph_.persistent) {
      result_.persistent_of[value] = value;
    }
    for (const LoweredValueId value : graph_.inputs) NewBuffer(value);
    for (size_t s = 0; s < order_.size(); ++s) {
      AddStep(static_cast<int32_t>(s));
    }
    result_.peak = PeakLive(result_.buffers);
    return std::move(result_);
  }

 private:
  void FindLifetimes() {
    const int32_t num_steps = static_cast<int32_t>(order_.size());
    std::vector<Lifetime>& life = result_.life;
    life.assign(tasks_.instances.size(), {0, 1});
    for (int32_t s = 0; s < num_steps; ++s) {
      const Task& task = tasks_.tasks[order_[s]];
      for (const InstanceId in : task.in) {
        if (in >= 0) life[in].end = s + 1;
      }
      for (const InstanceId out : task.out) {
        if (out >= 0) life[out] = {s, s + 1};
      }
    }
    for (const InstanceId result : tasks_.results) {
      if (result >= 0) life[result].end = std::max(num_steps, 1);
    }
    last_.reserve(life.size());
    for (const Lifetime& l : life) last_.push_back(l.end - 1);
    // A result is read after the last step, so nothing may overwrite it.
    for (const InstanceId result : tasks_.results) {
      if (result >= 0) last_[result] = num_steps;
    }
  }

  int64_t bytes(InstanceId instance) const {
    return graph_.values[tasks_.instances[instance].value].bytes;
  }

  bool Placed(InstanceId instance) const {
    return result_.buffer_of[instance] >= 0 ||
           result_.persistent_of[instance] >= 0;
  }

  void NewBuffer(InstanceId instance) {
    if (bytes(instance) == 0 || Placed(instance)) return;
    result_.buffer_of[instance] = static_cast<int32_t>(result_.buffers.size());
    Buffer buffer;
    buffer.bytes = AlignUp(bytes(instance));
    buffer.life = result_.life[instance];
    result_.buffers.push_back(buffer);
  }

  void Share(InstanceId from, InstanceId to) {
    const int32_t buffer = result_.buffer_of[from];
    result_.buffer_of[to] = buffer;
    Lifetime& life = result_.buffers[buffer].life;
    life.end = std::max(life.end, result_.life[to].end);
  }

  void AddStep(int32_t s) {
    const Task& task = tasks_.tasks[order_[s]];
    for (const Overwrite& o : graph_.MustOverwrite(task.node)) {
      const InstanceId in = task.in[o.in];
      const InstanceId out = task.out[o.out];
      if (result_.persistent_of[in] >= 0) {
        result_.persistent_of[out] = result_.persistent_of[in];
      } else if (result_.buffer_of[in] >= 0) {
        Share(in, out);
      }
    }
    const Description& description = graph_.description(task.node);
    if (options_.in_place) MergeInPlace(s, task, description.may_overwrite);
    for (const InstanceId out : task.out) {
      if (out >= 0) NewBuffer(out);
    }
    if (description.scratchpad_bytes > 0) {
      result_.scratchpad_of[s] = static_cast<int32_t>(result_.buffers.size());
      Buffer buffer;
      buffer.bytes = AlignUp(description.scratchpad_bytes);
      buffer.life = {s, s + 1};
      result_.buffers.push_back(buffer);
    }
  }

  void MergeInPlace(int32_t s, const Task& task,
                    absl::Span<const Overwrite> permitted) {
    for (const Overwrite& o : permitted) {
      const InstanceId in = task.in[o.in];
      const InstanceId out = task.out[o.out];
      if (in < 0 || out < 0 || Placed(out)) continue;
      if (result_.buffer_of[in] < 0 || last_[in] != s) continue;
      if (bytes(in) != bytes(out)) continue;
      const bool taken =
          std::any_of(task.out.begin(), task.out.end(), [&](InstanceId other) {
            return other >= 0 &&
                   result_.buffer_of[other] == result_.buffer_of[in];
          });
      if (taken || !EveryUseMayBeOverwritten(task, in, o.out, permitted)) {
        continue;
      }
      Share(in, out);
    }
  }
  const LoweredGraph& graph_;
  const TaskGraph& tasks_;
  const absl::Span<const TaskId> order_;
  const LivenessOptions& options_;
  Liveness result_;
  std::vector<int32_t> last_;  // step of the last read, or write if none
};

// Bytes that one run of a node needs, persistent operands aside: each operand
// once, and a result only if it can take over no operand's bytes.
int64_t NodeBytes(const LoweredGraph& graph, LoweredNodeId n) {
  const LoweredNode& node = graph.nodes[n];
  const Description& description = graph.description(n);
  const auto is_transient = [&graph](LoweredValueId v) {
    return v >= 0 && !IsPersistent(graph.values[v].kind);
  };
  int64_t sum = AlignUp(description.scratchpad_bytes);
  std::vector<LoweredValueId> operands;  // each once
  for (const LoweredValueId v : node.in) {
    if (!is_transient(v)) continue;
    if (std::find(operands.begin(), operands.end(), v) == operands.end()) {
      operands.push_back(v);
      sum += AlignUp(graph.values[v].bytes);
    }
  }
  std::vector<LoweredValueId>& free = operands;  // not taken over yet
  for (size_t o = 0; o < node.out.size(); ++o) {
    if (!is_transient(node.out[o])) continue;
    const int64_t bytes = graph.values[node.out[o]].bytes;
    const auto pair =
        std::find_if(description.may_overwrite.begin(),
                     description.may_overwrite.end(), [&](const Overwrite& p) {
                       return p.out == static_cast<int>(o) &&
                              std::find(free.begin(), free.end(),
                                        node.in[p.in]) != free.end() &&
                              graph.values[node.in[p.in]].bytes == bytes;
                     });
    if (pair == description.may_overwrite.end()) {
      sum += AlignUp(bytes);
    } else {
      free.erase(std::find(free.begin(), free.end(), node.in[pair->in]));
    }
  }
  return sum;
}

}  // namespace

Peak PeakLive(absl::Span<const Buffer> buffers) {
  int32_t num_steps = 0;
  for (const Buffer& b : buffers) num_steps = std::max(num_steps, b.life.end);
  std::vector<int64_t> change(num_steps + 1, 0);
  for (const Buffer& b : buffers) {
    change[b.life.begin] += b.bytes;
    change[b.life.end] -= b.bytes;
  }
  Peak peak;
  int64_t live = 0;
  for (int32_t s = 0; s < num_steps; ++s) {
    live += change[s];
    if (live > peak.bytes) peak = {live, s};
  }
  return peak;
}

LiveBytes::LiveBytes(int32_t num_steps) : num_leaves_(1) {
  while (num_leaves_ < num_steps) num_leaves_ *= 2;
  added_.assign(2 * static_cast<size_t>(num_leaves_), 0);
  max_.assign(added_.size(), 0);
}

void LiveBytes::Add(Lifetime life, int64_t bytes) {
  const int32_t first = life.begin + num_leaves_;
  const int32_t last = life.end - 1 + num_leaves_;
  if (first > last) return;
  const auto raise = [&](int32_t node) {
    added_[node] += bytes;
    max_[node] += bytes;
  };
  // The maximal subtrees that lie within the range, from both ends upwards.
  for (int32_t l = first, r = last + 1; l < r; l /= 2, r /= 2) {
    if (l % 2 == 1) raise(l++);
    if (r % 2 == 1) raise(--r);
  }
  for (int32_t end : {first, last}) {
    for (int32_t node = end / 2; node >= 1; node /= 2) {
      max_[node] = added_[node] + std::max(max_[2 * node], max_[2 * node + 1]);
    }
  }
}

Peak LiveBytes::Max() const {
  int32_t node = 1;
  while (node < num_leaves_) {
    node = max_[2 * node] >= max_[2 * node + 1] ? 2 * node : 2 * node + 1;
  }
  return {max_[1], node - num_leaves_};
}

int64_t WorkingSetBytes(const LoweredGraph& graph) {
  int64_t largest = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    largest =
        std::max(largest, NodeBytes(graph, static_cast<LoweredNodeId>(n)));
  }
  return largest;
}

Liveness ComputeLiveness(const LoweredGraph& graph, const TaskGraph& tasks,
                         absl::Span<const TaskId> order,
                         const LivenessOptions& options) {
  return LivenessPass(graph, tasks, order, options).Run();
}

}  // namespace reprise
