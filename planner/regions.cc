// Prepares the regions of a graph: which nodes lie where, what annotations ask
// for, and in which order a scope's child regions are resolved. The rule itself
// is in planner/resolve.cc.
//
// Fusion may join nodes of several regions into one. Such a node lies in the
// innermost region around all of them: what a region would have to replay is
// then its input, and nothing gets worse.
//
// Tested by tests/planner/regions_test.cc.

#include "planner/regions.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status_macros.h"
#include "planner/policy.h"

namespace reprise {

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

bool Regions::IsFree(LoweredNodeId n) const {
  const LoweredNode& node = graph_.nodes[n];
  if (node.effect != Effect::kPure || !graph_.MustOverwrite(n).empty()) {
    return false;
  }
  for (const LoweredValueId v : node.out) {
    if (v >= 0 && !node.is_reorder && wish_[root(v)] != Wish::kNone) {
      return false;
    }
  }
  if (node.role != Role::kForward || node.is_reorder) return true;
  for (RegionId r = region_of_[n]; r != kNoRegion; r = parent_[r]) {
    const bool implicit = r >= static_cast<RegionId>(step_.regions.size());
    if (implicit || step_.regions[r].policy.kind != Policy::Kind::kAuto) {
      return false;
    }
  }
  return true;
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
        it = step_.annotations.find(PolicyLeader(step_, carried));
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

}  // namespace reprise
