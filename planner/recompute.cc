#include "planner/recompute.h"

#include <cstddef>
#include <utility>

#include "core/plan.h"

namespace reprise {

RematGraph ToRematGraph(const LoweredGraph& graph, const Regions& regions,
                        const TaskGraph& tasks, absl::Span<const TaskId> order,
                        const LivenessOptions& options) {
  RematGraph result;
  result.alignment = kArenaAlignment;
  result.values.resize(tasks.instances.size());
  for (size_t i = 0; i < tasks.instances.size(); ++i) {
    const LoweredValue& value = graph.values[tasks.instances[i].value];
    if (!IsPersistent(value.kind)) {
      result.values[i].bytes = value.bytes;
    }
  }
  for (const InstanceId i : tasks.results) {
    if (i >= 0) result.values[i].is_result = true;
  }
  result.nodes.reserve(order.size());
  for (size_t k = 0; k < order.size(); ++k) {
    const Task& task = tasks.tasks[order[k]];
    const Description& description = graph.description(task.node);
    RematNode node;
    node.cost = graph.cost_nanoseconds(task.node);
    node.scratchpad_bytes = description.scratchpad_bytes;
    // A replay that an annotation asks for runs once, where it asks for it.
    node.may_repeat = !task.replay && regions.IsFree(task.node);
    node.in = task.in;
    node.out = task.out;
    if (options.in_place) node.may_overwrite = description.may_overwrite;
    node.must_overwrite = graph.MustOverwrite(task.node);
    for (const Overwrite& o : node.must_overwrite) {
      result.values[task.in[o.in]].overwritten_by = static_cast<int32_t>(k);
      // Its new content lies where the old one did, and persists with it.
      if (result.values[task.in[o.in]].bytes == 0) {
        result.values[task.out[o.out]].bytes = 0;
      }
    }
    for (const InstanceId out : task.out) {
      if (out >= 0) result.values[out].producer = static_cast<int32_t>(k);
    }
    result.nodes.push_back(std::move(node));
  }
  return result;
}

TaskSequence WithRecomputes(const LoweredGraph& graph, const Regions& regions,
                            const TaskGraph& tasks,
                            absl::Span<const TaskId> order,
                            absl::Span<const int32_t> runs) {
  TaskSequence result;
  result.tasks = tasks;
  TaskGraph& to = result.tasks;
  result.order.reserve(runs.size());
  // By instance of `tasks`: the content that a read of it means now.
  std::vector<InstanceId> latest(tasks.instances.size());
  for (size_t i = 0; i < latest.size(); ++i) {
    latest[i] = static_cast<InstanceId>(i);
  }
  std::vector<bool> has_run(order.size(), false);
  for (const int32_t k : runs) {
    TaskId id = order[k];
    const Task& task = tasks.tasks[id];
    if (has_run[k]) {
      const bool forward = graph.nodes[task.node].role == Role::kForward;
      id = AppendReplay(graph, task.node,
                        forward ? regions.region_of(task.node) : kNoRegion, to);
      for (size_t o = 0; o < task.out.size(); ++o) {
        if (task.out[o] >= 0) latest[task.out[o]] = to.tasks[id].out[o];
      }
    }
    has_run[k] = true;
    for (size_t i = 0; i < task.in.size(); ++i) {
      if (task.in[i] >= 0) to.tasks[id].in[i] = latest[task.in[i]];
    }
    result.order.push_back(id);
  }
  for (InstanceId& i : to.results) {
    if (i >= 0) i = latest[i];
  }
  return result;
}

}  // namespace reprise
