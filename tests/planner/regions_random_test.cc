// Random nested annotations against a model that executes the definition.
//
// The model knows no held sets and resolves nothing inside out. It runs the
// backward pass of the whole graph, unit by unit in some reverse topological
// order, descending into regions as it meets them; a reader asks for a value at
// that moment, and the question travels outwards until somebody has it or a
// region runs a node again.

#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "planner/regions.h"
#include "tests/planner/lowered_builder.h"
#include "tests/planner/random_lowered.h"

namespace reprise {
namespace {

// Who provides a content: a region's replay, or kNoRegion: the forward run.
using Providers = std::map<std::tuple<RegionId, LoweredNodeId, size_t>,
                           RegionId>;  // (replaying region, node, operand)

struct Meaning {
  std::set<LoweredValueId> residuals;
  std::set<std::pair<RegionId, LoweredNodeId>> replays;
  Providers providers;
};

constexpr RegionId kFirstRun = -2;  // in the keys of Providers

class Model {
 public:
  Model(const LoweredBuilder& b, uint64_t seed)
      : step_(b.step()), graph_(b.graph()), random_(seed) {
    for (const Region& r : step_.regions) {
      parent_.push_back(r.parent);
      policy_.push_back(r.policy);
    }
    for (const LoweredNode& node : graph_.nodes) {
      RegionId region = kNoRegion;
      if (!node.logical.empty()) {
        const Node& logical = step_.nodes[node.logical[0]];
        const NodeId of =
            node.role == Role::kBackward ? logical.origin : node.logical[0];
        if (of != kNoNode) region = step_.nodes[of].region;
      }
      region_of_.push_back(region);
    }
    // A region of its own for what must be recomputed outside all regions.
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].role != Role::kForward) continue;
      if (region_of_[n] != kNoRegion || graph_.nodes[n].is_reorder) continue;
      bool any = false;
      for (const LoweredValueId v : graph_.nodes[n].out) {
        any = any || Wish(v) == Keep::kMustRecompute;
      }
      if (!any) continue;
      region_of_[n] = static_cast<RegionId>(parent_.size());
      parent_.push_back(kNoRegion);
      policy_.push_back(SaveEverything());
      for (size_t m = 0; m < graph_.nodes.size(); ++m) {
        if (graph_.nodes[m].role == Role::kBackward &&
            !graph_.nodes[m].logical.empty() &&
            step_.nodes[graph_.nodes[m].logical[0]].origin ==
                graph_.nodes[n].logical[0]) {
          region_of_[m] = region_of_[n];
        }
      }
    }
  }

  Meaning Run() {
    Backward(kNoRegion);
    return meaning_;
  }

 private:
  static constexpr int kNone = -1;

  LoweredValueId Root(LoweredValueId v) const {
    return graph_.values[v].copy_of;
  }
  LoweredNodeId Producer(LoweredValueId root) const {
    return graph_.values[root].producer;
  }

  bool Within(RegionId inner, RegionId outer) const {
    if (outer == kNoRegion || inner == outer) return true;
    return inner != kNoRegion && Within(parent_[inner], outer);
  }

  // The child of `scope` that holds `region`, or kNoRegion.
  RegionId Child(RegionId scope, RegionId region) const {
    if (region == scope || region == kNoRegion) return kNoRegion;
    if (parent_[region] == scope) return region;
    return Child(scope, parent_[region]);
  }

  // What is asked of a value; statistics follow the first result.
  int WishOf(LoweredValueId root) const {
    const LoweredNodeId p = Producer(root);
    const LoweredValueId leader = p >= 0 ? graph_.nodes[p].out[0] : root;
    for (const LoweredValueId v : {root, leader}) {
      const auto it = step_.annotations.find(graph_.values[v].logical[0]);
      if (it != step_.annotations.end()) return static_cast<int>(it->second);
    }
    return kNone;
  }
  Keep Wish(LoweredValueId root) const {
    const int wish = WishOf(root);
    return wish == kNone ? static_cast<Keep>(99) : static_cast<Keep>(wish);
  }

  bool Keepable(RegionId region, LoweredValueId v) const {
    if (Wish(v) == Keep::kMustSave) return true;
    if (Wish(v) == Keep::kMustRecompute) return false;
    return Allows(policy_[region], graph_.nodes[Producer(v)]);
  }

  static bool Matches(const char* glob, const char* name) {
    if (*glob == '*') {
      return Matches(glob + 1, name) ||
             (*name != '\0' && Matches(glob, name + 1));
    }
    return *glob == *name && (*name == '\0' || Matches(glob + 1, name + 1));
  }

  // What the policy says about the first result of `producer`.
  bool Allows(const Policy& policy, const LoweredNode& producer) const {
    const Node& node = step_.nodes[producer.logical[0]];
    bool listed = false;
    for (const std::string& glob : policy.names) {
      listed = listed || Matches(glob.c_str(), node.name.c_str());
    }
    // As 1-dimensional operands are no batch of anything.
    bool batch = node.op->matmul == MatmulKind::kDot;
    for (const ValueId v : node.in) {
      batch = batch && step_.values[v].type.dims.size() > 2;
    }
    switch (policy.kind) {
      case Policy::Kind::kSaveNothing:
        return false;
      case Policy::Kind::kSaveMatmuls:
        return node.op->matmul != MatmulKind::kNone;
      case Policy::Kind::kSaveMatmulsWithoutBatchDims:
        return node.op->matmul == MatmulKind::kGemm ||
               (node.op->matmul == MatmulKind::kDot && !batch);
      case Policy::Kind::kSaveNames:
        return listed;
      case Policy::Kind::kSaveAllButNames:
        return !listed;
      case Policy::Kind::kSaveOps:
        return policy.names[0] == node.op->name;
      case Policy::Kind::kAnyOf:
        for (const Policy& one : policy.any_of) {
          if (Allows(one, producer)) return true;
        }
        return false;
      default:
        return true;
    }
  }

  // Units: nodes as n >= 0, child regions as -1 - r.
  void Backward(RegionId scope) {
    std::set<int> left;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const LoweredNode& node = graph_.nodes[n];
      if (node.role != Role::kForward || node.is_reorder) continue;
      if (region_of_[n] == scope) {
        left.insert(static_cast<int>(n));
      } else if (Child(scope, region_of_[n]) != kNoRegion) {
        left.insert(-1 - Child(scope, region_of_[n]));
      }
    }
    while (!left.empty()) {
      std::vector<int> last;  // units nobody left reads from
      for (const int unit : left) {
        if (!IsReadBy(unit, left, scope)) last.push_back(unit);
      }
      ASSERT_FALSE(last.empty());
      const int unit = last[random_() % last.size()];
      left.erase(unit);
      if (unit < 0) {
        // By now everybody outside has asked, so what is held is known, and a
        // replay for those outside stops there.
        for (const LoweredValueId v : promised_[-1 - unit]) {
          Replay(-1 - unit, v);
        }
        Backward(-1 - unit);
      } else {
        ReadForGradients(unit, scope);
      }
    }
  }

  int UnitOf(LoweredNodeId node, RegionId scope) const {
    if (region_of_[node] == scope) return node;
    return -1 - Child(scope, region_of_[node]);
  }

  bool IsReadBy(int unit, const std::set<int>& left, RegionId scope) const {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const LoweredNode& node = graph_.nodes[n];
      if (node.role != Role::kForward || node.is_reorder) continue;
      if (!Within(region_of_[n], scope)) continue;
      const int reader = UnitOf(static_cast<LoweredNodeId>(n), scope);
      if (reader == unit || left.count(reader) == 0) continue;
      for (const LoweredValueId v : node.in) {
        const LoweredNodeId p = Producer(Root(v));
        if (p >= 0 && Within(region_of_[p], scope) &&
            UnitOf(p, scope) == unit) {
          return true;
        }
      }
    }
    return false;
  }

  bool IsForwardValue(LoweredValueId v) const {
    const LoweredNodeId p = Producer(Root(v));
    return p < 0 || graph_.nodes[p].role == Role::kForward;
  }

  void ReadForGradients(LoweredNodeId forward, RegionId scope) {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const LoweredNode& node = graph_.nodes[n];
      if (node.role != Role::kBackward || node.is_reorder) continue;
      if (step_.nodes[node.logical[0]].origin !=
          graph_.nodes[forward].logical[0]) {
        continue;
      }
      for (size_t i = 0; i < node.in.size(); ++i) {
        if (!IsForwardValue(node.in[i])) continue;
        meaning_.providers[{kFirstRun, static_cast<LoweredNodeId>(n), i}] =
            Ask(scope, Root(node.in[i]));
      }
    }
  }

  // A reader that lies loose in `scope` asks for a content.
  RegionId Ask(RegionId scope, LoweredValueId v) {
    const LoweredNodeId p = Producer(v);
    if (p >= 0 && Wish(v) == Keep::kMustRecompute) {
      const RegionId child = Child(scope, region_of_[p]);
      if (child != kNoRegion) {
        promised_[child].insert(v);
        return child;
      }
    }
    has_[scope].insert(v);
    if (scope == kNoRegion) {
      meaning_.residuals.insert(v);
      return kNoRegion;
    }
    return Need(scope, v);
  }

  // The backward pass of `region`'s contents needs a content.
  RegionId Need(RegionId region, LoweredValueId v) {
    if (replayed_[region].count(v) > 0) return region;
    const RegionId around = parent_[region];
    const LoweredNodeId p = Producer(v);
    const bool inside = p >= 0 && Within(region_of_[p], region);
    if (!inside || has_[around].count(v) > 0 || Keepable(region, v)) {
      return Ask(around, v);
    }
    return Replay(region, v);
  }

  RegionId Replay(RegionId region, LoweredValueId v) {
    if (!replayed_[region].insert(v).second) return region;
    const LoweredNodeId p = Producer(v);
    meaning_.replays.insert({region, p});
    for (size_t i = 0; i < graph_.nodes[p].in.size(); ++i) {
      meaning_.providers[{region, p, i}] =
          Need(region, Root(graph_.nodes[p].in[i]));
    }
    return region;
  }

  const Graph& step_;
  const LoweredGraph& graph_;
  std::mt19937_64 random_;
  std::vector<RegionId> parent_;
  std::vector<Policy> policy_;
  std::vector<RegionId> region_of_;
  std::map<RegionId, std::set<LoweredValueId>> has_;       // by scope
  std::map<RegionId, std::set<LoweredValueId>> replayed_;  // by region
  std::map<RegionId, std::set<LoweredValueId>> promised_;  // to those outside
  Meaning meaning_;
};

