// Why a content is a residual: read off the regions' resolution, never decided
// here. The first of these that holds is the reason: a gradient outside its
// region reads it, an annotation or policy keeps it, a replay reads it as an
// input of its region, or simply some gradient reads it.
//
// Tested by tests/planner/report_test.cc.

#include "planner/residuals.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace reprise {
namespace {

bool IsSource(const LoweredGraph& graph, LoweredValueId v) {
  return graph.values[graph.values[v].copy_of].producer < 0;
}

class ResidualWriter {
 public:
  explicit ResidualWriter(const PlanParts& parts)
      : parts_(parts),
        graph_(parts.graph),
        step_(parts.step_graph),
        first_reader_(parts.resolution.tasks.instances.size(), -1) {
    const std::vector<Task>& tasks = parts.resolution.tasks.tasks;
    for (size_t t = 0; t < tasks.size(); ++t) {
      for (const InstanceId in : tasks[t].in) {
        if (in >= 0 && first_reader_[in] < 0) {
          first_reader_[in] = static_cast<TaskId>(t);
        }
      }
    }
  }

  Residual Write(const ReadContent& read) const {
    const LoweredValueId root = graph_.values[read.instance].copy_of;
    const LoweredValue& value = graph_.values[root];
    Residual residual;
    residual.lowered = read.instance;
    residual.bytes = AddedBytes(graph_, read.instance);
    residual.workspace = value.workspace;
    if (!value.logical.empty()) {
      const Value& logical = step_.values[value.logical[0]];
      residual.value = logical.name;
      residual.type = logical.type;
      if (logical.producer != kNoNode) {
        const OpDef& op = *step_.nodes[logical.producer].op;
        residual.workspace =
            residual.workspace || logical.output >= op.first_statistic;
      }
    }
    if (value.producer >= 0) {
      residual.producer = graph_.nodes[value.producer].name;
      const std::vector<NodeId>& logical = graph_.nodes[value.producer].logical;
      residual.producer_op = logical.empty()
                                 ? graph_.op(value.producer).name
                                 : WrittenOp(step_.nodes[logical.back()]);
      residual.region = RegionName(parts_.regions.region_of(value.producer));
    }
    for (const TaskId t : read.readers) {
      for (std::string& name : ReaderNames(t)) {
        if (std::find(residual.readers.begin(), residual.readers.end(), name) ==
            residual.readers.end()) {
          residual.readers.push_back(std::move(name));
        }
      }
    }
    residual.reason = Reason(read, root);
    return residual;
  }

 private:
  std::string RegionName(RegionId region) const {
    // Implicit regions have no name.
    const bool named = region != kNoRegion &&
                       region < static_cast<RegionId>(step_.regions.size());
    return named ? step_.regions[region].name : std::string();
  }

  // Returns what reads the copy that a reorder makes, for whose sake it reads
  // the original; another task itself.
  TaskId BehindReorders(TaskId t) const {
    const std::vector<Task>& tasks = parts_.resolution.tasks.tasks;
    while (graph_.nodes[tasks[t].node].is_reorder) {
      const TaskId reader = first_reader_[tasks[t].out[0]];
      if (reader < 0) break;
      t = reader;
    }
    return t;
  }

  // The forward nodes whose gradient, or replay, the task is part of.
  std::vector<std::string> ReaderNames(TaskId t) const {
    const Task& task = parts_.resolution.tasks.tasks[BehindReorders(t)];
    const LoweredNode& node = graph_.nodes[task.node];
    std::vector<std::string> names;
    if (node.role == Role::kBackward) {
      for (const NodeId l : node.logical) {
        const NodeId origin = step_.nodes[l].origin;
        names.push_back(origin == kNoNode ? step_.nodes[l].name
                                          : step_.nodes[origin].name);
      }
    }
    if (names.empty()) names.push_back(node.name);
    return names;
  }

