#include "planner/task_graph.h"

#include <algorithm>
#include <utility>

namespace reprise {

TaskGraph FirstRuns(const LoweredGraph& graph) {
  TaskGraph result;
  result.instances.reserve(graph.values.size());
  for (size_t v = 0; v < graph.values.size(); ++v) {
    Instance instance;
    instance.value = static_cast<LoweredValueId>(v);
    instance.producer = graph.values[v].producer;
    result.instances.push_back(instance);
  }
  result.tasks.reserve(graph.nodes.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    Task task;
    task.node = static_cast<LoweredNodeId>(n);
    task.in = graph.nodes[n].in;
    task.out = graph.nodes[n].out;
    result.tasks.push_back(std::move(task));
  }
  result.results = graph.results;
  return result;
}

TaskId AppendReplay(const LoweredGraph& graph, LoweredNodeId node,
                    RegionId region, TaskGraph& tasks) {
  const TaskId id = static_cast<TaskId>(tasks.tasks.size());
  Task task;
  task.node = node;
  task.replay = true;
  task.on_demand = true;
  task.region = region;
  task.in.assign(graph.nodes[node].in.size(), -1);
  for (const LoweredValueId value : graph.nodes[node].out) {
    if (value < 0) {
      task.out.push_back(-1);
      continue;
    }
    task.out.push_back(static_cast<InstanceId>(tasks.instances.size()));
    Instance instance;
    instance.value = value;
    instance.producer = id;
    tasks.instances.push_back(instance);
  }
  tasks.tasks.push_back(std::move(task));
  return id;
}

namespace {

// Gradients start at the constants that belong to a node which computes a loss.
bool IsSeed(const LoweredNode& node, const Graph& step_graph,
            const std::vector<bool>& computes_loss) {
  if (node.role != Role::kBackward || !node.in.empty()) return false;
  return std::any_of(node.logical.begin(), node.logical.end(), [&](NodeId n) {
    const NodeId origin = step_graph.nodes[n].origin;
    return origin == kNoNode || computes_loss[origin];
  });
}

}  // namespace

void MarkOnDemand(const Graph& step_graph, const LoweredGraph& graph,
                  TaskGraph& tasks) {
  std::vector<bool> computes_loss(step_graph.nodes.size(), false);
  for (const Loss& loss : step_graph.losses) {
    const NodeId producer = step_graph.values[loss.value].producer;
    if (producer != kNoNode) computes_loss[producer] = true;
  }
  // Replays read no gradients, and first runs come in an order in which they
  // can run: one pass finds all that a gradient reaches.
  std::vector<bool> has_gradient(tasks.tasks.size(), false);
  for (size_t t = 0; t < tasks.tasks.size(); ++t) {
    Task& task = tasks.tasks[t];
    const LoweredNode& node = graph.nodes[task.node];
    if (task.replay) continue;
    bool reached = IsSeed(node, step_graph, computes_loss);
    for (const InstanceId in : task.in) {
      if (in < 0 || tasks.instances[in].producer < 0) continue;
      reached = reached || has_gradient[tasks.instances[in].producer];
    }
    has_gradient[t] = reached;
    task.on_demand = !reached && node.role != Role::kForward &&
                     node.effect == Effect::kPure &&
                     graph.op(task.node).must_overwrite.empty();
  }
}

}  // namespace reprise
