// One rule resolves every region, inside out.
//
// Take any scope S: a region, or the whole graph. Its units are the nodes that
// lie loose in it and its child regions, each taken as one node; held(S)
// collects the forward values that S wants to find when its backward pass runs.
//
//   1. What the backward nodes of S's loose nodes read is held.
//   2. Each child region R, those that read others' results first, has been
//      resolved as a scope of its own; held(R) is what it needs.
//      - A need from outside R is held by S: R's inputs are there for it.
//      - A need from inside R that S holds already serves R too.
//      - One that R's policy lets be kept is held by S.
//      - Any other is replayed by R; what its producer reads is a need of R in
//        turn, and so on until nothing is added.
//   3. S is resolved; to the scope around it, held(S) is what S needs.
//
// What the whole graph holds are the residuals: contents of the forward run.
// Example, every node keeping its output, both regions saving nothing:
//
//   outer { b = D(a); }  with  inner { a = D(x); }  inside outer
//     inner: its backward reads a      held(inner) = {a}
//     outer: b is read                 held(outer) = {b}
//            a: inside inner           inner replays a; it reads x: {b, x}
//     graph: b: inside outer           outer replays b, which reads a: replayed
//            x                         held = {x}
//   Three replays: outer's a and b, and inner's a, because a replay of outer is
//   a forward run of its contents, in which inner drops a again.
//
// A reader gets a replayed value from the innermost region around it that
// replays it, else the forward run's content. Values that must be recomputed
// are never held: where S would hold one that lies inside a child region, that
// child replays it, for S's readers as well.
//
// Reorders are transparent: a copy in another layout counts as the value it
// copies. Which copy is held is decided last. Where all later readers want one
// and the same copy, made in the forward pass, it is held instead of the
// original; otherwise copies are made again from the original (from a
// parameter, always: it is there anyway).
//
// Cost: nodes * nesting depth. Tested by tests/planner/regions_test.cc, and by
// tests/planner/regions_random_test.cc against a model that executes the
// definition.

#include "planner/regions.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

bool IsStatistic(const Graph& step, ValueId v) {
  const Value& value = step.values[v];
  return value.producer != kNoNode &&
         value.output >= step.nodes[value.producer].op->first_statistic;
}

// Returns the value whose annotations and policies `v` follows.
ValueId Leader(const Graph& step, ValueId v) {
  if (!IsStatistic(step, v)) return v;
  const ValueId first = step.nodes[step.values[v].producer].out[0];
  return first == kNoValue ? v : first;
}

bool MatchesAny(const std::vector<std::string>& globs,
                const std::string& name) {
  return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
    return MatchesGlob(glob, name);
  });
}

bool HasNoBatchDims(const Graph& step, const Node& node) {
  if (node.op->matmul == MatmulKind::kGemm) return true;
  if (node.op->matmul != MatmulKind::kDot) return false;
  for (const ValueId v : node.in) {
    if (v != kNoValue && step.values[v].type.rank() <= 2) return true;
  }
  return false;
}

}  // namespace

bool MayKeep(const Policy& policy, const Graph& step_graph, ValueId value) {
  const Value& leader = step_graph.values[Leader(step_graph, value)];
  const Node* producer =
      leader.producer == kNoNode ? nullptr : &step_graph.nodes[leader.producer];
  switch (policy.kind) {
    case Policy::Kind::kSaveNothing:
      return false;
    case Policy::Kind::kSaveEverything:
    case Policy::Kind::kAuto:
      return true;
    case Policy::Kind::kSaveMatmuls:
      return producer != nullptr && producer->op->matmul != MatmulKind::kNone;
    case Policy::Kind::kSaveMatmulsWithoutBatchDims:
      return producer != nullptr && HasNoBatchDims(step_graph, *producer);
    case Policy::Kind::kSaveNames:
      return MatchesAny(policy.names, leader.name);
    case Policy::Kind::kSaveAllButNames:
      return !MatchesAny(policy.names, leader.name);
    case Policy::Kind::kSaveOps:
      return producer != nullptr &&
             std::find(policy.names.begin(), policy.names.end(),
                       WrittenOp(*producer)) != policy.names.end();
    case Policy::Kind::kAnyOf:
      return std::any_of(
          policy.any_of.begin(), policy.any_of.end(),
          [&](const Policy& p) { return MayKeep(p, step_graph, value); });
  }
  return false;
}

