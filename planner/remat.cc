#include "planner/remat.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "planner/remat_anneal.h"
#include "planner/remat_edit.h"
#include "planner/remat_exact.h"
#include "planner/remat_greedy.h"
#include "planner/remat_insertion.h"
#include "planner/remat_model.h"
#include "planner/remat_timeline.h"

namespace reprise {
namespace {

// Graphs of so many nodes are searched exhaustively before all else.
constexpr int32_t kSmall = 24;
constexpr int64_t kSmallWork = 500'000'000;
constexpr int64_t kMaxStates = 4'000'000;

class Portfolio {
 public:
  Portfolio(const RematModel& model, const RematOptions& options)
      : model_(model), options_(options), evaluator_(model) {}

  absl::optional<RematResult> Run() {
    if (model_.working_set_bytes > options_.budget_bytes) return absl::nullopt;
    Offer(FirstRunsOnly(model_), "all kept");
    for (const RematSchedule& known : options_.known) {
      Offer(known.runs, "known");
    }
    if (IsFree()) return best_;
    if (model_.num_nodes <= kSmall && Exact(kSmallWork)) return best_;
    Insertion();
    OfflineGreedy();
    if (IsFree()) return best_;
    if (best_.has_value() && Exact(work_left() / 4)) {
      return best_;
    }
    LocalSearch();
    IsFree();
    return best_;
  }

 private:
  // Takes `runs` if they fit and are cheaper than what is known.
  void Offer(std::vector<int32_t> runs, const char* method) {
    RematSchedule schedule = evaluator_.Schedule(std::move(runs));
    if (schedule.peak_bytes > options_.budget_bytes) return;
    if (best_.has_value() &&
        std::make_pair(schedule.added_cost, schedule.peak_bytes) >=
            std::make_pair(best_->schedule.added_cost,
                           best_->schedule.peak_bytes)) {
      return;
    }
    best_.emplace();
    best_->schedule = std::move(schedule);
    best_->method = method;
  }

  int64_t work_left() const {
    return std::max<int64_t>(options_.work_limit - work_, 0);
  }

  // Whether the best adds nothing; then there is nothing to prove.
  bool IsFree() {
    if (!best_.has_value() || best_->schedule.added_cost > 0) return false;
    best_->proven = true;
    return true;
  }

  // Returns whether the best is proven now, or that there is none.
  bool Exact(int64_t work_limit) {
    if (!CanSearchExactly(model_, options_.fixed_order)) return false;
    ExactOptions exact;
    exact.budget_bytes = options_.budget_bytes;
    exact.fixed_order = options_.fixed_order;
    exact.max_states = kMaxStates;
    exact.work_limit = work_limit;
    if (best_.has_value()) exact.below_added_cost = best_->schedule.added_cost;
    ExactResult result = ExactRuns(model_, exact);
    work_ += result.work;
    if (result.runs.has_value()) Offer(*std::move(result.runs), "exhaustive");
    if (best_.has_value()) best_->proven = result.complete;
    return result.complete;
  }

  void LocalSearch() {
    AnnealOptions anneal;
    anneal.budget_bytes = options_.budget_bytes;
    anneal.work_limit = work_left();
    const absl::optional<std::vector<int32_t>> found =
        Anneal(model_,
               best_.has_value() ? best_->schedule.runs : FirstRunsOnly(model_),
               anneal);
    work_ += anneal.work_limit;
    if (found.has_value()) Offer(*found, "local search");
  }

  void Insertion() {
    std::vector<std::vector<int32_t>> starts = {FirstRunsOnly(model_)};
    for (const RematSchedule& known : options_.known) {
      starts.push_back(known.runs);
    }
    for (const std::vector<int32_t>& start : starts) {
      Timeline timeline(model_, start, options_.budget_bytes);
      RematEdit edit(timeline);
      if (InsertUntilFits(edit, /*noise=*/0, work_left() / 4)) {
        Prune(edit);
        Offer(timeline.Runs(), "insertion");
      }
      work_ += timeline.work();
    }
  }

  void OfflineGreedy() {
    for (const double distance : {1.0, 0.5, 2.0, 0.0}) {
      for (const bool operands : {false, true}) {
        GreedyOptions greedy;
        greedy.distance_power = distance;
        greedy.with_evicted_operands = operands;
        absl::optional<std::vector<int32_t>> runs =
            GreedyRuns(model_, options_.budget_bytes, greedy,
                       100 * static_cast<int64_t>(model_.num_nodes), &work_);
        if (!runs.has_value()) continue;
        Timeline timeline(model_, *runs, options_.budget_bytes);
        RematEdit edit(timeline);
        Prune(edit);
        Offer(timeline.Runs(), "greedy");
        work_ += timeline.work();
      }
    }
  }

  const RematModel& model_;
  const RematOptions& options_;
  RunEvaluator evaluator_;
  absl::optional<RematResult> best_;
  int64_t work_ = 0;
};

}  // namespace

RematSchedule EvaluateRuns(const RematGraph& graph,
                           absl::Span<const int32_t> runs) {
  const RematModel model(graph);
  return RunEvaluator(model).Schedule({runs.begin(), runs.end()});
}

absl::optional<RematResult> Rematerialize(const RematGraph& graph,
                                          const RematOptions& options) {
  const RematModel model(graph);
  return Portfolio(model, options).Run();
}

RematResult LeastPeak(const RematGraph& graph, const RematOptions& options) {
  const RematModel model(graph);
  RunEvaluator evaluator(model);
  RematResult best;
  best.method = "all kept";
  best.schedule = evaluator.Schedule(FirstRunsOnly(model));
  for (const RematSchedule& known : options.known) {
    if (std::make_pair(known.peak_bytes, known.added_cost) <
        std::make_pair(best.schedule.peak_bytes, best.schedule.added_cost)) {
      best.schedule = known;
      best.method = "known";
    }
  }
  // The least budget for which something is found, by bisection.
  int64_t low = model.working_set_bytes;  // nothing lies below
  while (low < best.schedule.peak_bytes) {
    RematOptions probe = options;
    probe.budget_bytes = low + (best.schedule.peak_bytes - low) / 2;
    if (probe.budget_bytes == best.schedule.peak_bytes) break;
    absl::optional<RematResult> found = Portfolio(model, probe).Run();
    if (found.has_value()) {
      best = *std::move(found);
    } else {
      low = probe.budget_bytes + 1;
    }
  }
  return best;
}

}  // namespace reprise