  std::string Reason(const ReadContent& read, LoweredValueId root) const {
    const LoweredNodeId producer = graph_.values[root].producer;
    const RegionId home =
        producer < 0 ? kNoRegion : parts_.regions.region_of(producer);
    const TaskId gradient = FirstReader(read, [&](const Task& task) {
      return !task.replay &&
             !parts_.regions.Inside(parts_.regions.region_of(task.node), home);
    });
    const TaskId replay = FirstReader(read, [&](const Task& task) {
      return task.replay && task.region != kNoRegion &&
             (home == kNoRegion || !parts_.regions.Inside(task.region, home));
    });
    if (home != kNoRegion && gradient >= 0) {
      return absl::StrCat("read by the gradient of '", ReaderNames(gradient)[0],
                          "' outside ", Named(home));
    }
    const RegionId kept_by = parts_.resolution.kept_by[root];
    if (kept_by != kNoRegion) return KeptReason(kept_by, root);
    if (replay >= 0) {
      const RegionId region = parts_.resolution.tasks.tasks[replay].region;
      return absl::StrCat("input of ", Named(region), ", read by its replay");
    }
    const TaskId any =
        FirstReader(read, [](const Task& task) { return !task.replay; });
    const std::string reader = ReaderNames(any >= 0 ? any : read.readers[0])[0];
    return absl::StrCat("read by the gradient of '", reader, "'",
                        producer < 0 ? "" : ", in no region");
  }

  std::string KeptReason(RegionId kept_by, LoweredValueId root) const {
    for (const ValueId v : graph_.values[root].logical) {
      const auto it = step_.annotations.find(v);
      if (it != step_.annotations.end() && it->second == Keep::kMustSave) {
        return "must_save";
      }
    }
    const bool named = kept_by < static_cast<RegionId>(step_.regions.size());
    if (!named) return "must_recompute asks for another result of its node";
    return absl::StrCat("saved by policy ",
                        ToString(step_.regions[kept_by].policy), " of ",
                        Named(kept_by));
  }

  std::string Named(RegionId region) const {
    const std::string name = RegionName(region);
    return name.empty() ? "a region that must_recompute implies"
                        : absl::StrCat("region '", name, "'");
  }

  template <typename Predicate>
  TaskId FirstReader(const ReadContent& read, Predicate predicate) const {
    for (const TaskId t : read.readers) {
      if (predicate(parts_.resolution.tasks.tasks[t])) return t;
    }
    return -1;
  }

  const PlanParts& parts_;
  const LoweredGraph& graph_;
  const Graph& step_;
  std::vector<TaskId> first_reader_;  // by instance; -1: none
};

}  // namespace

std::vector<ReadContent> ReadResiduals(const LoweredGraph& graph,
                                       const Regions& regions,
                                       const TaskGraph& tasks) {
  std::vector<std::vector<TaskId>> readers(graph.values.size());
  for (size_t t = 0; t < tasks.tasks.size(); ++t) {
    const Task& task = tasks.tasks[t];
    if (!task.replay && graph.nodes[task.node].role != Role::kBackward) {
      continue;
    }
    for (const InstanceId in : task.in) {
      if (in < 0 || in >= static_cast<InstanceId>(readers.size()) ||
          !regions.IsForwardValue(in)) {
        continue;
      }
      // A content that a reorder of the backward pass made is no residual.
      const TaskId producer = tasks.instances[in].producer;
      if (producer >= 0 &&
          graph.nodes[tasks.tasks[producer].node].role != Role::kForward) {
        continue;
      }
      if (readers[in].empty() || readers[in].back() != static_cast<TaskId>(t)) {
        readers[in].push_back(static_cast<TaskId>(t));
      }
    }
  }
  std::vector<ReadContent> reads;
  for (size_t i = 0; i < readers.size(); ++i) {
    if (readers[i].empty()) continue;
    ReadContent read;
    read.instance = static_cast<InstanceId>(i);
    read.readers = std::move(readers[i]);
    reads.push_back(std::move(read));
  }
  return reads;
}

int64_t AddedBytes(const LoweredGraph& graph, LoweredValueId v) {
  return IsSource(graph, v) ? 0 : graph.values[v].bytes;
}

std::vector<Residual> ListResiduals(const PlanParts& parts) {
  const ResidualWriter writer(parts);
  std::vector<Residual> residuals;
  for (const ReadContent& read :
       ReadResiduals(parts.graph, parts.regions, parts.resolution.tasks)) {
    // Seeds, steps and learning rates are no results of the forward pass.
    if (parts.graph.values[read.instance].kind == ValueKind::kScalar) continue;
    if (parts.graph.values[read.instance].logical.empty()) continue;
    residuals.push_back(writer.Write(read));
  }
  return residuals;
}

}  // namespace reprise
