// Explanations, read off the finished schedule: nothing here decides anything.
//
// Tested by tests/planner/report_test.cc.

#include "planner/report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/plan.h"
#include "planner/residuals.h"

namespace reprise {
namespace {

// The classes of BytesByClass by name, as LiveAtPeak::what has them.
struct Class {
  const char* name;
  int64_t BytesByClass::*bytes;
};
constexpr Class kClasses[] = {
    {"parameters", &BytesByClass::parameters},
    {"gradients", &BytesByClass::gradients},
    {"optimizer_state", &BytesByClass::optimizer_state},
    {"state", &BytesByClass::state},
    {"inputs", &BytesByClass::inputs},
    {"residuals", &BytesByClass::residuals},
    {"temporaries", &BytesByClass::temporaries},
    {"workspaces", &BytesByClass::workspaces},
    {"scratchpads", &BytesByClass::scratchpads},
};

const char* PersistentClass(ValueKind kind) {
  switch (kind) {
    case ValueKind::kParameter:
      return "parameters";
    case ValueKind::kSlot:
      return "optimizer_state";
    case ValueKind::kAccumulator:
      return "gradients";
    default:
      return "state";
  }
}

}  // namespace

std::string LogicalName(const Graph& step_graph, const LoweredGraph& graph,
                        LoweredValueId value) {
  const LoweredValue& root = graph.values[graph.values[value].copy_of];
  return root.logical.empty() ? absl::StrCat("value ", value)
                              : step_graph.values[root.logical[0]].name;
}

std::vector<LiveAtPeak> ListLiveAtPeak(const PlanParts& parts) {
  const LoweredGraph& graph = parts.graph;
  const TaskGraph& tasks = parts.resolution.tasks;
  const int32_t step = parts.liveness.peak.step;
  std::vector<LiveAtPeak> live;
  const auto name_of = [&](LoweredValueId v) {
    return LogicalName(parts.step_graph, graph, v);
  };
  const auto add = [&live](std::string name, const char* what, int64_t bytes) {
    if (bytes > 0) live.push_back({std::move(name), what, bytes});
  };
  for (const LoweredValueId v : graph.persistent) {
    add(name_of(v), PersistentClass(graph.values[v].kind),
        AlignUp(graph.values[v].bytes));
  }

  std::vector<bool> is_residual(tasks.instances.size(), false);
  for (const ReadContent& read :
       ReadResiduals(graph, parts.regions, parts.resolution.tasks)) {
    is_residual[read.instance] = true;
  }
  // Gradients: results of the backward pass that updates or the caller read.
  std::vector<bool> is_gradient(tasks.instances.size(), false);
  const auto note_gradient = [&](InstanceId i) {
    if (i < 0 || tasks.instances[i].producer < 0) return;
    const LoweredNodeId node = tasks.tasks[tasks.instances[i].producer].node;
    if (graph.nodes[node].role == Role::kBackward) is_gradient[i] = true;
  };
  for (const Task& task : tasks.tasks) {
    if (graph.nodes[task.node].role != Role::kUpdate) continue;
    for (const InstanceId in : task.in) note_gradient(in);
  }
  for (const InstanceId i : tasks.results) note_gradient(i);

  // Of the contents that share a buffer, the one written last is there.
  std::vector<InstanceId> content(parts.liveness.buffers.size(), -1);
  for (size_t i = 0; i < tasks.instances.size(); ++i) {
    const int32_t buffer = parts.liveness.buffer_of[i];
    const Lifetime life = parts.liveness.life[i];
    if (buffer < 0 || life.begin > step || life.end <= step) continue;
    const InstanceId before = content[buffer];
    if (before < 0 || parts.liveness.life[before].begin < life.begin) {
      content[buffer] = static_cast<InstanceId>(i);
    }
  }
  for (size_t b = 0; b < content.size(); ++b) {
    const InstanceId i = content[b];
    if (i < 0) continue;
    const LoweredValueId v = tasks.instances[i].value;
    const char* what = "temporaries";
    if (graph.values[v].kind == ValueKind::kInput) {
      what = "inputs";
    } else if (graph.values[v].workspace) {
      what = "workspaces";
    } else if (is_gradient[i]) {
      what = "gradients";
    } else if (is_residual[i]) {
      what = "residuals";
    }
    add(name_of(v), what, parts.liveness.buffers[b].bytes);
  }
  if (!parts.order.tasks.empty()) {
    const int32_t scratchpad = parts.liveness.scratchpad_of[step];
    if (scratchpad >= 0) {
      add(graph.nodes[tasks.tasks[parts.order.tasks[step]].node].name,
          "scratchpads", parts.liveness.buffers[scratchpad].bytes);
    }
  }
  std::stable_sort(live.begin(), live.end(),
                   [](const LiveAtPeak& a, const LiveAtPeak& b) {
                     return a.bytes > b.bytes;
                   });
  return live;
}

BytesByClass SumByClass(absl::Span<const LiveAtPeak> live) {
  BytesByClass sums;
  for (const LiveAtPeak& entry : live) {
    for (const Class& c : kClasses) {
      if (entry.what == c.name) sums.*c.bytes += entry.bytes;
    }
  }
  return sums;
}

}  // namespace reprise