// The content behind a reorder that somebody made of it.
InstanceId Original(const LoweredGraph& graph, const TaskGraph& tasks,
                    InstanceId i) {
  while (tasks.instances[i].producer >= 0) {
    const Task& task = tasks.tasks[tasks.instances[i].producer];
    if (!graph.nodes[task.node].is_reorder) break;
    i = task.in[0];
  }
  return i;
}

Meaning MeaningOf(const LoweredGraph& graph, const Regions& regions,
                  const Resolution& resolution) {
  Meaning meaning;
  const TaskGraph& tasks = resolution.tasks;
  for (const Task& task : tasks.tasks) {
    const LoweredNode& node = graph.nodes[task.node];
    if (node.is_reorder) continue;
    if (!task.replay && node.role != Role::kBackward) continue;
    if (task.replay) meaning.replays.insert({task.region, task.node});
    for (size_t i = 0; i < task.in.size(); ++i) {
      if (!regions.IsForwardValue(node.in[i])) continue;
      const InstanceId content = Original(graph, tasks, task.in[i]);
      const TaskId producer = tasks.instances[content].producer;
      const bool replayed = producer >= 0 && tasks.tasks[producer].replay;
      meaning.providers[{task.replay ? task.region : kFirstRun, task.node, i}] =
          replayed ? tasks.tasks[producer].region : kNoRegion;
      if (!replayed) meaning.residuals.insert(content);
    }
  }
  return meaning;
}