absl::StatusOr<Regions> Regions::Create(const Graph& step_graph,
                                        const LoweredGraph& graph) {
  Regions regions(step_graph, graph);
  RETURN_IF_ERROR(regions.Prepare());
  return regions;
}

absl::Status Regions::Prepare() {
  for (const Region& region : step_.regions) parent_.push_back(region.parent);
  step_region_.reserve(step_.nodes.size());
  for (const Node& node : step_.nodes) step_region_.push_back(node.region);
  NumberRegions();
  PlaceNodes(/*joined_nodes_go_outwards=*/true);
  GatherCarried();
  RETURN_IF_ERROR(ReadAnnotations());
  AddImplicitRegions();
  if (parent_.empty()) {
    children_.resize(1);
  } else if (!OrderChildren().empty()) {
    // A node joined of several regions' nodes and put outside them can close a
    // cycle that the model does not have; inside the last one it cannot.
    PlaceNodes(/*joined_nodes_go_outwards=*/false);
    const std::vector<RegionId> cycle = OrderChildren();
    if (!cycle.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "regions need each other's results: ",
          absl::StrJoin(cycle, " -> ", [this](std::string* out, RegionId r) {
            absl::StrAppend(out, "'", step_.regions[r].name, "'");
          })));
    }
  }
  FindBackwardReads();
  return absl::OkStatus();
}

void Regions::NumberRegions() {
  const int32_t n = num_regions();
  std::vector<std::vector<RegionId>> inside(n + 1);
  for (RegionId r = 0; r < n; ++r) inside[scope(parent_[r])].push_back(r);
  depth_.assign(n, 0);
  enter_.assign(n, 0);
  leave_.assign(n, 0);
  inside_out_.clear();
  int32_t time = 0;
  std::vector<std::pair<RegionId, size_t>> stack = {{kNoRegion, 0}};
  while (!stack.empty()) {
    auto& [region, next] = stack.back();
    const std::vector<RegionId>& list = inside[scope(region)];
    if (next < list.size()) {
      const RegionId child = list[next++];
      depth_[child] = static_cast<int32_t>(stack.size());
      enter_[child] = time++;
      stack.push_back({child, 0});
      continue;
    }
    if (region != kNoRegion) {
      leave_[region] = time;
      inside_out_.push_back(region);
    }
    stack.pop_back();
  }
}

bool Regions::Inside(RegionId inner, RegionId outer) const {
  if (outer == kNoRegion) return true;
  if (inner == kNoRegion) return false;
  return enter_[outer] <= enter_[inner] && enter_[inner] < leave_[outer];
}

RegionId Regions::CommonRegion(RegionId a, RegionId b) const {
  while (!Inside(b, a)) a = parent_[a];
  return a;
}

RegionId Regions::ChildTowards(RegionId scope, RegionId inner) const {
  if (inner == scope || !Inside(inner, scope)) return kNoRegion;
  while (parent_[inner] != scope) inner = parent_[inner];
  return inner;
}

bool Regions::IsForwardValue(LoweredValueId value) const {
  const LoweredNodeId producer = graph_.values[root(value)].producer;
  return producer < 0 || graph_.nodes[producer].role == Role::kForward;
}

void Regions::PlaceNodes(bool joined_nodes_go_outwards) {
  region_of_.assign(graph_.nodes.size(), kNoRegion);
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const LoweredNode& node = graph_.nodes[n];
    bool first = true;
    for (const NodeId l : node.logical) {
      const NodeId source =
          node.role == Role::kBackward ? step_.nodes[l].origin : l;
      const RegionId region =
          source == kNoNode ? kNoRegion : step_region_[source];
      const bool outwards = joined_nodes_go_outwards && !first;
      region_of_[n] = outwards ? CommonRegion(region_of_[n], region) : region;
      first = false;
    }
  }
}

void Regions::GatherCarried() {
  carried_.resize(graph_.values.size());
  for (size_t v = 0; v < graph_.values.size(); ++v) {
    const LoweredValue& value = graph_.values[v];
    std::vector<ValueId>& list = carried_[value.copy_of];
    list.insert(list.end(), value.logical.begin(), value.logical.end());
    list.insert(list.end(), value.swallowed.begin(), value.swallowed.end());
  }
}

