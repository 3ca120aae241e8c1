// What checkpoint regions mean: which forward values are held for the backward
// pass, and which nodes run again.

#ifndef PLANNER_REGIONS_H_
#define PLANNER_REGIONS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/graph.h"
#include "core/lowered_graph.h"
#include "planner/task_graph.h"

namespace reprise {

// A graph with its annotations resolved.
struct Resolution {
  TaskGraph tasks;  // replays read and write instances of their own

  // For each lowered value: the outermost region whose policy lets it be kept;
  // kNoRegion: no policy was asked, or none allowed it.
  std::vector<RegionId> kept_by;

  // Annotations of values that change nothing, one sentence each.
  std::vector<std::string> notes;
};

// The regions of one graph, prepared so that they can be resolved several
// times under different policies.
class Regions {
 public:
  // Both graphs must outlive the result.
  //
  //   errors: InvalidArgument naming the value if must_save and must_recompute
  //           meet, or if what must be recomputed cannot be (no node computes
  //           it, or one that may not run twice); naming the regions if they
  //           need each other's results.
  static absl::StatusOr<Regions> Create(const Graph& step_graph,
                                        const LoweredGraph& graph);

  // Returns the graph with replays.
  //
  //   keep_all: a region whose policy is taken to be save_everything;
  //             kNoRegion: none.
  Resolution Resolve(RegionId keep_all = kNoRegion) const;

  // Returns the innermost region of what a node computes (of a backward node:
  // of what it differentiates); kNoRegion: none.
  RegionId region_of(LoweredNodeId node) const { return region_of_[node]; }

  // Returns whether no annotation binds the runs of a node, so that the planner
  // may repeat it: it is pure, lies in no regions but `auto` ones (which
  // backward nodes always do: they are in none), and no result of it is a
  // must_save or must_recompute value.
  bool IsFree(LoweredNodeId node) const;

  // Returns whether `inner` is `outer` or lies inside it; everything lies
  // inside kNoRegion.
  bool Inside(RegionId inner, RegionId outer) const;

  // Returns whether a value is there before the backward pass: an input, a
  // persistent value, or the result of a forward node; copies count as what
  // they copy.
  bool IsForwardValue(LoweredValueId value) const;

 private:
  friend class RegionResolver;

  // What an annotation of a value asks for.
  enum class Wish : uint8_t { kNone, kMustSave, kMustRecompute };

  Regions(const Graph& step_graph, const LoweredGraph& graph)
      : step_(step_graph), graph_(graph) {}

  absl::Status Prepare();
  void PlaceNodes(bool joined_nodes_go_outwards);
  absl::Status ReadAnnotations();
  void AddImplicitRegions();
  void NumberRegions();
  void GatherCarried();
  // Sets `children_`; returns the regions of a cycle, empty if there is none.
  std::vector<RegionId> OrderChildren();
  std::vector<RegionId> OrderChildrenOf(
      int32_t scope_number,
      const std::vector<std::pair<int32_t, int32_t>>& edges);
  void FindBackwardReads();
  RegionId CommonRegion(RegionId a, RegionId b) const;
  RegionId ChildTowards(RegionId scope, RegionId inner) const;

  // Scopes: regions, and one more for the whole graph.
  int32_t scope(RegionId region) const {
    return region == kNoRegion ? num_regions() : region;
  }
  int32_t num_regions() const { return static_cast<int32_t>(parent_.size()); }

  LoweredValueId root(LoweredValueId v) const {
    return graph_.values[v].copy_of;
  }

  const Graph& step_;
  const LoweredGraph& graph_;

  // By region: those of the step graph, then an implicit one for each producer
  // of a must_recompute value that lies in no region.
  std::vector<RegionId> parent_;
  std::vector<int32_t> depth_;
  std::vector<int32_t> enter_;  // of a walk through the tree of regions
  std::vector<int32_t> leave_;

  // By scope: child regions, those that need others' results first.
  std::vector<std::vector<RegionId>> children_;
  std::vector<RegionId> inside_out_;  // every region after those inside it

  std::vector<RegionId> step_region_;  // by step graph node
  std::vector<RegionId> region_of_;    // by lowered node

  // By scope: forward values that the backward nodes of its loose nodes read.
  std::vector<std::vector<LoweredValueId>> backward_reads_;

  // By lowered value that is no copy: step graph values that it or a copy of it
  // holds.
  std::vector<std::vector<ValueId>> carried_;

  std::vector<Wish> wish_;  // by lowered value
  // By lowered value: the step graph value that carries the wish.
  std::vector<ValueId> wished_for_;
};

}  // namespace reprise

#endif  // PLANNER_REGIONS_H_
