// The state is any sequence of runs; what it costs is
//
//   added cost + price * excess
//
// so that the search may pass through sequences that do not fit. The price of a
// byte above the budget during one run follows the search: it rises while
// nothing fits and falls while everything does, so about half of the states
// fit. Moves:
//
//   repeat     a value again, before one of its readers, with what that needs
//   remove     a repeat, with what was there only for it
//   exchange   a repeat for another
//   shift      a repeat to before another reader of what it writes
//
// Each is applied, judged and perhaps undone; the timeline makes that a matter
// of microseconds. Tested by tests/planner/remat_test.cc.

#include "planner/remat/remat_anneal.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "planner/remat/remat_edit.h"
#include "planner/remat/remat_insertion.h"
#include "planner/remat/remat_timeline.h"

namespace reprise {
namespace {

constexpr size_t kMaxRepeats = 24;
constexpr int kTries = 12;
constexpr int kPriceMoves = 256;
constexpr int64_t kWorkPerMove = 16;

class Annealing {
 public:
  Annealing(const RematModel& model, absl::Span<const int32_t> start,
            const AnnealOptions& options)
      : model_(model),
        options_(options),
        random_(options.seed),
        timeline_(model, start, options.budget_bytes),
        edit_(timeline_) {
    edit_.random = &random_;
    for (int32_t v = 0; v < model.num_values; ++v) {
      const int32_t p = model.producer[v];
      if (p >= 0 && model.bytes[v] > 0 && model.can_repeat[p]) {
        values_.push_back(v);
      }
    }
    for (int32_t s = 0; s < timeline_.num_slots(); ++s) NoteRepeat(s);
  }

  absl::optional<std::vector<int32_t>> Run() {
    if (values_.empty()) return absl::nullopt;
    price_ = StartPrice();
    Remember();
    const double start_temperature =
        options_.start_temperature * MeanRepeatCost();
    for (int cycle = 0; cycle < options_.cycles; ++cycle) {
      const int64_t begin = Work();
      const int64_t length =
          (options_.work_limit - begin) / (options_.cycles - cycle);
      if (length <= 0) break;
      if (cycle > 0 && best_.has_value()) Restart(*best_);
      Cycle(begin, length, start_temperature);
    }
    return best_;
  }

 private:
  void Cycle(int64_t begin, int64_t length, double start_temperature) {
    int fits = 0;
    double temperature = start_temperature;
    for (int64_t moves = 1; Work() < begin + length; ++moves) {
      ++moves_;
      if (moves % 64 == 0) {
        const double part =
            static_cast<double>(Work() - begin) / static_cast<double>(length);
        temperature = start_temperature * std::pow(options_.cooling, part);
      }
      if (moves % kPriceMoves == 0) {
        if (fits < kPriceMoves * 4 / 10) price_ *= fits == 0 ? 1.3 : 1.1;
        if (fits > kPriceMoves * 6 / 10)
          price_ /= fits == kPriceMoves ? 1.3 : 1.1;
        fits = 0;
      }
      Step(temperature);
      if (timeline_.Excess() == 0) {
        ++fits;
        Remember();
      }
    }
  }

  // A move that finds nothing to do takes its time too.
  int64_t Work() const { return timeline_.work() + kWorkPerMove * moves_; }

  double MeanRepeatCost() const {
    const int32_t repeats = timeline_.num_runs() - model_.num_nodes;
    if (repeats == 0) {
      return static_cast<double>(model_.base_cost + 1) /
             static_cast<double>(model_.num_nodes);
    }
    return static_cast<double>(timeline_.added_cost() + 1) /
           static_cast<double>(repeats);
  }

  void Restart(const std::vector<int32_t>& runs) {
    timeline_.Reset(runs);
    repeats_.clear();
    for (int32_t s = 0; s < timeline_.num_slots(); ++s) NoteRepeat(s);
  }

  double Value() {
    return static_cast<double>(timeline_.added_cost()) +
           price_ * timeline_.Excess();
  }

  // What the start pays for each byte that it spares.
  double StartPrice() {
    const std::vector<int32_t> first = FirstRunsOnly(model_);
    Timeline kept(model_, first, options_.budget_bytes);
    const double spared = kept.Excess() - timeline_.Excess();
    const double paid = static_cast<double>(timeline_.added_cost());
    if (spared > 0 && paid > 0) return paid / spared;
    return static_cast<double>(model_.base_cost + 1) / (kept.Excess() + 1);
  }

  void Remember() {
    if (timeline_.Excess() > 0) return;
    if (best_.has_value() && timeline_.added_cost() >= best_cost_) return;
    best_ = timeline_.Runs();
    best_cost_ = timeline_.added_cost();
  }

  void Step(double temperature) {
    const double before = Value();
    const bool moved = Move();
    bool accept = moved;
    if (moved) {
      const double worse = Value() - before;
      accept = worse <= 0 || random_.Unit() < std::exp(-worse / temperature);
    }
    if (accept) {
      for (const int32_t slot : edit_.inserted()) NoteRepeat(slot);
      edit_.Keep();
    } else {
      edit_.Undo();
    }
    if (edit_.wants_room() >= 0) {
      edit_.MakeRoom();
      if (timeline_.num_slots() > 6 * timeline_.num_runs()) {
        timeline_.Spread(-1, 0);
      }
      repeats_.clear();
      for (int32_t s = 0; s < timeline_.num_slots(); ++s) NoteRepeat(s);
    }
  }

