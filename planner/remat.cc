#include "planner/remat.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "planner/remat_edit.h"
#include "planner/remat_greedy.h"
#include "planner/remat_insertion.h"
#include "planner/remat_model.h"
#include "planner/remat_timeline.h"

namespace reprise {
namespace {

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
    if (best_.has_value() && best_->schedule.added_cost == 0) return best_;
    Insertion();
    OfflineGreedy();
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

  void Insertion() {
    std::vector<std::vector<int32_t>> starts = {FirstRunsOnly(model_)};
    for (const RematSchedule& known : options_.known) {
      starts.push_back(known.runs);
    }
    for (const std::vector<int32_t>& start : starts) {
      Timeline timeline(model_, start, options_.budget_bytes);
      RematEdit edit(timeline);
      if (InsertUntilFits(edit, /*noise=*/0, options_.work_limit)) {
        Prune(edit);
        Offer(timeline.Runs(), "insertion");
      }
    }
  }

  void OfflineGreedy() {
    for (const double distance : {1.0, 0.5, 2.0, 0.0}) {
      for (const bool operands : {false, true}) {
        GreedyOptions greedy;
        greedy.distance_power = distance;
        greedy.with_evicted_operands = operands;
        int64_t work = 0;
        absl::optional<std::vector<int32_t>> runs =
            GreedyRuns(model_, options_.budget_bytes, greedy,
                       100 * static_cast<int64_t>(model_.num_nodes), &work);
        if (!runs.has_value()) continue;
        Timeline timeline(model_, *runs, options_.budget_bytes);
        RematEdit edit(timeline);
        Prune(edit);
        Offer(timeline.Runs(), "greedy");
      }
    }
  }

  const RematModel& model_;
  const RematOptions& options_;
  RunEvaluator evaluator_;
  absl::optional<RematResult> best_;
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
