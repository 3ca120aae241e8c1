// What a plan does is read off its steps: which values backward nodes and
// replays find as the first run left them (held), and which as a replay did
// (made again). In a region that saves nothing, that asks for
//
//   must_save of a value    if it is held, and something inside needs it;
//   must_recompute          if it is made again, and something outside reads
//                           it: an outside reader's needs are kept otherwise.
//
// Everything else follows from the region. Tested by
// tests/tools/annotations_test.cc.

#include "tools/commands/annotations.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status_macros.h"
#include "tools/commands/report.h"

namespace reprise {
namespace {

// A node without a name of its own goes by its first output's.
std::string NameOf(const proto::Node& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output()) {
    if (!output.empty()) return output;
  }
  return "";
}

class Annotator {
 public:
  Annotator(const proto::Graph& graph, const PlannedPass& pass)
      : step_(pass.step.graph), lowered_(pass.lowered), plan_(pass.plan) {
    result_.graph = graph;
    for (int i = 0; i < graph.node_size(); ++i) {
      node_of_[NameOf(graph.node(i))] = i;
      for (const std::string& output : graph.node(i).output()) {
        if (!output.empty()) outputs_.insert(output);
      }
    }
    FindFreeNodes();
    FindRepeats();
    ReadSteps();
  }

  AnnotatedGraph Run(AnnotationStyle style) {
    if (style == AnnotationStyle::kRegions) AddRegions();
    for (const auto& [value, readers] : made_again_) {
      if (IsReadOutside(value, readers)) {
        Add(value, proto::ValueAnnotation::MUST_RECOMPUTE);
      }
    }
    for (const auto& [value, readers] : held_) {
      if (made_again_.count(value) == 0 && IsNeededInside(value, readers)) {
        Add(value, proto::ValueAnnotation::MUST_SAVE);
      }
    }
    return std::move(result_);
  }

 private:
  using NodeIndex = int;  // of the model's nodes; -1: none

  // The model's nodes that a lowered forward node computes, or whose gradient
  // a backward node is part of.
  std::vector<NodeIndex> NodesOf(LoweredNodeId n) const {
    const LoweredNode& node = lowered_.nodes[n];
    std::vector<NodeIndex> nodes;
    for (const NodeId l : node.logical) {
      const NodeId source =
          node.role == Role::kBackward ? step_.nodes[l].origin : l;
      if (source == kNoNode) continue;
      const auto it = node_of_.find(step_.nodes[source].name);
      if (it != node_of_.end()) nodes.push_back(it->second);
    }
    return nodes;
  }

  // Free are the nodes that the planner may repeat: in no regions but `auto`
  // ones, and without an annotated result.
  void FindFreeNodes() {
    const proto::Graph& graph = result_.graph;
    std::map<std::string, const proto::Region*> regions;
    for (const proto::Region& region : graph.region()) {
      regions[region.name()] = &region;
    }
    std::set<std::string> annotated;
    for (const proto::ValueAnnotation& annotation : graph.annotation()) {
      annotated.insert(annotation.value());
    }
    free_.assign(graph.node_size(), true);
    for (int i = 0; i < graph.node_size(); ++i) {
      for (std::string name = graph.node(i).region(); !name.empty();
           name = regions[name]->parent()) {
        if (!regions[name]->policy().auto_()) free_[i] = false;
      }
      for (const std::string& output : graph.node(i).output()) {
        if (annotated.count(output) > 0) free_[i] = false;
      }
    }
  }

  bool IsFree(LoweredNodeId n) const {
    const std::vector<NodeIndex> nodes = NodesOf(n);
    return !nodes.empty() &&
           std::all_of(nodes.begin(), nodes.end(),
                       [this](NodeIndex i) { return free_[i]; });
  }

  void FindRepeats() {
    repeated_.assign(result_.graph.node_size(), false);
    for (const Step& step : plan_.steps) {
      const LoweredNode& node = lowered_.nodes[step.node];
      if (step.run == 0 || node.is_reorder) continue;
      if (node.role != Role::kForward) {
        ++result_.steps_repeated;
        ++result_.steps_left_out;
        continue;
      }
      if (!IsFree(step.node)) continue;
      ++result_.steps_repeated;
      if (step.run > 1) ++result_.steps_left_out;
      for (const NodeIndex i : NodesOf(step.node)) repeated_[i] = true;
    }
  }