absl::Status Regions::ReadAnnotations() {
  wish_.assign(graph_.values.size(), Wish::kNone);
  wished_for_.assign(graph_.values.size(), kNoValue);
  if (step_.annotations.empty()) return absl::OkStatus();
  for (const auto& [v, keep] : step_.annotations) {
    const Value& value = step_.values[v];
    if (keep != Keep::kMustRecompute) continue;
    if (value.producer == kNoNode) {
      return absl::InvalidArgumentError(
          absl::StrCat("value '", value.name,
                       "': must_recompute needs a node that computes it; it "
                       "is an input, parameter or state"));
    }
    const Node& producer = step_.nodes[value.producer];
    if (producer.op->effect != Effect::kPure) {
      return absl::InvalidArgumentError(absl::StrCat(
          "value '", value.name, "': must_recompute, but node '", producer.name,
          "' (", WrittenOp(producer), ") may run only once a step"));
    }
  }
  for (size_t v = 0; v < graph_.values.size(); ++v) {
    for (const ValueId carried : carried_[v]) {
      auto it = step_.annotations.find(carried);
      if (it == step_.annotations.end()) {
        it = step_.annotations.find(Leader(step_, carried));
      }
      if (it == step_.annotations.end()) continue;
      const Wish wish = it->second == Keep::kMustSave ? Wish::kMustSave
                                                      : Wish::kMustRecompute;
      if (wish_[v] != Wish::kNone && wish_[v] != wish) {
        return absl::InvalidArgumentError(absl::StrCat(
            "values '", step_.values[wished_for_[v]].name, "' and '",
            step_.values[it->first].name,
            "' are one content, with must_save for one and must_recompute for "
            "the other"));
      }
      // A view of what no node computes has no bytes of its own to drop.
      if (wish == Wish::kMustRecompute && graph_.values[v].producer < 0) {
        continue;
      }
      wish_[v] = wish;
      wished_for_[v] = it->first;
    }
  }
  return absl::OkStatus();
}

void Regions::AddImplicitRegions() {
  bool any = false;
  for (size_t v = 0; v < graph_.values.size(); ++v) {
    const LoweredNodeId producer = graph_.values[v].producer;
    if (wish_[v] != Wish::kMustRecompute || producer < 0 ||
        region_of_[producer] != kNoRegion) {
      continue;
    }
    region_of_[producer] = num_regions();
    for (const NodeId n : graph_.nodes[producer].logical) {
      step_region_[n] = num_regions();
    }
    parent_.push_back(kNoRegion);
    any = true;
  }
  if (!any) return;
  NumberRegions();
  PlaceNodes(/*joined_nodes_go_outwards=*/true);
}

std::vector<RegionId> Regions::OrderChildren() {
  const int32_t num_scopes = num_regions() + 1;
  // A unit is a region's number, or num_regions() + a node's.
  const auto unit = [this](RegionId in, LoweredNodeId node) {
    const RegionId child = ChildTowards(in, region_of_[node]);
    return child == kNoRegion ? num_regions() + node : child;
  };
  std::vector<std::vector<std::pair<int32_t, int32_t>>> edges(num_scopes);
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const LoweredNode& node = graph_.nodes[n];
    if (node.role != Role::kForward || node.is_reorder) continue;
    const LoweredNodeId reader = static_cast<LoweredNodeId>(n);
    for (const LoweredValueId v : node.in) {
      if (v < 0) continue;
      const LoweredNodeId producer = graph_.values[root(v)].producer;
      if (producer < 0) continue;
      const RegionId in = CommonRegion(region_of_[producer], region_of_[n]);
      const int32_t from = unit(in, producer);
      const int32_t to = unit(in, reader);
      if (from != to) edges[scope(in)].push_back({from, to});
    }
  }
  children_.assign(num_scopes, {});
  std::vector<bool> has_children(num_scopes, false);
  for (const RegionId parent : parent_) has_children[scope(parent)] = true;
  for (int32_t s = 0; s < num_scopes; ++s) {
    if (!has_children[s]) continue;
    std::vector<RegionId> cycle = OrderChildrenOf(s, edges[s]);
    if (!cycle.empty()) return cycle;
  }
  return {};
}

