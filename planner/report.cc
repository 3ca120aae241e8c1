// Explanations, read off the finished schedule: nothing here decides anything.
//
// The ledger asks of each region what would be if it saved everything, all
// others as they are. It resolves and orders the graph once more for that, so
// a verdict speaks of the plan one would really get. Offsets are not part of
// it: peaks are compared, which do not depend on the luck of a placement.
//
// Tested by tests/planner/report_test.cc.

#include "planner/report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/plan.h"
#include "core/status_macros.h"
#include "planner/recompute.h"

namespace reprise {
namespace {

// The forward run's contents that the backward pass reads, and who does.
struct Read {
  InstanceId instance = -1;
  std::vector<TaskId> readers;
};

std::vector<Read> ReadResiduals(const LoweredGraph& graph,
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
  std::vector<Read> reads;
  for (size_t i = 0; i < readers.size(); ++i) {
    if (readers[i].empty()) continue;
    Read read;
    read.instance = static_cast<InstanceId>(i);
    read.readers = std::move(readers[i]);
    reads.push_back(std::move(read));
  }
  return reads;
}

bool IsSource(const LoweredGraph& graph, LoweredValueId v) {
  return graph.values[graph.values[v].copy_of].producer < 0;
}

// Bytes that keeping a residual adds: none for what is there anyway.
int64_t AddedBytes(const LoweredGraph& graph, LoweredValueId v) {
  return IsSource(graph, v) ? 0 : graph.values[v].bytes;
}

class ResidualWriter {
 public:
  explicit ResidualWriter(const PlanParts& parts)
      : parts_(parts), graph_(parts.graph), step_(parts.step_graph) {}

