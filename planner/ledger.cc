// The ledger asks of each region what would be if it saved everything, all
// others as they are. It resolves and orders the graph once more for that, so
// a verdict speaks of the plan one would really get. Offsets are not part of
// it: peaks are compared, which do not depend on the luck of a placement.
//
// Tested by tests/planner/report_test.cc.

#include "planner/ledger.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/status_macros.h"
#include "planner/order/order.h"
#include "planner/recompute.h"
#include "planner/residuals.h"

namespace reprise {
namespace {

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
  for (const ReadContent& read :
       ReadResiduals(graph, regions, resolution.tasks)) {
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

}  // namespace

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