std::vector<RegionId> Regions::OrderChildrenOf(
    int32_t scope_number,
    const std::vector<std::pair<int32_t, int32_t>>& edges) {
  absl::flat_hash_map<int32_t, std::vector<int32_t>> writers;  // by reader
  absl::flat_hash_map<int32_t, int32_t> reads_left;            // by writer
  std::vector<int32_t> units;
  const auto add = [&](int32_t unit) {
    if (reads_left.emplace(unit, 0).second) units.push_back(unit);
  };
  for (RegionId r = 0; r < num_regions(); ++r) {
    if (scope(parent_[r]) == scope_number) add(r);
  }
  for (const auto& [from, to] : edges) {
    add(from);
    add(to);
    writers[to].push_back(from);
    ++reads_left[from];
  }
  std::vector<int32_t> done;
  for (const int32_t u : units) {
    if (reads_left[u] == 0) done.push_back(u);
  }
  for (size_t i = 0; i < done.size(); ++i) {
    if (done[i] < num_regions()) children_[scope_number].push_back(done[i]);
    for (const int32_t writer : writers[done[i]]) {
      if (--reads_left[writer] == 0) done.push_back(writer);
    }
  }
  if (done.size() == units.size()) return {};
  // Whatever is left has a reader that is left: following readers must come
  // back to a unit seen before.
  absl::flat_hash_map<int32_t, int32_t> reader_of;
  for (const auto& [from, to] : edges) {
    if (reads_left[from] > 0 && reads_left[to] > 0) reader_of[from] = to;
  }
  int32_t at = -1;
  for (const int32_t u : units) {
    if (reads_left[u] > 0) at = u;
  }
  absl::flat_hash_map<int32_t, size_t> seen;
  std::vector<int32_t> path;
  while (seen.emplace(at, path.size()).second) {
    path.push_back(at);
    at = reader_of[at];
  }
  std::vector<RegionId> cycle;
  for (size_t i = seen[at]; i < path.size(); ++i) {
    if (path[i] < num_regions()) cycle.push_back(path[i]);
  }
  cycle.push_back(cycle.front());
  return cycle;
}

void Regions::FindBackwardReads() {
  backward_reads_.resize(num_regions() + 1);
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const LoweredNode& node = graph_.nodes[n];
    if (node.role != Role::kBackward || node.is_reorder) continue;
    for (const LoweredValueId v : node.in) {
      if (v < 0 || !IsForwardValue(v)) continue;
      backward_reads_[scope(region_of_[n])].push_back(root(v));
    }
  }
}

// One resolution: first which values are held and replayed, then who reads
// which content.
class RegionResolver {
 public:
  RegionResolver(const Regions& regions, RegionId keep_all)
      : regions_(regions),
        graph_(regions.graph_),
        keep_all_(keep_all),
        needs_(regions.num_regions() + 1),
        replayed_(regions.num_regions()),
        forced_(regions.num_regions()),
        held_in_(graph_.values.size(), -1),
        replayed_in_(graph_.values.size(), kNoRegion) {
    result_.kept_by.assign(graph_.values.size(), kNoRegion);
  }

  Resolution Run() {
    for (const RegionId r : regions_.inside_out_) ResolveScope(r);
    ResolveScope(kNoRegion);
    result_.tasks = FirstRuns(graph_);
    AddReplays();
    FindUses();
    ConnectUses();
    MarkOnDemand(regions_.step_, graph_, result_.tasks);
    AddNotes();
    return std::move(result_);
  }

 private:
  using Wish = Regions::Wish;

  // A reader of the backward pass, or a replay, and the content it gets.
  struct Use {
    InstanceId provider;   // of the value itself
    LoweredValueId value;  // the value or a copy of it, as it is wanted
    TaskId task;
    int32_t operand;
  };

  LoweredNodeId producer(LoweredValueId root) const {
    return graph_.values[root].producer;
  }

  void ResolveScope(RegionId scope) {
    scope_ = scope;
    const int32_t s = regions_.scope(scope);
    for (const LoweredValueId v : regions_.backward_reads_[s]) Hold(v);
    for (const RegionId child : regions_.children_[s]) ResolveChild(child);
  }

  void Hold(LoweredValueId v) {
    if (regions_.wish_[v] == Wish::kMustRecompute && producer(v) >= 0) {
      const RegionId child =
          regions_.ChildTowards(scope_, regions_.region_of_[producer(v)]);
      if (child != kNoRegion) {
        forced_[child].push_back(v);
        effective_[regions_.wished_for_[v]] = true;
        return;
      }
    }
    const int32_t s = regions_.scope(scope_);
    if (held_in_[v] == s) return;
    held_in_[v] = s;
    needs_[s].push_back(v);
  }

