// Targets lie at equal distances between the first height and the lowest peak
// that the search can reach. Each target is searched for in turn, starting from
// the schedule of the last one and from the one of lowest peak, so that there
// always is a schedule to improve.

#include "planner/trajectory.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/types/optional.h"
#include "planner/remat/remat.h"

namespace reprise {
namespace {

// Targets of a small graph. A graph of `kManyNodes` tasks or more gets as few
// as `kFewestTargets`: the search is what takes time there.
constexpr int64_t kMostTargets = 48;
constexpr int64_t kFewestTargets = 6;
constexpr int64_t kManyNodes = 60'000;

// How often fragmentation may send a search back with a lower target.
constexpr int kPlacementTries = 4;

// Parts of the work of one placement: for a schedule that may not be kept, and
// for one that is.
constexpr int64_t kShareOfTry = 20;
constexpr int64_t kShareOfKept = 4;

int64_t NumTargets(int64_t num_nodes) {
  const int64_t affordable = kManyNodes * kFewestTargets / (num_nodes + 1);
  return std::min(kMostTargets, std::max(kFewestTargets, affordable));
}

class TrajectorySearch {
 public:
  TrajectorySearch(const LoweredGraph& graph, const Regions& regions,
                   const TaskGraph& tasks, absl::Span<const TaskId> order,
                   const TrajectoryOptions& options)
      : graph_(graph),
        regions_(regions),
        tasks_(tasks),
        order_(order),
        options_(options),
        problem_(ToRematGraph(graph, regions, tasks, order, options.liveness)) {
  }

  std::vector<PlacedSchedule> Run(const PlacedSchedule& first) {
    found_.push_back(first);
    const bool nothing_may_repeat =
        std::none_of(problem_.nodes.begin(), problem_.nodes.end(),
                     [](const RematNode& node) { return node.may_repeat; });
    if (nothing_may_repeat) return std::move(found_);
    const int64_t num_targets =
        NumTargets(static_cast<int64_t>(problem_.nodes.size()));
    RematOptions remat;
    // The lowest peak decides which budgets can be met at all, so the search
    // for it gets the work of several.
    remat.work_limit = options_.max_remat_work / 4;
    const RematResult lowest = LeastPeak(problem_, remat);
    remat.work_limit = options_.max_remat_work * 3 / 4 / num_targets;
    const int64_t span = first.placement.height - lowest.schedule.peak_bytes;
    RematSchedule last = EvaluateRuns(problem_, first.runs);
    for (int64_t t = 1; t < num_targets && span > 0; ++t) {
      const int64_t target =
          std::min(first.placement.height - span * t / num_targets,
                   found_.back().placement.height - 1);
      if (target < lowest.schedule.peak_bytes) break;
      remat.known = {last, lowest.schedule};
      Search(target, remat, last);
    }
    if (span > 0) Add(lowest.schedule, lowest.method, 0);
    return Tighten(CheaperIsLarger());
  }

 private:
  // Looks for a schedule that can be placed within `target`; keeps what is
  // lower than everything before.
  void Search(int64_t target, RematOptions& remat, RematSchedule& last) {
    remat.budget_bytes = target;
    for (int i = 0; i < kPlacementTries; ++i) {
      absl::optional<RematResult> result = Rematerialize(problem_, remat);
      if (!result.has_value()) return;
      last = result->schedule;
      const int64_t height = Add(result->schedule, result->method, target);
      if (height <= target) return;
      remat.budget_bytes -= height - target;
    }
  }

  // Places a schedule and keeps it if it is lower than the last one kept.
  // Returns its height.
  int64_t Add(const RematSchedule& schedule, const std::string& method,
              int64_t capacity) {
    PlacedSchedule placed;
    placed.runs = schedule.runs;
    placed.added_cost = schedule.added_cost;
    placed.method = method;
    placed.peak_bytes = schedule.peak_bytes;
    PlacementOptions options = options_.placement;
    options.capacity_bytes = capacity;
    options.max_search_work /= kShareOfTry;
    placed.placement = Place(placed.runs, options);
    const int64_t height = placed.placement.height;
    if (height < found_.back().placement.height) {
      found_.push_back(std::move(placed));
    }
    return height;
  }

  Placement Place(absl::Span<const int32_t> runs,
                  const PlacementOptions& options) const {
    return PlaceSequence(graph_,
                         WithRecomputes(graph_, regions_, tasks_, order_, runs),
                         options_.liveness, options);
  }

  // Spends more on the placements that do not meet their bound, and leaves out
  // what is no lower than a cheaper one then.
  std::vector<PlacedSchedule> Tighten(
      std::vector<PlacedSchedule> schedules) const {
    PlacementOptions options = options_.placement;
    options.max_search_work /= kShareOfKept;
    std::vector<PlacedSchedule> lower;
    for (PlacedSchedule& schedule : schedules) {
      if (!schedule.placement.proven && !lower.empty()) {
        Placement tighter = Place(schedule.runs, options);
        if (tighter.height < schedule.placement.height) {
          schedule.placement = std::move(tighter);
        }
      }
      if (lower.empty() ||
          schedule.placement.height < lower.back().placement.height) {
        lower.push_back(std::move(schedule));
      }
    }
    return lower;
  }

  // A schedule that costs no less than a lower one is of no use.
  std::vector<PlacedSchedule> CheaperIsLarger() {
    std::vector<PlacedSchedule> kept;
    for (size_t i = found_.size(); i-- > 0;) {
      const bool useful =
          kept.empty() || found_[i].added_cost < kept.back().added_cost;
      // The first stays what it is: the plan without a budget.
      if (useful || i == 0) kept.push_back(std::move(found_[i]));
    }
    std::reverse(kept.begin(), kept.end());
    return kept;
  }

  const LoweredGraph& graph_;
  const Regions& regions_;
  const TaskGraph& tasks_;
  const absl::Span<const TaskId> order_;
  const TrajectoryOptions& options_;
  const RematGraph problem_;
  std::vector<PlacedSchedule> found_;  // of falling height
};

}  // namespace

Placement PlaceSequence(const LoweredGraph& graph, const TaskSequence& sequence,
                        const LivenessOptions& liveness,
                        const PlacementOptions& options) {
  return PlaceBuffers(
      ComputeLiveness(graph, sequence.tasks, sequence.order, liveness).buffers,
      options);
}

std::vector<PlacedSchedule> MakeTrajectory(const LoweredGraph& graph,
                                           const Regions& regions,
                                           const TaskGraph& tasks,
                                           absl::Span<const TaskId> order,
                                           const PlacedSchedule& first,
                                           const TrajectoryOptions& options) {
  return TrajectorySearch(graph, regions, tasks, order, options).Run(first);
}

}  // namespace reprise
