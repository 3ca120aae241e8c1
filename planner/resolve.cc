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

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "planner/policy.h"
#include "planner/regions.h"

namespace reprise {

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
        effective_.insert(regions_.wished_for_[v]);
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
        if (!policy) effective_.insert(regions_.wished_for_[v]);
        return true;
      case Wish::kMustRecompute:
        if (policy) effective_.insert(regions_.wished_for_[v]);
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
    if (!in_backward || !claimed_.insert(reorder).second) {
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

  absl::flat_hash_set<ValueId> effective_;              // annotated values
  absl::flat_hash_map<int64_t, InstanceId> replay_of_;  // (region, value)
  absl::flat_hash_map<int64_t, InstanceId> copies_;     // (provider, copy)
  absl::flat_hash_set<LoweredNodeId> claimed_;          // backward reorders
  std::vector<Use> uses_;
  Resolution result_;
};

Resolution Regions::Resolve(RegionId keep_all) const {
  return RegionResolver(*this, keep_all).Run();
}

}  // namespace reprise
