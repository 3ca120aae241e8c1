#include "planner/remat/remat_insertion.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace reprise {
namespace {

constexpr size_t kMaxCandidates = 48;
// Fewer than the slots that MakeRoom makes.
constexpr size_t kMaxRepeats = 30;
constexpr double kKeepUpTo[] = {0, 0.75};

struct Candidate {
  int32_t node = -1;
  int32_t before = -1;  // slot of the next reader
  double keep_up_to = 0;
  double score = 0;
};

// The contents that lie over `slot`, neither written nor read there, that a
// repeat before their next reader could spare; the likeliest first.
std::vector<Candidate> ContentsOver(const Timeline& timeline, int32_t slot) {
  const RematModel& model = timeline.model();
  std::vector<Candidate> candidates;
  for (int32_t v = 0; v < model.num_values; ++v) {
    const int32_t producer = model.producer[v];
    if (producer < 0 || !model.can_repeat[producer]) continue;
    const int32_t write = timeline.PreviousRun(producer, slot + 1);
    if (write < 0 || write == slot) continue;
    const auto reads = timeline.reads_of(v);
    const auto next = std::lower_bound(reads.begin(), reads.end(), slot);
    if (next == reads.end() || *next == slot) continue;
    if (timeline.NextRun(producer, slot) < *next) continue;
    const int32_t last =
        next == reads.begin() ? write : std::max(write, *(next - 1));
    Candidate c;
    c.node = producer;
    c.before = *next;
    c.score = static_cast<double>(model.bytes[v]) * (*next - last) /
              static_cast<double>(model.cost[producer] + 1);
    candidates.push_back(c);
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) {
              return a.score != b.score ? a.score > b.score : a.node < b.node;
            });
  if (candidates.size() > kMaxCandidates) candidates.resize(kMaxCandidates);
  return candidates;
}

}  // namespace

bool InsertUntilFits(RematEdit& edit, double noise, int64_t work_limit) {
  Timeline& timeline = edit.timeline();
  while (timeline.Excess() > 0) {
    if (timeline.work() > work_limit) return false;
    const int32_t peak = timeline.PeakSlot();
    const double excess = timeline.Excess();
    const int64_t cost = timeline.added_cost();
    Candidate best;
    const auto judge = [&](Candidate c) {
      edit.keep_up_to = c.keep_up_to;
      if (edit.Repeat(c.node, c.before, kMaxRepeats)) {
        edit.RemoveReplaced();
        const double relief = excess - timeline.Excess();
        const double added = static_cast<double>(timeline.added_cost() - cost);
        c.score = relief <= 0 ? 0 : relief / std::max(added, 1e-3);
        if (noise > 0) c.score *= 1 + noise * edit.random->Unit();
        if (c.score > best.score) best = c;
      }
      edit.Undo();
    };
    for (Candidate& c : ContentsOver(timeline, peak)) {
      for (const double keep_up_to : kKeepUpTo) {
        c.keep_up_to = keep_up_to;
        judge(c);
      }
      if (edit.wants_room() >= 0) break;
    }
    if (edit.wants_room() >= 0) {
      edit.MakeRoom();  // slots change: look again
      continue;
    }
    if (best.node < 0) return false;
    edit.keep_up_to = best.keep_up_to;
    edit.Repeat(best.node, best.before, kMaxRepeats);
    edit.RemoveReplaced();
    edit.Keep();
    // Much room at many places makes every range longer.
    if (timeline.num_slots() > 16 * timeline.num_runs()) timeline.Spread(-1, 0);
  }
  return true;
}

void Prune(RematEdit& edit) {
  Timeline& timeline = edit.timeline();
  const RematModel& model = timeline.model();
  bool changed = true;
  while (changed) {
    changed = false;
    std::vector<std::pair<int64_t, int32_t>> repeats;  // (-cost, slot)
    for (int32_t s = 0; s < timeline.num_slots(); ++s) {
      if (timeline.node_at(s) >= 0 && timeline.is_repeat(s)) {
        repeats.emplace_back(-model.cost[timeline.node_at(s)], s);
      }
    }
    std::sort(repeats.begin(), repeats.end());
    for (const auto& [cost, slot] : repeats) {
      if (timeline.node_at(slot) < 0) continue;
      const double excess = timeline.Excess();
      edit.Remove(slot);
      if (timeline.Excess() <= excess) {
        edit.Keep();
        changed = true;
      } else {
        edit.Undo();
      }
    }
  }
}

