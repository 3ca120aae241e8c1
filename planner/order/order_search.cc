// A walk from order to order, each legal.
//
// A move takes one task to the other side of another:
//
//   advance  a task that runs later, with whatever it needs of what lies
//            between, before the step at the peak: bytes are freed earlier
//   delay    a task that ran before, with whatever needs it of what lies
//            between, behind the step at the peak: bytes are made later
//
// Both permute one stretch of the order, and bytes outside it do not change
// (planner/order/order_model.cc), so a move costs as much as its stretch is
// long.
//
//   order  a b c P d e     e needs d, and frees what b made; P has the peak
//   advance e before P     a b c d e P
//   delay b behind P       a c P b d e     if neither c nor P needs b
//
// Orders are compared by their peak, then by the bytes by which steps exceed
// 7/8 of it: the second says which of two orders of equal peaks is nearer to a
// lower one. First the moves at the peak are tried one by one until none helps;
// then moves are drawn at random, half of them at the peak, and those that are
// not worse are kept. The numbers drawn are the same on every machine.
//
// Cost: bounded by `max_work`. Tested by tests/planner/order_search_test.cc.

#include "planner/order/order_search.h"

#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>

namespace reprise {
namespace {

// Stretches longer than this are not drawn at random.
constexpr int32_t kLongestStretch = 256;

class OrderSearch {
 public:
  OrderSearch(OrderModel& model, std::vector<TaskId> scheduled,
              const OrderSearchOptions& options)
      : model_(model),
        options_(options),
        end_work_(model.work() + options.max_work),
        order_(std::move(scheduled)),
        bytes_(order_.size(), 0) {
    TaskId most = 0;
    for (const TaskId t : order_) most = std::max(most, t);
    place_of_.assign(most + 1, -1);
    marked_.assign(most + 1, false);
  }

  std::vector<TaskId> Run() {
    for (size_t i = 0; i < order_.size(); ++i) {
      place_of_[order_[i]] = static_cast<int32_t>(i);
      bytes_[i] = model_.Run(order_[i]);
    }
    at_ = size();
    Measure();
    while (!Done() && TryMovesAtPeak()) {
    }
    DrawMoves();
    GoTo(0);
    return std::move(best_);
  }

 private:
  int32_t size() const { return static_cast<int32_t>(order_.size()); }
  bool Done() const {
    return best_peak_ <= options_.enough_bytes ||
           model_.work() + extra_work_ >= end_work_;
  }

  // Finds peak and excess anew, with a threshold that fits the peak.
  void Measure() {
    peak_ = 0;
    for (int32_t i = 0; i < size(); ++i) {
      if (bytes_[i] > peak_) {
        peak_ = bytes_[i];
        peak_place_ = i;
      }
    }
    threshold_ = peak_ - peak_ / 8;
    excess_ = 0;
    for (const int64_t b : bytes_) excess_ += Excess(b);
    extra_work_ += size() / 8;
    if (best_.empty() || peak_ < best_peak_) {
      best_peak_ = peak_;
      best_ = order_;
    }
  }

  int64_t Excess(int64_t bytes) const {
    return std::max<int64_t>(0, bytes - threshold_);
  }

  // Runs order_[0, place) and nothing else.
  void GoTo(int32_t place) {
    for (; at_ > place; --at_) model_.Undo();
    for (; at_ < place; ++at_) model_.Run(order_[at_]);
  }

  // Puts `stretch_` in the place of order_[begin, ...) if it is legal and not
  // worse, or, if `strictly`, better.
  bool TryStretch(int32_t begin, bool strictly) {
    GoTo(begin);
    const int32_t length = static_cast<int32_t>(stretch_.size());
    int64_t old_excess = 0;
    for (int32_t i = begin; i < begin + length; ++i) {
      old_excess += Excess(bytes_[i]);
    }
    stretch_bytes_.clear();
    int64_t most = 0;
    int64_t excess = 0;
    for (const TaskId t : stretch_) {
      if (!model_.Ready(t)) break;
      const int64_t b = model_.Run(t);
      stretch_bytes_.push_back(b);
      most = std::max(most, b);
      excess += Excess(b);
      if (most > peak_ || excess > old_excess) break;
    }
    const bool keep =
        stretch_bytes_.size() == stretch_.size() && most <= peak_ &&
        (excess < old_excess || (!strictly && excess == old_excess));
    if (!keep) {
      for (size_t i = stretch_bytes_.size(); i > 0; --i) model_.Undo();
      return false;
    }
    for (int32_t i = 0; i < length; ++i) {
      order_[begin + i] = stretch_[i];
      bytes_[begin + i] = stretch_bytes_[i];
      place_of_[stretch_[i]] = begin + i;
    }
    at_ = begin + length;
    excess_ += excess - old_excess;
    // The peak may have fallen only if the stretch had it.
    if (excess < old_excess) Measure();
    return true;
  }