  Residual Write(const Read& read) const {
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

  // The forward nodes whose gradient, or replay, the task is part of.
  std::vector<std::string> ReaderNames(TaskId t) const {
    const Task& task = parts_.resolution.tasks.tasks[t];
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

  std::string Reason(const Read& read, LoweredValueId root) const {
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
  TaskId FirstReader(const Read& read, Predicate predicate) const {
    for (const TaskId t : read.readers) {
      if (predicate(parts_.resolution.tasks.tasks[t])) return t;
    }
    return -1;
  }

  const PlanParts& parts_;
  const LoweredGraph& graph_;
  const Graph& step_;
};

// What the ledger compares.
struct Outcome {
  // Contents read by the backward pass, with bytes added.
  std::map<InstanceId, int64_t> residuals;
  // (region, node) of every replay but reorders.
  std::vector<std::pair<RegionId, LoweredNodeId>> replays;
  int64_t peak_bytes = 0;

  int64_t residual_bytes() const {
    int64_t sum = 0;
    for (const auto& entry : residuals) sum += entry.second;
    return sum;
  }
};

Outcome OutcomeOf(const LoweredGraph& graph, const Regions& regions,
                  const Resolution& resolution, int64_t peak_bytes) {
  Outcome outcome;
  for (const Read& read : ReadResiduals(graph, regions, resolution.tasks)) {
    outcome.residuals[read.instance] = AddedBytes(graph, read.instance);
  }
  for (const Task& task : resolution.tasks.tasks) {
    if (task.replay && task.region != kNoRegion) {
      outcome.replays.push_back({task.region, task.node});
    }
  }
  outcome.peak_bytes = peak_bytes;
  return outcome;
}

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

std::vector<Residual> ListResiduals(const PlanParts& parts) {
  const ResidualWriter writer(parts);
  std::vector<Residual> residuals;
  for (const Read& read :
       ReadResiduals(parts.graph, parts.regions, parts.resolution.tasks)) {
    // Seeds, steps and learning rates are no results of the forward pass.
    if (parts.graph.values[read.instance].kind == ValueKind::kScalar) continue;
    if (parts.graph.values[read.instance].logical.empty()) continue;
    residuals.push_back(writer.Write(read));
  }
  return residuals;
}

absl::StatusOr<std::vector<RegionReport>> MakeLedger(
    const PlanParts& parts, const LedgerOptions& options) {
  const LoweredGraph& graph = parts.graph;
  Outcome now =
      OutcomeOf(graph, parts.regions, parts.resolution, parts.order.peak.bytes);
  int64_t work_per_region =
      static_cast<int64_t>(parts.resolution.tasks.tasks.size()) * 8;
  OrderOptions order_options;
  order_options.liveness = options.liveness;
  order_options.search_work = options.search_work;
  if (options.search_work > 0) {
    std::set<RegionId> to_judge;
    for (const auto& replay : now.replays) to_judge.insert(replay.first);
    // Two searches each, of which the sum may not overflow.
    const int64_t searched =
        work_per_region + 2 * std::min(options.search_work, options.max_work);
    if (static_cast<int64_t>(to_judge.size()) <= options.max_work / searched) {
      work_per_region = searched;
    } else {
      order_options.search_work = 0;
      ASSIGN_OR_RETURN(
          const Order order,
          LeastPeakOrder(graph, parts.resolution.tasks, order_options));
      now.peak_bytes = order.peak.bytes;
    }
  }
  int64_t work_left = options.max_work;
  std::vector<RegionReport> ledger;
  for (size_t i = 0; i < parts.step_graph.regions.size(); ++i) {
    const RegionId region = static_cast<RegionId>(i);
    RegionReport report;
    report.name = parts.step_graph.regions[i].name;
    report.policy = ToString(parts.step_graph.regions[i].policy);
    std::map<std::string, int> by_op;
    for (const auto& [owner, node] : now.replays) {
      if (owner != region) continue;
      ++report.steps_replayed;
      report.replay_cost_nanoseconds += graph.cost_nanoseconds(node);
      for (const NodeId l : graph.nodes[node].logical) {
        ++by_op[WrittenOp(parts.step_graph.nodes[l])];
      }
    }
    report.replayed.assign(by_op.begin(), by_op.end());
    if (report.steps_replayed == 0) {
      // All its needs are kept already, so saving everything is the same.
      report.verdict = Verdict::kNoEffect;
    } else if (work_left < work_per_region) {
      report.verdict = Verdict::kNotJudged;
    } else {
      work_left -= work_per_region;
      const Resolution without = parts.regions.Resolve(/*keep_all=*/region);
      ASSIGN_OR_RETURN(const Order order,
                       LeastPeakOrder(graph, without.tasks, order_options));
      const Outcome other =
          OutcomeOf(graph, parts.regions, without, order.peak.bytes);
      report.bytes_avoided = other.residual_bytes() - now.residual_bytes();
      report.peak_bytes_avoided = other.peak_bytes - now.peak_bytes;
      const bool same =
          other.residuals == now.residuals && other.replays == now.replays;
      report.verdict = same                            ? Verdict::kNoEffect
                       : report.peak_bytes_avoided > 0 ? Verdict::kSaves
                                                       : Verdict::kCostsMore;
    }
    ledger.push_back(std::move(report));
  }
  return ledger;
}

void JudgeAutoRegions(const PlanParts& annotated, const PlanParts& planned,
                      absl::Span<const int32_t> runs,
                      const LedgerOptions& options,
                      std::vector<RegionReport>& ledger) {
  const LoweredGraph& graph = annotated.graph;
  const std::vector<TaskId>& order = annotated.order.tasks;
  const TaskGraph& tasks = annotated.resolution.tasks;
  // By region: how often each node is repeated for it.
  std::vector<std::vector<LoweredNodeId>> repeated(ledger.size());
  std::vector<bool> has_run(order.size(), false);
  for (const int32_t k : runs) {
    const LoweredNodeId node = tasks.tasks[order[k]].node;
    const RegionId region = annotated.regions.region_of(node);
    if (has_run[k] && region != kNoRegion &&
        graph.nodes[node].role == Role::kForward) {
      repeated[region].push_back(node);
    }
    has_run[k] = true;
  }
  const Outcome now = OutcomeOf(graph, planned.regions, planned.resolution,
                                planned.order.peak.bytes);
  int64_t work_left = options.max_work;
  for (size_t r = 0; r < ledger.size(); ++r) {
    if (repeated[r].empty()) continue;
    RegionReport& report = ledger[r];
    std::map<std::string, int> by_op;
    for (const LoweredNodeId node : repeated[r]) {
      ++report.steps_replayed;
      report.replay_cost_nanoseconds += graph.cost_nanoseconds(node);
      for (const NodeId l : graph.nodes[node].logical) {
        ++by_op[WrittenOp(annotated.step_graph.nodes[l])];
      }
    }
    report.replayed.assign(by_op.begin(), by_op.end());
    work_left -= static_cast<int64_t>(runs.size()) * 8;
    if (work_left < 0) {
      report.verdict = Verdict::kNotJudged;
      continue;
    }
    std::vector<int32_t> without;
    std::fill(has_run.begin(), has_run.end(), false);
    for (const int32_t k : runs) {
      const LoweredNodeId node = tasks.tasks[order[k]].node;
      const bool dropped =
          has_run[k] && graph.nodes[node].role == Role::kForward &&
          annotated.regions.region_of(node) == static_cast<RegionId>(r);
      if (!dropped) without.push_back(k);
      has_run[k] = true;
    }
    Resolution resolution;
    TaskSequence sequence =
        WithRecomputes(graph, annotated.regions, tasks, order, without);
    resolution.tasks = std::move(sequence.tasks);
    const Peak peak = ComputeLiveness(graph, resolution.tasks, sequence.order,
                                      options.liveness)
                          .peak;
    const Outcome other =
        OutcomeOf(graph, annotated.regions, resolution, peak.bytes);
    report.bytes_avoided = other.residual_bytes() - now.residual_bytes();
    report.peak_bytes_avoided = other.peak_bytes - now.peak_bytes;
    report.verdict =
        report.peak_bytes_avoided > 0 ? Verdict::kSaves : Verdict::kCostsMore;
  }
}

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
  for (const Read& read :
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

std::string ToString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNoEffect:
      return "no effect";
    case Verdict::kSaves:
      return "saves";
    case Verdict::kCostsMore:
      return "costs more";
    case Verdict::kNotJudged:
      return "not judged";
  }
  return "";
}

}  // namespace reprise