  void ResolveChild(RegionId child) {
    for (const LoweredValueId v : forced_[child]) {
      if (replayed_in_[v] != child) Replay(child, v);
    }
    for (const LoweredValueId v : needs_[child]) Need(child, v);
    for (size_t i = 0; i < replayed_[child].size(); ++i) {
      for (const LoweredValueId w :
           graph_.nodes[producer(replayed_[child][i])].in) {
        if (w >= 0) Need(child, regions_.root(w));
      }
    }
  }

  void Need(RegionId child, LoweredValueId v) {
    if (replayed_in_[v] == child) return;
    const LoweredNodeId p = producer(v);
    if (p < 0 || !regions_.Inside(regions_.region_of_[p], child)) {
      Hold(v);
    } else if (held_in_[v] == regions_.scope(scope_)) {
      return;
    } else if (MayBeKept(child, v)) {
      Hold(v);
      result_.kept_by[v] = child;
    } else {
      Replay(child, v);
    }
  }

  void Replay(RegionId region, LoweredValueId v) {
    replayed_in_[v] = region;
    replayed_[region].push_back(v);
  }

  bool MayBeKept(RegionId region, LoweredValueId v) {
    if (graph_.nodes[producer(v)].effect != Effect::kPure) return true;
    const bool policy = PolicyAllows(region, v);
    switch (regions_.wish_[v]) {
      case Wish::kNone:
        return policy;
      case Wish::kMustSave:
        if (!policy) effective_[regions_.wished_for_[v]] = true;
        return true;
      case Wish::kMustRecompute:
        if (policy) effective_[regions_.wished_for_[v]] = true;
        return false;
    }
    return policy;
  }

  bool PolicyAllows(RegionId region, LoweredValueId v) const {
    if (region == keep_all_) return true;
    // An implicit region exists for what must be recomputed; its node's other
    // results are nobody's concern.
    const std::vector<Region>& known = regions_.step_.regions;
    if (region >= static_cast<RegionId>(known.size())) return true;
    const std::vector<ValueId>& carried = regions_.carried_[v];
    return std::any_of(carried.begin(), carried.end(), [&](ValueId value) {
      return MayKeep(known[region].policy, regions_.step_, value);
    });
  }

  int64_t Key(RegionId region, LoweredValueId v) const {
    return int64_t{region} * static_cast<int64_t>(graph_.values.size()) + v;
  }

  void AddReplays() {
    for (RegionId r = 0; r < regions_.num_regions(); ++r) {
      std::vector<LoweredNodeId> nodes;
      for (const LoweredValueId v : replayed_[r]) {
        nodes.push_back(producer(v));
        replay_of_[Key(r, v)] = -1;
      }
      std::sort(nodes.begin(), nodes.end());
      nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
      for (const LoweredNodeId n : nodes) {
        const TaskId t = AppendReplay(graph_, n, r, result_.tasks);
        for (const InstanceId out : result_.tasks.tasks[t].out) {
          if (out < 0) continue;
          const auto it =
              replay_of_.find(Key(r, result_.tasks.instances[out].value));
          // Other results are written again too, but what is held serves.
          if (it != replay_of_.end()) it->second = out;
        }
      }
    }
  }

  // Returns the content of `v` for a reader in `scope`, or for a replay that
  // belongs to `scope`.
  InstanceId Provider(LoweredValueId v, RegionId scope, bool is_replay) const {
    if (producer(v) < 0 || replay_of_.empty()) return v;
    const auto find = [&](RegionId region) {
      const auto it = replay_of_.find(Key(region, v));
      return it == replay_of_.end() ? InstanceId{-1} : it->second;
    };
    if (is_replay) {
      const InstanceId own = find(scope);
      if (own >= 0) return own;
      scope = regions_.parent_[scope];
    }
    while (true) {
      if (regions_.wish_[v] == Wish::kMustRecompute) {
        const RegionId child =
            regions_.ChildTowards(scope, regions_.region_of_[producer(v)]);
        const InstanceId forced = child == kNoRegion ? -1 : find(child);
        if (forced >= 0) return forced;
      }
      if (scope == kNoRegion) return v;
      const InstanceId own = find(scope);
      if (own >= 0) return own;
      scope = regions_.parent_[scope];
    }
  }