  // Fills in held_ and made_again_.
  void ReadSteps() {
    std::vector<bool> is_replay(lowered_.values.size(), false);
    for (const Step& step : plan_.steps) {
      const LoweredNode& node = lowered_.nodes[step.node];
      const bool is_late =
          !node.is_reorder && (node.role == Role::kBackward || step.run > 0);
      bool of_replay = step.run > 0;
      for (const Operand& in : step.in) {
        if (in.value < 0) continue;
        // A copy is what it copies.
        if (node.is_reorder) of_replay = is_replay[in.value];
        if (is_late) Note(in.value, is_replay[in.value], step.node);
      }
      for (const Operand& out : step.out) {
        if (out.value >= 0) is_replay[out.value] = of_replay;
      }
    }
  }

  void Note(LoweredValueId v, bool is_replay, LoweredNodeId reader) {
    const LoweredValueId root = lowered_.values[v].copy_of;
    const LoweredNodeId producer = lowered_.values[root].producer;
    if (producer < 0 || lowered_.nodes[producer].role != Role::kForward ||
        !IsFree(producer)) {
      return;
    }
    std::set<NodeIndex>& readers = (is_replay ? made_again_ : held_)[root];
    for (const NodeIndex i : NodesOf(reader)) readers.insert(i);
  }

  // Neighbours that are repeated, and behind them those that read what they
  // make, whose gradients then are inside, too.
  void AddRegions() {
    region_of_.assign(result_.graph.node_size(), -1);
    const std::vector<NodeIndex> order = Order();
    for (size_t begin = 0; begin < order.size();) {
      if (!repeated_[order[begin]]) {
        ++begin;
        continue;
      }
      const std::string& parent = result_.graph.node(order[begin]).region();
      const auto may_join = [&](NodeIndex i) {
        return free_[i] && result_.graph.node(i).region() == parent;
      };
      size_t end = begin;
      std::set<std::string> made;
      while (end < order.size() && repeated_[order[end]] &&
             may_join(order[end])) {
        for (const std::string& name :
             result_.graph.node(order[end]).output()) {
          made.insert(name);
        }
        ++end;
      }
      const auto reads_made = [&](NodeIndex i) {
        const auto& inputs = result_.graph.node(i).input();
        return std::any_of(
            inputs.begin(), inputs.end(),
            [&made](const std::string& name) { return made.count(name) > 0; });
      };
      while (end < order.size() && !repeated_[order[end]] &&
             may_join(order[end]) && reads_made(order[end])) {
        ++end;
      }
      // One node alone is better told by its values.
      if (end - begin > 1) AddRegion({&order[begin], end - begin}, parent);
      begin = end;
    }
  }

  // The model's nodes in an order in which they can run.
  std::vector<NodeIndex> Order() const {
    std::vector<NodeIndex> order;
    for (const Node& node : step_.nodes) {
      if (node.role != Role::kForward) continue;
      const auto it = node_of_.find(node.name);
      if (it != node_of_.end()) order.push_back(it->second);
    }
    return order;
  }

  void AddRegion(absl::Span<const NodeIndex> nodes, std::string parent) {
    proto::Graph& graph = result_.graph;
    std::string name;
    for (int i = result_.regions + 1; name.empty() || names_.count(name) > 0;
         ++i) {
      name = absl::StrCat("again_", i);
      for (const proto::Region& region : graph.region()) {
        names_.insert(region.name());
      }
    }
    proto::Region& region = *graph.add_region();
    region.set_name(name);
    region.set_parent(std::move(parent));
    region.mutable_policy()->set_save_nothing(true);
    for (const NodeIndex i : nodes) {
      graph.mutable_node(i)->set_region(name);
      region_of_[i] = result_.regions;
    }
    ++result_.regions;
  }