// Counts kinds of policies, within others too.
void CountPolicy(const Policy& policy, std::map<std::string, int>& drawn) {
  const std::string text = ToString(policy);
  ++drawn[text.substr(0, text.find('{'))];
  for (const Policy& one : policy.any_of) CountPolicy(one, drawn);
}

TEST(RandomAnnotationTest, AThousandMatchTheExecutedDefinition) {
  std::map<std::string, int> drawn;
  int with_nesting = 0;
  size_t replays = 0;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    RandomLoweredOptions options;
    options.num_forward = 3 + static_cast<int>(seed % 20);
    const LoweredBuilder b = RandomLowered(seed, options);
    const absl::StatusOr<Regions> regions =
        Regions::Create(b.step(), b.graph());
    ASSERT_TRUE(regions.ok()) << "seed " << seed << ": " << regions.status();
    const Meaning got = MeaningOf(b.graph(), *regions, regions->Resolve());
    const Meaning want = Model(b, seed).Run();
    ASSERT_EQ(got.residuals, want.residuals) << "seed " << seed;
    ASSERT_EQ(got.replays, want.replays) << "seed " << seed;
    ASSERT_EQ(got.providers, want.providers) << "seed " << seed;
    replays += want.replays.size();
    for (const Region& r : b.step().regions) CountPolicy(r.policy, drawn);
    for (const auto& [value, keep] : b.step().annotations) {
      ++drawn[keep == Keep::kMustSave ? "must_save" : "must_recompute"];
    }
    for (const Region& r : b.step().regions) {
      if (r.parent != kNoRegion) {
        ++with_nesting;
        break;
      }
    }
  }
  EXPECT_GT(with_nesting, 400);
  EXPECT_GT(replays, 2000u);
  std::cout << "drawn:";
  for (const auto& [what, count] : drawn) {
    std::cout << " " << what << "=" << count;
  }
  std::cout << "\n";
  for (const char* what :
       {"save_nothing", "save_everything", "save_matmuls",
        "save_matmuls_without_batch_dims", "save_names", "save_all_but_names",
        "save_ops", "any_of", "must_save", "must_recompute"}) {
    EXPECT_GT(drawn[what], 100) << what;
  }
}

// Two units that do not depend on each other may be taken in either order.
TEST(RandomAnnotationTest, TheModelDoesNotDependOnTheOrderOfUnits) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const LoweredBuilder b = RandomLowered(seed, RandomLoweredOptions());
    const Meaning a = Model(b, 1).Run();
    const Meaning c = Model(b, 2).Run();
    EXPECT_EQ(a.residuals, c.residuals) << "seed " << seed;
    EXPECT_EQ(a.replays, c.replays) << "seed " << seed;
  }
}

}  // namespace
}  // namespace reprise
