// Rule 9 of checkpointing, for all levels of nesting in one search. An edge
// between two nodes is an edge between two units of one level: the innermost
// region that holds both nodes (or the whole graph) contains, of each, the
// node itself or the region of its own that the node is in.
//
//   outer { inner { a }  b }  c      a -> b is inner -> b, at outer's level;
//                                    a -> c is outer -> c, at the top
//
// Units of different levels have no edge between them, so the union of all
// levels is acyclic exactly if each level is.
// Tested by tests/core/load_rules_test.cc.

#include "core/load_regions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/graph_order.h"
#include "core/load_parts.h"
#include "core/names.h"

namespace reprise {
namespace {

std::string RegionWho(const std::string& name) {
  return absl::StrCat("region ", Quote(name));
}

// Fills in LoadedRegions::depths. A region on a cycle of parents, or nested
// too deep, loses its parent: the error has been reported.
void ReadDepths(LoadedRegions& loaded, ErrorList& errors) {
  std::vector<Region>& regions = loaded.regions;
  std::vector<int>& depths = loaded.depths;
  constexpr int kUnknown = 0;
  constexpr int kOnChain = -1;
  depths.assign(regions.size(), kUnknown);
  for (size_t r = 0; r < regions.size(); ++r) {
    std::vector<RegionId> chain;  // r, its parent, ..., the first without depth
    RegionId at = static_cast<RegionId>(r);
    while (at != kNoRegion && depths[at] == kUnknown) {
      depths[at] = kOnChain;
      chain.push_back(at);
      at = regions[at].parent;
    }
    if (at != kNoRegion && depths[at] == kOnChain) {
      const auto first = std::find(chain.begin(), chain.end(), at);
      const std::vector<RegionId> cycle(first, chain.end());
      errors.Add(absl::StrCat("regions must form a tree, got parents ",
                              CycleText(cycle, [&regions](int32_t i) {
                                return RegionWho(regions[i].name);
                              })));
      regions[chain.back()].parent = kNoRegion;
      at = kNoRegion;
    }
    int depth = at == kNoRegion ? 0 : depths[at];
    for (size_t i = chain.size(); i-- > 0;) {
      if (depth == kMaxRegionNesting) {
        errors.Add(absl::StrCat(RegionWho(regions[chain[i]].name),
                                ": regions are nested at most ",
                                kMaxRegionNesting, " deep"));
        regions[chain[i]].parent = kNoRegion;
        depth = 0;
      }
      depths[chain[i]] = ++depth;
    }
  }
}

}  // namespace

LoadedRegions ReadRegions(const proto::Graph& file, const OpTable& ops,
                          ErrorList& errors) {
  LoadedRegions loaded;
  for (const proto::Region& file_region : file.region()) {
    const std::string who = RegionWho(file_region.name());
    errors.AddIfError(who, CheckNoUnknownFields(file_region));
    errors.AddIfError(who, CheckName(file_region.name()));
    Region region;
    region.name = file_region.name();
    if (file_region.has_policy()) {
      absl::StatusOr<Policy> policy = ReadPolicy(file_region.policy(), ops);
      errors.AddIfError(who, policy.status());
      if (policy.ok()) region.policy = *std::move(policy);
    }
    const RegionId id = static_cast<RegionId>(loaded.regions.size());
    if (!loaded.by_name.emplace(region.name, id).second) {
      errors.Add(absl::StrCat(who, ": another region has this name"));
    }
    loaded.regions.push_back(std::move(region));
  }
  for (size_t r = 0; r < loaded.regions.size(); ++r) {
    const std::string& parent = file.region(static_cast<int>(r)).parent();
    if (parent.empty()) continue;
    const auto it = loaded.by_name.find(parent);
    if (it == loaded.by_name.end()) {
      errors.Add(absl::StrCat(RegionWho(loaded.regions[r].name),
                              ": unknown parent ", Quote(parent)));
    } else {
      loaded.regions[r].parent = it->second;
    }
  }
  ReadDepths(loaded, errors);
  return loaded;
}

void CheckRegionsAcyclic(const LoadedRegions& regions,
                         absl::Span<const RegionId> node_regions,
                         absl::Span<const std::pair<int32_t, int32_t>> reads,
                         const std::function<std::string(int32_t)>& node_who,
                         ErrorList& errors) {
  if (regions.regions.empty()) return;
  const int32_t num_nodes = static_cast<int32_t>(node_regions.size());
  const int32_t num_regions = static_cast<int32_t>(regions.regions.size());
  // A unit and the region (or kNoRegion) that it is a direct member of.
  struct Unit {
    int32_t id;
    RegionId level;
  };
  const auto depth = [&regions](const Unit& unit) {
    return unit.level == kNoRegion ? 0 : regions.depths[unit.level];
  };
  const auto climb = [&regions, num_nodes](Unit& unit) {
    unit.id = num_nodes + unit.level;
    unit.level = regions.regions[unit.level].parent;
  };
  std::vector<std::pair<int32_t, int32_t>> pairs;
  pairs.reserve(reads.size());
  for (const auto& [reader, producer] : reads) {
    Unit to = {reader, node_regions[reader]};
    Unit from = {producer, node_regions[producer]};
    while (depth(to) > depth(from)) climb(to);
    while (depth(from) > depth(to)) climb(from);
    while (to.level != from.level) {
      climb(to);
      climb(from);
    }
    pairs.emplace_back(to.id, from.id);
  }
  const Ordering ordering =
      OrderByDependencies(MakeDependencies(num_nodes + num_regions, pairs));
  for (const std::vector<int32_t>& cycle : ordering.cycles) {
    errors.Add(absl::StrCat(
        "regions, each taken as one node, and nodes must form no cycle, got ",
        CycleText(cycle, [&](int32_t unit) {
          return unit < num_nodes
                     ? node_who(unit)
                     : RegionWho(regions.regions[unit - num_nodes].name);
        })));
  }
}

std::string CycleText(absl::Span<const int32_t> cycle,
                      const std::function<std::string(int32_t)>& who) {
  constexpr size_t kShown = 6;
  std::string text;
  for (size_t i = 0; i < cycle.size(); ++i) {
    if (i == kShown && cycle.size() > kShown + 1) {
      absl::StrAppend(&text, "... (", cycle.size() - kShown, " more) -> ");
      break;
    }
    absl::StrAppend(&text, who(cycle[i]), " -> ");
  }
  return absl::StrCat(text, who(cycle[0]));
}

}  // namespace reprise
