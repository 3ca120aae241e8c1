// The regions of a model file: their tree, their policies, and the rule that
// each can be replayed as one.

#ifndef CORE_LOAD_REGIONS_H_
#define CORE_LOAD_REGIONS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/error_list.h"
#include "core/graph.h"
#include "core/op_table.h"
#include "proto/graph.pb.h"

namespace reprise {

// A region within a region within ...: at most so many.
inline constexpr int kMaxRegionNesting = 64;

struct LoadedRegions {
  std::vector<Region> regions;  // as in the file
  absl::flat_hash_map<std::string, RegionId> by_name;
  std::vector<int> depths;        // 1: no parent
  std::vector<RegionId> of_node;  // by node of the file
};

// Returns the file's regions; of a broken parent or policy, none. `of_node` is
// for the caller to fill.
LoadedRegions ReadRegions(const proto::Graph& file, const OpTable& ops,
                          ErrorList& errors);

// Reports regions that cannot be replayed as one: at every level of nesting,
// sibling regions, each taken as one node, and loose nodes must form no cycle.
//
//   node_regions: by node of the file, kNoRegion if loose.
//   reads:        (node, node whose result it reads).
//   node_who:     names a node of the file.
void CheckRegionsAcyclic(const LoadedRegions& regions,
                         absl::Span<const RegionId> node_regions,
                         absl::Span<const std::pair<int32_t, int32_t>> reads,
                         const std::function<std::string(int32_t)>& node_who,
                         ErrorList& errors);

// Returns e.g. "node 'a' -> node 'b' -> node 'a'", shortened if long.
std::string CycleText(absl::Span<const int32_t> cycle,
                      const std::function<std::string(int32_t)>& who);

}  // namespace reprise

#endif  // CORE_LOAD_REGIONS_H_