  // Moves the task at `from` before that at `to` < from.
  bool Advance(int32_t from, int32_t to, bool strictly) {
    // Whatever it needs of order_[to, from).
    std::vector<TaskId> needs = {order_[from]};
    std::vector<TaskId> stack = {order_[from]};
    std::vector<TaskId> seen_on_demand;
    marked_[order_[from]] = true;
    bool legal = true;
    while (!stack.empty() && legal) {
      const TaskId t = stack.back();
      stack.pop_back();
      model_.ForEachNeed(t, [&](TaskId need) {
        ++extra_work_;
        if (IsScheduled(need)) {
          if (place_of_[need] < to || marked_[need]) return;
          marked_[need] = true;
          if (need == order_[to]) legal = false;
          needs.push_back(need);
          stack.push_back(need);
          return;
        }
        if (std::find(seen_on_demand.begin(), seen_on_demand.end(), need) !=
            seen_on_demand.end()) {
          return;
        }
        seen_on_demand.push_back(need);
        stack.push_back(need);
        if (seen_on_demand.size() > 64) legal = false;
      });
    }
    bool moved = false;
    if (legal) {
      stretch_.clear();
      for (int32_t i = to; i <= from; ++i) {
        if (marked_[order_[i]]) stretch_.push_back(order_[i]);
      }
      for (int32_t i = to; i <= from; ++i) {
        if (!marked_[order_[i]]) stretch_.push_back(order_[i]);
      }
      extra_work_ += from - to + 1;
    }
    for (const TaskId t : needs) marked_[t] = false;
    if (legal) moved = TryStretch(to, strictly);
    return moved;
  }

  // Moves the task at `from` behind that at `to` > from.
  bool Delay(int32_t from, int32_t to, bool strictly) {
    stretch_.clear();
    std::vector<TaskId> delayed = {order_[from]};
    GoTo(from);
    int32_t i = from + 1;
    bool legal = true;
    for (; i <= to && legal; ++i) {
      const TaskId t = order_[i];
      if (model_.Ready(t)) {
        // Too many bytes are seen when the stretch is tried.
        model_.Run(t);
        stretch_.push_back(t);
      } else {
        delayed.push_back(t);
        legal = i < to;
      }
    }
    for (size_t k = stretch_.size(); k > 0; --k) model_.Undo();
    if (!legal) return false;
    stretch_.insert(stretch_.end(), delayed.begin(), delayed.end());
    return TryStretch(from, strictly);
  }

  bool IsScheduled(TaskId t) const {
    return t < static_cast<TaskId>(place_of_.size()) && place_of_[t] >= 0;
  }

  // Returns whether a move at the peak made the order better.
  bool TryMovesAtPeak() {
    const int32_t place = peak_place_;
    for (int32_t far = 1; far <= kLongestStretch && !Done(); ++far) {
      if (place + far < size() &&
          Advance(place + far, place, /*strictly=*/true)) {
        return true;
      }
      if (place - far >= 0 && Delay(place - far, place, /*strictly=*/true)) {
        return true;
      }
    }
    return false;
  }

  int32_t Draw(int32_t n) {
    return static_cast<int32_t>(random_() % static_cast<uint64_t>(n));
  }

  void DrawMoves() {
    if (size() < 2) return;
    while (!Done()) {
      ++extra_work_;
      int32_t i = peak_place_;
      if (Draw(2) == 0) i = Draw(size());
      // Near places are as likely as all those twice as far.
      int32_t reach = 2;
      while (reach < kLongestStretch && reach < size() && Draw(3) > 0) {
        reach *= 2;
      }
      const int32_t far = 1 + Draw(reach);
      const bool later = Draw(2) == 0;
      const int32_t j = later ? i + far : i - far;
      if (j < 0 || j >= size()) continue;
      const int32_t low = std::min(i, j);
      const int32_t high = std::max(i, j);
      if (Draw(2) == 0) {
        Advance(high, low, /*strictly=*/false);
      } else {
        Delay(low, high, /*strictly=*/false);
      }
    }
  }

  OrderModel& model_;
  const OrderSearchOptions& options_;
  const int64_t end_work_;
  std::vector<TaskId> order_;
  std::vector<int64_t> bytes_;     // of each place
  std::vector<int32_t> place_of_;  // by task; -1: not scheduled
  std::vector<bool> marked_;       // by task
  std::vector<TaskId> stretch_;
  std::vector<int64_t> stretch_bytes_;
  int32_t at_ = 0;  // order_[0, at_) has run
  int64_t peak_ = 0;
  int32_t peak_place_ = 0;
  int64_t threshold_ = 0;
  int64_t excess_ = 0;  // of all places, over the threshold
  int64_t best_peak_ = 0;
  std::vector<TaskId> best_;
  int64_t extra_work_ = 0;
  std::mt19937_64 random_{1};
};

}  // namespace

std::vector<TaskId> SearchOrder(OrderModel& model,
                                std::vector<TaskId> scheduled,
                                const OrderSearchOptions& options) {
  if (scheduled.empty()) return scheduled;
  return OrderSearch(model, std::move(scheduled), options).Run();
}

}  // namespace reprise