namespace {

constexpr int kMaxRounds = 60;
constexpr size_t kMaxClosure = 24;

// Bytes above the budget per run, less what this round has relieved.
class Residual {
 public:
  explicit Residual(absl::Span<const int64_t> over) {
    while (leaves_ < over.size()) leaves_ *= 2;
    max_.assign(2 * leaves_, INT64_MIN / 2);
    added_.assign(2 * leaves_, 0);
    std::copy(over.begin(), over.end(),
              max_.begin() + static_cast<std::ptrdiff_t>(leaves_));
    for (size_t i = leaves_ - 1; i >= 1; --i) {
      max_[i] = std::max(max_[2 * i], max_[2 * i + 1]);
    }
  }

  // The most in [first, last].
  int64_t Max(int64_t first, int64_t last) const {
    int64_t most = INT64_MIN / 2;
    const auto above = [this](size_t i) {
      int64_t sum = 0;
      for (i /= 2; i >= 1; i /= 2) sum += added_[i];
      return sum;
    };
    size_t l = static_cast<size_t>(first) + leaves_;
    size_t r = static_cast<size_t>(last) + leaves_ + 1;
    for (; l < r; l /= 2, r /= 2) {
      if (l % 2 == 1) {
        most = std::max(most, max_[l] + above(l));
        ++l;
      }
      if (r % 2 == 1) {
        --r;
        most = std::max(most, max_[r] + above(r));
      }
    }
    return most;
  }

  void Add(int64_t first, int64_t last, int64_t bytes) {
    size_t l = static_cast<size_t>(first) + leaves_;
    size_t r = static_cast<size_t>(last) + leaves_ + 1;
    const size_t ends[] = {l, r - 1};
    for (; l < r; l /= 2, r /= 2) {
      if (l % 2 == 1) {
        added_[l] += bytes;
        max_[l++] += bytes;
      }
      if (r % 2 == 1) {
        added_[--r] += bytes;
        max_[r] += bytes;
      }
    }
    for (size_t i : ends) {
      for (i /= 2; i >= 1; i /= 2) {
        max_[i] = added_[i] + std::max(max_[2 * i], max_[2 * i + 1]);
      }
    }
  }

 private:
  size_t leaves_ = 1;
  std::vector<int64_t> max_;
  std::vector<int64_t> added_;
};

// One round of InsertInRounds.
class Round {
 public:
  Round(const RematModel& model, const std::vector<int32_t>& runs,
        absl::Span<const int64_t> live, int64_t budget_bytes)
      : model_(model), runs_(runs), over_(live.begin(), live.end()) {
    for (int64_t& bytes : over_) bytes -= budget_bytes;
  }

  // Returns the sequence with repeats added; as it was if there are none that
  // help.
  std::vector<int32_t> Run(int64_t* work) {
    FindReads();
    std::vector<Gap> gaps = FindGaps();
    std::sort(gaps.begin(), gaps.end(), [](const Gap& a, const Gap& b) {
      return a.score != b.score ? a.score > b.score : a.before < b.before;
    });
    Residual residual(over_);
    std::vector<std::pair<int64_t, int32_t>> inserted;  // (before, node)
    for (const Gap& gap : gaps) {
      if (residual.Max(gap.after + 1, gap.before - 1) <= 0) continue;
      const int64_t bytes = model_.bytes[gap.value];
      residual.Add(gap.after + 1, gap.before - 1, -bytes);
      if (!FindClosure(gap)) continue;
      for (const int32_t n : closure_) inserted.emplace_back(gap.before, n);
      *work += 64;
    }
    *work += 4 * model_.num_operands + static_cast<int64_t>(gaps.size()) * 20;
    // Node numbers are an order in which the repeats before one run can run.
    std::sort(inserted.begin(), inserted.end());
    inserted.erase(std::unique(inserted.begin(), inserted.end()),
                   inserted.end());
    std::vector<int32_t> result;
    result.reserve(runs_.size() + inserted.size());
    size_t next = 0;
    for (size_t i = 0; i < runs_.size(); ++i) {
      while (next < inserted.size() &&
             inserted[next].first == static_cast<int64_t>(i)) {
        result.push_back(inserted[next++].second);
      }
      result.push_back(runs_[i]);
    }
    return WithoutUnreadRepeats(model_, result);
  }

 private:
  // A content that nobody reads between two runs.
  struct Gap {
    int32_t value = -1;
    int64_t after = 0;   // the run that read or wrote it last
    int64_t before = 0;  // the run that reads it next
    double score = 0;
  };

  // For each value, where it is read or written.
  void FindReads() {
    events_.resize(model_.num_values);
    first_run_.assign(model_.num_nodes + 1, INT64_MAX);
    for (size_t i = 0; i < runs_.size(); ++i) {
      const int64_t at = static_cast<int64_t>(i);
      const int32_t n = runs_[i];
      if (first_run_[n] == INT64_MAX) first_run_[n] = at;
      for (const int32_t v : model_.in[n]) events_[v].emplace_back(at, false);
      for (const int32_t v : model_.out[n]) events_[v].emplace_back(at, true);
    }
  }

