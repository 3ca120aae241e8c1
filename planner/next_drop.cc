// Each candidate is tried: what runs again is put into the sequence, and the
// memory model judges the result. Candidates come in the order of the least
// cost per byte that they could have, so that the first ones settle it.
//
// Tested by tests/planner/next_drop_test.cc.

#include "planner/next_drop.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "planner/remat/remat_model.h"

namespace reprise {
namespace {

// Generations of inputs that are computed again for one value.
constexpr int kMostGenerations = 8;

class DropSearch {
 public:
  DropSearch(const RematGraph& graph, absl::Span<const int32_t> runs,
             int64_t max_work)
      : model_(graph), evaluator_(model_), runs_(runs), work_left_(max_work) {}

  absl::optional<Drop> Run() {
    if (runs_.empty()) return absl::nullopt;
    peak_bytes_ = evaluator_.PeakBytes(runs_);
    const absl::Span<const int64_t> live = evaluator_.live();
    peak_step_ = static_cast<int32_t>(
        std::find(live.begin(), live.end(), peak_bytes_) - live.begin());
    peak_is_shared_ = std::count(live.begin(), live.end(), peak_bytes_) > 1;
    LookAround();
    for (const Candidate& candidate : Candidates()) {
      if (best_.has_value() && candidate.least_ratio > Ratio(*best_)) break;
      if (!Try(candidate.value)) break;
    }
    return std::move(best_);
  }

 private:
  struct Candidate {
    int32_t value = -1;
    double least_ratio = 0;  // cost per byte
  };

  static double Ratio(const Drop& drop) {
    return static_cast<double>(drop.added_cost) /
           static_cast<double>(drop.bytes);
  }

  // Finds what is there at the peak step, and who reads it next.
  void LookAround() {
    first_run_.assign(model_.num_nodes, static_cast<int32_t>(runs_.size()));
    for (size_t i = runs_.size(); i-- > 0;) {
      first_run_[runs_[i]] = static_cast<int32_t>(i);
    }
    next_read_.assign(model_.num_values, -1);
    there_.assign(model_.num_values, false);
    std::vector<bool> settled(model_.num_values, false);
    for (size_t i = peak_step_ + 1; i < runs_.size(); ++i) {
      for (const int32_t v : model_.in[runs_[i]]) {
        if (!settled[v]) next_read_[v] = static_cast<int32_t>(i);
        settled[v] = true;
      }
      for (const int32_t v : model_.out[runs_[i]]) settled[v] = true;
    }
    for (int32_t v = 0; v < model_.num_values; ++v) {
      there_[v] = next_read_[v] >= 0 || (model_.is_result[v] && !settled[v]);
    }
    at_peak_.assign(model_.num_values, false);
    for (const int32_t v : model_.in[runs_[peak_step_]]) at_peak_[v] = true;
    for (const int32_t v : model_.out[runs_[peak_step_]]) at_peak_[v] = true;
  }

  bool LivesAcross(int32_t v) const { return there_[v] && !at_peak_[v]; }

  std::vector<Candidate> Candidates() const {
    std::vector<Candidate> candidates;
    for (int32_t v = 0; v < model_.num_values; ++v) {
      if (!LivesAcross(v) || next_read_[v] < 0) continue;
      const int32_t producer = model_.producer[v];
      if (producer < 0 || !model_.can_repeat[producer]) continue;
      // One that has not run yet writes the value after the peak.
      if (first_run_[producer] > peak_step_) continue;
      int64_t bytes = 0;
      for (const int32_t out : model_.out[producer]) {
        if (LivesAcross(out)) bytes += model_.bytes[out];
      }
      Candidate candidate;
      candidate.value = v;
      candidate.least_ratio = static_cast<double>(model_.cost[producer]) /
                              static_cast<double>(bytes);
      candidates.push_back(candidate);
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) {
                       return a.least_ratio < b.least_ratio;
                     });
    return candidates;
  }

