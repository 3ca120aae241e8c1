// From a schedule with offsets to a Plan: the persistent segment first, at the
// offsets that its owner chose, and the buffers of the pass behind it.
//
// Tested by tests/planner/planner_test.cc.

#include "planner/plan_assembly.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/status_macros.h"
#include "planner/order/order.h"
#include "planner/planner.h"

namespace reprise {
namespace {

// The step graph value that a persistent lowered value is.
const Value& PersistentLogical(const Graph& step_graph,
                               const LoweredValue& value) {
  for (const ValueId v : value.logical) {
    if (IsPersistent(step_graph.values[v].kind)) return step_graph.values[v];
  }
  REPRISE_CHECK(!value.logical.empty());
  return step_graph.values[value.logical[0]];
}

// Offsets of a placement in which nothing shares a byte.
std::vector<int64_t> SideBySide(absl::Span<const Buffer> buffers) {
  std::vector<int64_t> offsets;
  offsets.reserve(buffers.size());
  int64_t top = 0;
  for (const Buffer& b : buffers) {
    offsets.push_back(top);
    top += b.bytes;
  }
  return offsets;
}

}  // namespace

std::vector<PersistentValue> PlacePersistent(const Graph& step_graph,
                                             const LoweredGraph& lowered) {
  std::vector<PersistentValue> result;
  int64_t offset = 0;
  for (const LoweredValueId v : lowered.persistent) {
    const LoweredValue& value = lowered.values[v];
    const Value& logical = PersistentLogical(step_graph, value);
    PersistentValue p;
    p.name = logical.name;
    p.type = logical.type;
    p.kind = value.kind;
    p.layout = value.layout;
    p.offset = offset;
    p.bytes = value.bytes;
    offset += AlignUp(p.bytes);
    result.push_back(std::move(p));
  }
  return result;
}

absl::StatusOr<Segment> FindPersistent(
    const Graph& step_graph, const LoweredGraph& graph,
    absl::Span<const PersistentValue> persistent) {
  absl::flat_hash_map<std::string, const PersistentValue*> by_name;
  Segment segment;
  for (const PersistentValue& p : persistent) {
    by_name.emplace(p.name, &p);
    segment.end = std::max(segment.end, AlignUp(p.offset + p.bytes));
  }
  segment.offset_of.assign(graph.values.size(), -1);
  for (const LoweredValueId v : graph.persistent) {
    const LoweredValue& value = graph.values[v];
    const std::string& name = PersistentLogical(step_graph, value).name;
    const auto it = by_name.find(name);
    if (it == by_name.end()) {
      return absl::InternalError(absl::StrCat("persistent value '", name,
                                              "' has no place in the segment"));
    }
    const PersistentValue& p = *it->second;
    if (p.bytes != value.bytes || p.layout != value.layout) {
      return absl::InternalError(
          absl::StrCat("persistent value '", name, "': has ", p.bytes,
                       " bytes in layout '", p.layout.format, "', wanted ",
                       value.bytes, " in '", value.layout.format, "'"));
    }
    segment.offset_of[v] = p.offset;
    segment.bytes += AlignUp(p.bytes);
  }
  return segment;
}

Plan AssemblePlan(const LoweredGraph& graph, PlanMode mode,
                  const TaskGraph& tasks, absl::Span<const TaskId> order,
                  const Liveness& liveness, absl::Span<const int64_t> offsets,
                  const Segment& segment) {
  Plan plan;
  plan.mode = mode;
  const auto operand = [&](InstanceId i) {
    Operand o;
    if (i < 0) return o;
    o.value = tasks.instances[i].value;
    o.bytes = graph.values[o.value].bytes;
    if (liveness.persistent_of[i] >= 0) {
      o.offset = segment.offset_of[liveness.persistent_of[i]];
    } else if (liveness.buffer_of[i] >= 0) {
      o.offset = segment.end + offsets[liveness.buffer_of[i]];
    }
    return o;
  };
  for (const LoweredValueId v : graph.persistent) {
    plan.persistent.push_back(operand(v));
  }
  for (const LoweredValueId v : graph.inputs) plan.inputs.push_back(operand(v));
  for (const InstanceId i : tasks.results) plan.results.push_back(operand(i));
  std::vector<int32_t> runs(graph.nodes.size(), 0);
  plan.steps.reserve(order.size());
  for (size_t s = 0; s < order.size(); ++s) {
    const Task& task = tasks.tasks[order[s]];
    Step step;
    step.node = task.node;
    step.run = runs[task.node]++;
    step.in.reserve(task.in.size());
    for (const InstanceId i : task.in) step.in.push_back(operand(i));
    step.out.reserve(task.out.size());
    for (const InstanceId i : task.out) step.out.push_back(operand(i));
    if (liveness.scratchpad_of[s] >= 0) {
      step.scratchpad.offset = segment.end + offsets[liveness.scratchpad_of[s]];
      step.scratchpad.bytes = graph.description(task.node).scratchpad_bytes;
    }
    if (graph.nodes[task.node].effect == Effect::kGuard) {
      plan.guard_step = static_cast<int32_t>(s);
    }
    plan.steps.push_back(std::move(step));
  }
  plan.persistent_bytes = segment.end;
  plan.end_bytes = segment.end;
  for (size_t b = 0; b < offsets.size(); ++b) {
    plan.end_bytes = std::max(
        plan.end_bytes, segment.end + offsets[b] + liveness.buffers[b].bytes);
  }
  plan.peak_live_bytes = segment.bytes + liveness.peak.bytes;
  plan.peak_step = liveness.peak.step;
  plan.working_set_bytes = segment.bytes + WorkingSetBytes(graph);
  return plan;
}

int64_t NaiveBytes(const LoweredGraph& graph, const Segment& segment) {
  int64_t sum = segment.end;
  for (const LoweredValue& value : graph.values) {
    const bool own = value.producer >= 0 || value.kind == ValueKind::kInput;
    if (own && !IsPersistent(value.kind)) sum += AlignUp(value.bytes);
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    sum += AlignUp(
        graph.description(static_cast<LoweredNodeId>(n)).scratchpad_bytes);
  }
  return sum;
}

Plan MakeNaivePlan(const LoweredGraph& lowered, PlanMode mode,
                   const Graph& step_graph,
                   absl::Span<const PersistentValue> persistent) {
  const absl::StatusOr<Segment> segment =
      FindPersistent(step_graph, lowered, persistent);
  REPRISE_CHECK(segment.ok());
  LivenessOptions options;
  options.in_place = false;
  const TaskGraph tasks = FirstRuns(lowered);
  const absl::StatusOr<Order> order = FileOrder(lowered, tasks, options);
  REPRISE_CHECK(order.ok());
  const Liveness liveness =
      ComputeLiveness(lowered, tasks, order->tasks, options);
  return AssemblePlan(lowered, mode, tasks, order->tasks, liveness,
                      SideBySide(liveness.buffers), *segment);
}

}  // namespace reprise