  void NoteRepeat(int32_t slot) {
    if (timeline_.node_at(slot) >= 0 && timeline_.is_repeat(slot)) {
      repeats_.push_back(slot);
    }
  }

  bool Move() {
    const bool exceeds = timeline_.Excess() > 0;
    const int32_t kind = random_.Below(16);
    if (exceeds && kind < 8) return Repeat();
    if (kind < 10) return RemoveRandom() >= 0;
    if (kind < 13) return RemoveRandom() >= 0 && Repeat();
    return Shift();
  }

  // Returns the node taken out; -1 if there is no repeat.
  int32_t RemoveRandom() {
    while (!repeats_.empty()) {
      const size_t i = static_cast<size_t>(
          random_.Below(static_cast<int32_t>(repeats_.size())));
      const int32_t slot = repeats_[i];
      // The list may name slots that are empty by now.
      if (timeline_.node_at(slot) >= 0 && timeline_.is_repeat(slot)) {
        const int32_t node = timeline_.node_at(slot);
        edit_.Remove(slot);
        removed_slot_ = slot;
        return node;
      }
      repeats_[i] = repeats_.back();
      repeats_.pop_back();
    }
    return -1;
  }

  // Repeats a value before one of its readers, preferably one whose content
  // lies over the peak.
  bool Repeat() {
    const int32_t peak = timeline_.Excess() > 0 ? timeline_.PeakSlot() : -1;
    for (int i = 0; i < kTries; ++i) {
      const int32_t v =
          values_[random_.Below(static_cast<int32_t>(values_.size()))];
      const auto reads = timeline_.reads_of(v);
      if (reads.empty()) continue;
      size_t k = static_cast<size_t>(
          random_.Below(static_cast<int32_t>(reads.size())));
      if (peak >= 0 && i + 2 < kTries) {
        k = static_cast<size_t>(
            std::upper_bound(reads.begin(), reads.end(), peak) - reads.begin());
        if (k == reads.size()) continue;
      }
      const int32_t slot = reads[k];
      const int32_t producer = model_.producer[v];
      int32_t last = timeline_.PreviousRun(producer, slot);
      if (k > 0) last = std::max(last, reads[k - 1]);
      if (peak >= 0 && i + 2 < kTries && last >= peak) continue;
      if (timeline_.num_slots() == 0 || AdjacentTo(last, slot)) continue;
      edit_.keep_up_to = random_.Below(2) * 0.75;
      edit_.surprise = random_.Below(4) == 0 ? 0.25 : 0;
      if (!edit_.Repeat(producer, slot, kMaxRepeats)) return false;
      edit_.RemoveReplaced();
      return true;
    }
    return false;
  }

  // Whether no run lies between the two.
  bool AdjacentTo(int32_t first, int32_t second) const {
    for (int32_t s = second - 1; s > first; --s) {
      if (timeline_.node_at(s) >= 0) return false;
    }
    return true;
  }

  // Takes a repeat out and puts it before another reader of what it writes, or
  // before another run nearby.
  bool Shift() {
    const int32_t node = RemoveRandom();
    if (node < 0) return false;
    int32_t slot = -1;
    if (random_.Below(2) == 0) {
      const auto out = model_.out[node];
      const auto reads = timeline_.reads_of(
          out[random_.Below(static_cast<int32_t>(out.size()))]);
      if (reads.empty()) return false;
      const int32_t at = static_cast<int32_t>(
          std::lower_bound(reads.begin(), reads.end(), removed_slot_) -
          reads.begin());
      const int32_t to = at - 2 + random_.Below(4);
      if (to < 0 || to >= static_cast<int32_t>(reads.size())) return false;
      slot = reads[to];
    } else {
      slot = removed_slot_ + random_.Below(81) - 40;
      slot = std::min(std::max(slot, 0), timeline_.num_slots() - 1);
      while (slot < timeline_.num_slots() && timeline_.node_at(slot) < 0) {
        ++slot;
      }
    }
    if (slot >= timeline_.num_slots() || timeline_.runs_of(node)[0] >= slot) {
      return false;
    }
    edit_.keep_up_to = random_.Below(2) * 0.75;
    edit_.surprise = random_.Below(4) == 0 ? 0.25 : 0;
    if (!edit_.Repeat(node, slot, kMaxRepeats)) return false;
    edit_.RemoveReplaced();
    return true;
  }

  const RematModel& model_;
  const AnnealOptions options_;
  RematRandom random_;
  int64_t moves_ = 0;
  Timeline timeline_;
  RematEdit edit_;
  std::vector<int32_t> values_;   // that can be repeated
  std::vector<int32_t> repeats_;  // slots; some are empty by now
  int32_t removed_slot_ = -1;
  double price_ = 0;
  absl::optional<std::vector<int32_t>> best_;
  int64_t best_cost_ = 0;
};

}  // namespace

absl::optional<std::vector<int32_t>> Anneal(const RematModel& model,
                                            absl::Span<const int32_t> start,
                                            const AnnealOptions& options) {
  return Annealing(model, start, options).Run();
}

}  // namespace reprise