  // Tries one value with each number of generations. False: out of work.
  bool Try(int32_t value) {
    const int32_t at = next_read_[value];
    std::vector<int32_t> repeated = {model_.producer[value]};
    for (int g = 0; g < kMostGenerations; ++g) {
      const bool legal =
          std::all_of(repeated.begin(), repeated.end(), [&](int32_t n) {
            const int32_t limit = model_.deadline[n];
            return limit >= model_.num_nodes || first_run_[limit] >= at;
          });
      if (!legal) return true;
      work_left_ -= model_.num_operands;
      if (work_left_ < 0) return false;
      Judge(value, at, repeated);
      const size_t before = repeated.size();
      AddMakersOfWhatIsGone(at, repeated);
      if (repeated.size() == before) return true;
    }
    return true;
  }

  void Judge(int32_t value, int32_t at, const std::vector<int32_t>& repeated) {
    Drop drop;
    drop.value = value;
    for (const int32_t n : repeated) drop.added_cost += model_.cost[n];
    drop.runs.assign(runs_.begin(), runs_.end());
    drop.runs.insert(drop.runs.begin() + at, repeated.begin(), repeated.end());
    drop.peak_bytes = evaluator_.PeakBytes(drop.runs);
    drop.bytes = peak_bytes_ - evaluator_.live()[peak_step_];
    if (drop.bytes <= 0 || drop.peak_bytes > peak_bytes_) return;
    if (drop.peak_bytes == peak_bytes_ && !peak_is_shared_) return;
    if (!best_.has_value() || Better(drop, *best_)) best_ = std::move(drop);
  }

  static bool Better(const Drop& a, const Drop& b) {
    if (Ratio(a) != Ratio(b)) return Ratio(a) < Ratio(b);
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return a.value < b.value;
  }

  // Adds the producers of those contents that `repeated` reads at `at` although
  // they are not there at the peak step.
  void AddMakersOfWhatIsGone(int32_t at, std::vector<int32_t>& repeated) const {
    std::vector<int32_t> makers;
    for (const int32_t n : repeated) {
      for (const int32_t v : model_.in[n]) {
        const int32_t producer = model_.producer[v];
        if (there_[v] || at_peak_[v] || producer < 0) continue;
        if (!model_.can_repeat[producer] || WrittenBetween(producer, at)) {
          continue;
        }
        makers.push_back(producer);
      }
    }
    repeated.insert(repeated.end(), makers.begin(), makers.end());
    std::sort(repeated.begin(), repeated.end(), [this](int32_t a, int32_t b) {
      return first_run_[a] < first_run_[b];
    });
    repeated.erase(std::unique(repeated.begin(), repeated.end()),
                   repeated.end());
  }

  // Whether a node runs after the peak step and before `at`.
  bool WrittenBetween(int32_t node, int32_t at) const {
    return std::find(runs_.begin() + peak_step_ + 1, runs_.begin() + at,
                     node) != runs_.begin() + at;
  }

  const RematModel model_;
  RunEvaluator evaluator_;
  const absl::Span<const int32_t> runs_;
  int64_t work_left_;
  int64_t peak_bytes_ = 0;
  int32_t peak_step_ = 0;
  bool peak_is_shared_ = false;
  std::vector<int32_t> first_run_;  // by node
  // By value: the first run after the peak step that reads the content that is
  // there then; -1: none.
  std::vector<int32_t> next_read_;
  std::vector<bool> there_;    // by value: something reads it after the peak
  std::vector<bool> at_peak_;  // by value: read or written by the peak step
  absl::optional<Drop> best_;
};

}  // namespace

absl::optional<Drop> FindNextDrop(const RematGraph& graph,
                                  absl::Span<const int32_t> runs,
                                  int64_t max_work) {
  return DropSearch(graph, runs, max_work).Run();
}

}  // namespace reprise