  std::vector<Gap> FindGaps() const {
    // Sums over the runs before each: bytes above the budget, and runs above.
    std::vector<double> excess(runs_.size() + 1, 0);
    std::vector<int64_t> count(runs_.size() + 1, 0);
    for (size_t i = 0; i < runs_.size(); ++i) {
      const bool above = over_[i] > 0;
      excess[i + 1] = excess[i] + (above ? static_cast<double>(over_[i]) : 0);
      count[i + 1] = count[i] + (above ? 1 : 0);
    }
    std::vector<Gap> gaps;
    for (int32_t v = 0; v < model_.num_values; ++v) {
      const int32_t producer = model_.producer[v];
      if (producer < 0 || !model_.can_repeat[producer]) continue;
      for (size_t k = 1; k < events_[v].size(); ++k) {
        Gap gap;
        gap.value = v;
        gap.after = events_[v][k - 1].first;
        gap.before = events_[v][k].first;
        if (events_[v][k].second || gap.before <= gap.after + 1) continue;
        const int64_t above = count[gap.before] - count[gap.after + 1];
        if (above == 0) continue;
        const double relief = std::min(
            excess[gap.before] - excess[gap.after + 1],
            static_cast<double>(model_.bytes[v]) * static_cast<double>(above));
        if (!FindClosure(gap)) continue;
        int64_t cost = 0;
        for (const int32_t n : closure_) cost += model_.cost[n];
        gap.score = relief / (static_cast<double>(cost) + 1e-3);
        gaps.push_back(gap);
      }
    }
    return gaps;
  }

  // The index of the last event of `value` before `run`; -1: none.
  int64_t EventBefore(int32_t value, int64_t run) const {
    const auto& events = events_[value];
    const auto it = std::lower_bound(events.begin(), events.end(),
                                     std::make_pair(run, false));
    return it - events.begin() - 1;
  }

  // Whether the content of `value` before `run` lasts until then, or close to
  // it: what is read again soon is kept.
  bool IsThere(int32_t value, int64_t run) const {
    const auto& events = events_[value];
    const size_t next = static_cast<size_t>(EventBefore(value, run) + 1);
    if (next < events.size() && !events[next].second) return true;
    return model_.is_result[value] && next == events.size();
  }

  // What must run to have the value of the gap again; false if that is not
  // allowed or too much.
  bool FindClosure(const Gap& gap) const {
    closure_.assign(1, model_.producer[gap.value]);
    for (size_t i = 0; i < closure_.size(); ++i) {
      const int32_t n = closure_[i];
      if (!model_.can_repeat[n] || closure_.size() > kMaxClosure) return false;
      if (first_run_[model_.deadline[n]] <= gap.before) return false;
      for (const int32_t u : model_.in[n]) {
        const int32_t producer = model_.producer[u];
        if (IsThere(u, gap.before)) continue;
        if (producer < 0) continue;  // an input; it lasts longer then
        if (std::find(closure_.begin(), closure_.end(), producer) ==
            closure_.end()) {
          closure_.push_back(producer);
        }
      }
    }
    return true;
  }

  const RematModel& model_;
  const std::vector<int32_t>& runs_;
  std::vector<int64_t> over_;
  // Per value: (run, whether it writes).
  std::vector<std::vector<std::pair<int64_t, bool>>> events_;
  std::vector<int64_t> first_run_;  // per node; of num_nodes: never
  mutable std::vector<int32_t> closure_;
};

}  // namespace

absl::optional<std::vector<int32_t>> InsertInRounds(const RematModel& model,
                                                    std::vector<int32_t> runs,
                                                    int64_t budget_bytes,
                                                    int64_t* work) {
  RunEvaluator evaluator(model);
  double least = -1;
  int idle = 0;
  for (int round = 0; round < kMaxRounds; ++round) {
    if (evaluator.PeakBytes(runs) <= budget_bytes) return runs;
    double excess = 0;
    for (const int64_t live : evaluator.live()) {
      excess += static_cast<double>(std::max<int64_t>(live - budget_bytes, 0));
    }
    idle = least < 0 || excess < 0.98 * least ? 0 : idle + 1;
    if (idle == 3) return absl::nullopt;
    if (idle == 0) least = excess;
    runs = Round(model, runs, evaluator.live(), budget_bytes).Run(work);
  }
  return absl::nullopt;
}

}  // namespace reprise
