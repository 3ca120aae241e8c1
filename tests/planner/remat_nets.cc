#include "tests/planner/remat_nets.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "core/plan.h"
#include "planner/liveness.h"
#include "planner/remat/remat_model.h"
#include "planner/task_graph.h"

namespace reprise {

RematGraph TrainingChain(int length, int64_t forward_cost) {
  Net net;
  for (int i = 0; i < length; ++i) {
    net.Add(forward_cost, 1, i == 0 ? Runs{} : Runs{i - 1});
  }
  int32_t grad = net.Add(0, 1, {length - 1});
  for (int i = length - 1; i >= 0; --i) {
    Runs in = {grad, i};
    if (i > 0) in.push_back(i - 1);
    grad = net.Add(2 * forward_cost, 1, in);
  }
  return net.Result(grad).graph();
}

RematGraph RandomNet(uint64_t seed, int num_nodes, bool in_place) {
  std::mt19937_64 random(seed);
  const auto draw = [&random](int n) {
    return static_cast<int32_t>(random() % static_cast<uint64_t>(n));
  };
  Net net;
  for (int32_t n = 0; n < num_nodes; ++n) {
    std::set<int32_t> in;
    if (n > 0) in.insert(n - 1 - draw(std::min(n, 2)));
    if (n > 1 && draw(2) == 0) in.insert(n - 1 - draw(std::min(n, 4)));
    if (n > num_nodes / 2) in.insert(num_nodes - 1 - n);
    net.Add(draw(6), 1 + draw(5), {in.begin(), in.end()});
  }
  net.Result(num_nodes - 1);
  if (in_place) net.InPlace();
  return net.graph();
}

Runs WithRandomRepeats(const RematGraph& graph, int repeats,
                       std::mt19937_64& random) {
  const RematModel model(graph);
  Runs runs = FirstRunsOnly(model);
  for (int r = 0; r < repeats; ++r) {
    const size_t at = random() % runs.size();
    const int32_t node =
        static_cast<int32_t>(random() % static_cast<size_t>(model.num_nodes));
    if (!model.can_repeat[node]) continue;
    const auto begin = runs.begin() + static_cast<std::ptrdiff_t>(at);
    if (std::find(runs.begin(), begin, node) == begin) continue;
    if (std::find(runs.begin(), begin, model.deadline[node]) != begin) continue;
    runs.insert(begin, node);
  }
  return runs;
}

std::string WhatIsWrong(const RematGraph& graph, const RematSchedule& schedule,
                        bool fixed_order) {
  const Runs& runs = schedule.runs;
  std::map<int32_t, int> times;
  int32_t last_first = -1;
  int64_t added = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    const int32_t n = runs[i];
    if (n < 0 || n >= static_cast<int32_t>(graph.nodes.size())) return "number";
    const bool first = times[n]++ == 0;
    if (first && fixed_order && n != last_first + 1) return "order";
    if (first) last_first = n;
    if (!first) added += graph.nodes[n].cost;
    if (!first && !graph.nodes[n].may_repeat) return "repeats";
    for (const int32_t v : graph.nodes[n].in) {
      if (v < 0) continue;
      const int32_t producer = graph.values[v].producer;
      if (producer >= 0 && times[producer] == 0) return "not there";
      const int32_t by = graph.values[v].overwritten_by;
      if (by >= 0 && by != n && times[by] > 0) return "overwritten";
    }
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (times[static_cast<int32_t>(n)] == 0) return "does not run";
  }
  if (added != schedule.added_cost) return "cost";
  const RematSchedule again = EvaluateRuns(graph, runs);
  if (again.peak_bytes != schedule.peak_bytes) return "peak";
  return "";
}

RematGraph FromLowered(const LoweredGraph& lowered) {
  RematGraph graph;
  graph.alignment = kArenaAlignment;
  graph.values.resize(lowered.values.size());
  for (size_t v = 0; v < lowered.values.size(); ++v) {
    RematValue& value = graph.values[v];
    value.producer = lowered.values[v].producer;
    value.bytes =
        IsPersistent(lowered.values[v].kind) ? 0 : lowered.values[v].bytes;
  }
  for (const LoweredValueId r : lowered.results) {
    graph.values[r].is_result = true;
  }
  for (size_t n = 0; n < lowered.nodes.size(); ++n) {
    const LoweredNodeId id = static_cast<LoweredNodeId>(n);
    RematNode node;
    node.cost = lowered.cost_nanoseconds(id);
    node.scratchpad_bytes = lowered.description(id).scratchpad_bytes;
    node.may_repeat = lowered.nodes[n].effect == Effect::kPure;
    node.in = lowered.nodes[n].in;
    node.out = lowered.nodes[n].out;
    node.may_overwrite = lowered.description(id).may_overwrite;
    node.must_overwrite = lowered.MustOverwrite(id);
    for (const Overwrite& o : node.must_overwrite) {
      graph.values[node.in[o.in]].overwritten_by = id;
      graph.values[node.out[o.out]].bytes = 0;
    }
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

int64_t PeakOfTasks(const LoweredGraph& lowered, const Runs& runs) {
  TaskGraph tasks = FirstRuns(lowered);
  std::vector<InstanceId> latest;
  for (size_t v = 0; v < lowered.values.size(); ++v) {
    latest.push_back(static_cast<InstanceId>(v));
  }
  std::vector<TaskId> order;
  std::set<int32_t> seen;
  for (const int32_t n : runs) {
    TaskId id = n;
    if (!seen.insert(n).second) id = AppendReplay(lowered, n, kNoRegion, tasks);
    const LoweredNode& node = lowered.nodes[n];
    for (size_t i = 0; i < node.in.size(); ++i) {
      if (node.in[i] >= 0) tasks.tasks[id].in[i] = latest[node.in[i]];
    }
    for (size_t o = 0; o < node.out.size(); ++o) {
      if (node.out[o] >= 0) latest[node.out[o]] = tasks.tasks[id].out[o];
    }
    order.push_back(id);
  }
  for (InstanceId& r : tasks.results) r = latest[r];
  return ComputeLiveness(lowered, tasks, order, LivenessOptions()).peak.bytes;
}

}  // namespace reprise
