#include "planner/remat/remat.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "planner/remat/remat_anneal.h"
#include "planner/remat/remat_chain.h"
#include "planner/remat/remat_edit.h"
#include "planner/remat/remat_exact.h"
#include "planner/remat/remat_greedy.h"
#include "planner/remat/remat_insertion.h"
#include "planner/remat/remat_lower_sets.h"
#include "planner/remat/remat_model.h"
#include "planner/remat/remat_timeline.h"

namespace reprise {
namespace {

// Graphs of so many nodes are searched exhaustively before all else.
constexpr int32_t kSmall = 24;
// Larger graphs are not looked at as a whole for each repeat.
constexpr int32_t kLarge = 3000;
// Budgets that LeastPeak tries, about.
constexpr int64_t kProbes = 10;
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
    if (model_.num_nodes <= kSmall && Exact(options_.work_limit / 2))
      return best_;
    Chain();
    LowerSets();
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

  // Long detours are for small graphs only.
  int64_t MaxRuns() const {
    const int64_t n = model_.num_nodes;
    return n > kLarge ? 8 * n : 100 * n;
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

  void Chain() {
    ChainOptions options;
    options.budget_bytes = options_.budget_bytes;
    options.recognise_equal_blocks = options_.recognise_equal_blocks;
    const ChainProgram program(model_, options);
    if (program.is_chain()) OfferMost(program, options.max_slots, "chain");
    work_ += program.work();
  }

  void LowerSets() {
    LowerSetOptions options;
    options.budget_bytes = options_.budget_bytes;
    options.work_limit = options_.work_limit / 4;
    const LowerSetProgram program(model_, options);
    const int64_t before = work_;
    if (program.has_sets()) OfferMost(program, options.max_slots, "lower sets");
    // What follows searches as far as without it.
    work_ = before;
  }

  // A program's idea of memory is not the model's: by bisection, the most that
  // it may believe to have.
  template <typename Program>
  void OfferMost(const Program& program, int32_t max_slots,
                 const char* method) {
    std::vector<int32_t> most;
    int32_t fits = -1;
    int32_t exceeds = max_slots + 1;
    while (fits + 1 < exceeds) {
      const int32_t slots = fits + (exceeds - fits) / 2;
      std::vector<int32_t> runs =
          WithoutUnreadRepeats(model_, program.Runs(slots));
      work_ += model_.num_operands;
      if (evaluator_.PeakBytes(runs) <= options_.budget_bytes) {
        fits = slots;
        if (!runs.empty()) most = std::move(runs);
      } else {
        exceeds = slots;
      }
    }
    if (!most.empty()) Offer(Pruned(most), method);
  }

  // Short and cool, then hot, then cool again: which of them finds most differs
  // from graph to graph.
  void LocalSearch() {
    const double temperatures[] = {0.3, 1, 0.3};
    int left = 3;
    for (const double temperature : temperatures) {
      AnnealOptions anneal;
      anneal.budget_bytes = options_.budget_bytes;
      anneal.work_limit = work_left() / left;
      anneal.seed = static_cast<uint64_t>(left);
      anneal.start_temperature = temperature;
      --left;
      const absl::optional<std::vector<int32_t>> found = Anneal(
          model_,
          best_.has_value() ? best_->schedule.runs : FirstRunsOnly(model_),
          anneal);
      work_ += anneal.work_limit;
      if (found.has_value()) Offer(Pruned(*found), "local search");
    }
  }

  void Insertion() {
    InsertFrom(FirstRunsOnly(model_));
    // Of what is known, what exceeds the budget least.
    const RematSchedule* nearest = nullptr;
    for (const RematSchedule& known : options_.known) {
      if (known.peak_bytes <= options_.budget_bytes) continue;
      if (nearest == nullptr || known.peak_bytes < nearest->peak_bytes) {
        nearest = &known;
      }
    }
    if (nearest != nullptr) InsertFrom(nearest->runs);
  }

  void InsertFrom(const std::vector<int32_t>& start) {
    if (model_.num_nodes > kLarge) {
      const absl::optional<std::vector<int32_t>> runs =
          InsertInRounds(model_, start, options_.budget_bytes, &work_);
      if (runs.has_value()) Offer(Pruned(*runs), "insertion");
      return;
    }
    Timeline timeline(model_, start, options_.budget_bytes);
    RematEdit edit(timeline);
    const bool fits =
        InsertUntilFits(edit, /*noise=*/0, options_.work_limit / 4);
    work_ += timeline.work();
    if (fits) Offer(Pruned(timeline.Runs()), "insertion");
  }

  std::vector<int32_t> Pruned(const std::vector<int32_t>& runs) {
    Timeline timeline(model_, runs, options_.budget_bytes);
    RematEdit edit(timeline);
    Prune(edit);
    work_ += timeline.work();
    return timeline.Runs();
  }

  void OfflineGreedy() {
    int tried = 0;
    for (const double distance : {1.0, 0.5, 2.0, 0.0}) {
      for (const bool operands : {false, true}) {
        // Without any schedule yet, the first two are tried at any rate.
        if (work_left() == 0 && (best_.has_value() || tried >= 2)) return;
        ++tried;
        GreedyOptions greedy;
        greedy.distance_power = distance;
        greedy.with_evicted_operands = operands;
        absl::optional<std::vector<int32_t>> runs = GreedyRuns(
            model_, options_.budget_bytes, greedy, MaxRuns(), &work_);
        if (!runs.has_value()) continue;
        Offer(Pruned(*runs), "greedy");
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
  RematOptions probe = options;
  probe.work_limit = options.work_limit / kProbes;
  const int64_t step = std::max<int64_t>(best.schedule.peak_bytes / 1024, 1);
  while (low + step <= best.schedule.peak_bytes) {
    probe.budget_bytes = low + (best.schedule.peak_bytes - low) / 2;
    absl::optional<RematResult> found = Portfolio(model, probe).Run();
    if (found.has_value()) {
      best = *std::move(found);
    } else {
      low = probe.budget_bytes + 1;
    }
  }
  // The search for a peak proves nothing about cost.
  best.proven = false;
  return best;
}

}  // namespace reprise