  void FindUses() {
    for (size_t t = 0; t < result_.tasks.tasks.size(); ++t) {
      const Task& task = result_.tasks.tasks[t];
      const LoweredNode& node = graph_.nodes[task.node];
      if (!task.replay && (node.role != Role::kBackward || node.is_reorder)) {
        continue;
      }
      const RegionId scope =
          task.replay ? task.region : regions_.region_of_[task.node];
      for (size_t i = 0; i < node.in.size(); ++i) {
        const LoweredValueId v = node.in[i];
        if (v < 0 || !regions_.IsForwardValue(v)) continue;
        Use use;
        use.provider = Provider(regions_.root(v), scope, task.replay);
        use.value = v;
        use.task = static_cast<TaskId>(t);
        use.operand = static_cast<int32_t>(i);
        uses_.push_back(use);
      }
    }
    std::sort(uses_.begin(), uses_.end(), [](const Use& a, const Use& b) {
      return std::tie(a.provider, a.value, a.task, a.operand) <
             std::tie(b.provider, b.value, b.task, b.operand);
    });
  }

  void ConnectUses() {
    for (size_t begin = 0; begin < uses_.size();) {
      const InstanceId provider = uses_[begin].provider;
      size_t end = begin;
      bool alike = true;
      while (end < uses_.size() && uses_[end].provider == provider) {
        alike = alike && uses_[end].value == uses_[begin].value;
        ++end;
      }
      for (size_t u = begin; u < end; ++u) {
        const Use& use = uses_[u];
        const InstanceId content = alike && IsMadeByForward(provider, use.value)
                                       ? use.value
                                       : CopyOf(provider, use.value);
        result_.tasks.tasks[use.task].in[use.operand] = content;
      }
      begin = end;
    }
  }

  // Whether `copy` is made from the first content of something computed or
  // given for this step, in the forward pass.
  bool IsMadeByForward(InstanceId provider, LoweredValueId copy) const {
    const LoweredNodeId p = producer(copy);
    return provider == regions_.root(copy) && p >= 0 &&
           !IsPersistent(graph_.values[provider].kind) &&
           graph_.nodes[p].role == Role::kForward;
  }

  // Returns `provider` in the layout of `copy`, reordering it if need be. The
  // first such reorder in the backward pass is the one that lowering put there.
  InstanceId CopyOf(InstanceId provider, LoweredValueId copy) {
    if (copy == result_.tasks.instances[provider].value) return provider;
    const auto [it, inserted] = copies_.emplace(
        int64_t{provider} * static_cast<int64_t>(graph_.values.size()) + copy,
        copy);
    if (!inserted) return it->second;
    const LoweredNodeId reorder = producer(copy);
    const bool in_backward = graph_.nodes[reorder].role != Role::kForward;
    TaskId t = reorder;
    if (!in_backward || !claimed_.emplace(reorder, true).second) {
      t = AppendReplay(graph_, reorder, kNoRegion, result_.tasks);
    }
    const InstanceId made = result_.tasks.tasks[t].out[0];
    it->second = made;
    const InstanceId source = CopyOf(provider, graph_.nodes[reorder].in[0]);
    result_.tasks.tasks[t].in[0] = source;
    return made;
  }

  void AddNotes() {
    const bool differentiates = std::any_of(
        graph_.nodes.begin(), graph_.nodes.end(),
        [](const LoweredNode& node) { return node.role == Role::kBackward; });
    if (!differentiates) return;
    for (const auto& [v, keep] : regions_.step_.annotations) {
      if (effective_.contains(v)) continue;
      result_.notes.push_back(absl::StrCat(
          keep == Keep::kMustSave ? "must_save" : "must_recompute", " of '",
          regions_.step_.values[v].name, "' changes nothing"));
    }
  }

  const Regions& regions_;
  const LoweredGraph& graph_;
  const RegionId keep_all_;
  RegionId scope_ = kNoRegion;  // being resolved

  std::vector<std::vector<LoweredValueId>> needs_;  // by scope: what it holds
  std::vector<std::vector<LoweredValueId>> replayed_;  // by region
  std::vector<std::vector<LoweredValueId>> forced_;    // by region
  std::vector<int32_t> held_in_;       // by value: the last scope to hold it
  std::vector<RegionId> replayed_in_;  // by value: the last region to replay it

  absl::flat_hash_map<ValueId, bool> effective_;        // annotated values
  absl::flat_hash_map<int64_t, InstanceId> replay_of_;  // (region, value)
  absl::flat_hash_map<int64_t, InstanceId> copies_;     // (provider, copy)
  absl::flat_hash_map<LoweredNodeId, bool> claimed_;    // backward reorders
  std::vector<Use> uses_;
  Resolution result_;
};

Resolution Regions::Resolve(RegionId keep_all) const {
  return RegionResolver(*this, keep_all).Run();
}

}  // namespace reprise