  int RegionOf(NodeIndex i) const {
    return region_of_.empty() ? -1 : region_of_[i];
  }
  int RegionOfProducer(LoweredValueId v) const {
    return RegionOf(NodesOf(lowered_.values[v].producer).back());
  }

  bool IsReadOutside(LoweredValueId v, const std::set<NodeIndex>& readers) {
    const int region = RegionOfProducer(v);
    return region < 0 ||
           std::any_of(readers.begin(), readers.end(),
                       [&](NodeIndex i) { return RegionOf(i) != region; });
  }

  bool IsNeededInside(LoweredValueId v, const std::set<NodeIndex>& readers) {
    const int region = RegionOfProducer(v);
    return region >= 0 &&
           std::any_of(readers.begin(), readers.end(),
                       [&](NodeIndex i) { return RegionOf(i) == region; });
  }

  // Only results of the model's nodes can be annotated; statistics and
  // workspaces follow the first result of theirs.
  void Add(LoweredValueId v, proto::ValueAnnotation::Keep keep) {
    for (const ValueId logical : lowered_.values[v].logical) {
      const std::string& name = step_.values[logical].name;
      if (outputs_.count(name) == 0) continue;
      proto::ValueAnnotation& annotation = *result_.graph.add_annotation();
      annotation.set_value(name);
      annotation.set_keep(keep);
      ++(keep == proto::ValueAnnotation::MUST_SAVE ? result_.must_save
                                                   : result_.must_recompute);
      return;
    }
  }

  const Graph& step_;
  const LoweredGraph& lowered_;
  const Plan& plan_;
  AnnotatedGraph result_;
  std::map<std::string, NodeIndex> node_of_;  // by name
  std::set<std::string> outputs_;             // names of nodes' results
  std::set<std::string> names_;               // of regions
  std::vector<bool> free_;                    // by model node
  std::vector<bool> repeated_;                // likewise
  std::vector<int> region_of_;  // of those added, by model node; -1: none
  // By lowered value that is no copy: who reads it after the forward pass.
  std::map<LoweredValueId, std::set<NodeIndex>> held_;
  std::map<LoweredValueId, std::set<NodeIndex>> made_again_;
};

}  // namespace

AnnotatedGraph Annotate(const proto::Graph& graph, const PlannedPass& pass,
                        AnnotationStyle style) {
  return Annotator(graph, pass).Run(style);
}

absl::StatusOr<EmittedAnnotations> EmitAnnotations(
    const proto::Graph& graph, const proto::TrainConfig& config,
    const TrainerOptions& options, const TrainerPlan& planned) {
  TrainerOptions without_budget = options;
  without_budget.plan.budget_bytes = INT64_MAX;
  without_budget.process_budget_bytes = INT64_MAX;
  EmittedAnnotations best;
  for (const AnnotationStyle style :
       {AnnotationStyle::kRegions, AnnotationStyle::kValues}) {
    EmittedAnnotations emitted;
    emitted.annotated = Annotate(graph, *planned.passes.front(), style);
    ASSIGN_OR_RETURN(
        const PlannedTrainer again,
        PlanTrainer(emitted.annotated.graph, config, without_budget));
    emitted.arena_bytes = again.plan.arena_bytes;
    emitted.added_fraction = RecomputeCostFraction(again.reports.front());
    if (style == AnnotationStyle::kRegions ||
        emitted.arena_bytes < best.arena_bytes) {
      best = std::move(emitted);
    }
  }
  if (best.annotated.steps_repeated == 0) return best;
  ASSIGN_OR_RETURN(const PlannedTrainer plain,
                   PlanTrainer(graph, config, without_budget));
  if (best.arena_bytes < plain.plan.arena_bytes) return best;
  // These would save nothing, and bind the next plan.
  const int32_t repeated = best.annotated.steps_repeated;
  best.annotated = {};
  best.annotated.graph = graph;
  best.annotated.steps_repeated = repeated;
  best.annotated.steps_left_out = repeated;
  best.arena_bytes = plain.plan.arena_bytes;
  best.added_fraction = RecomputeCostFraction(plain.reports.front());
  return best;
}

}  // namespace reprise
