// Going through the first runs in order, whatever is read next is brought into
// memory, repeating its producer if it is not there, and what that needs in
// turn. When a result finds no room, contents that nobody on the way there is
// waiting for are evicted. Future reads are known, so nothing is kept that no
// first run reads later, and what is read soon is dear.
//
// A stack of waiting runs takes the place of recursion; what a waiting run has
// already got is locked. Tested by tests/planner/remat_test.cc.

#include "planner/remat/remat_greedy.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "planner/remat/remat_edit.h"

namespace reprise {
namespace {

// Of so many values at most, drawn at random, one is evicted.
constexpr size_t kSample = 2048;

class Greedy {
 public:
  Greedy(const RematModel& model, int64_t budget_bytes,
         const GreedyOptions& options, int64_t max_runs)
      : model_(model),
        budget_(budget_bytes),
        options_(options),
        max_runs_(max_runs),
        present_(model.num_values, 0),
        locks_(model.num_values, 0),
        next_reader_(model.num_values, 0),
        place_(model.num_values, -1) {}

  bool Run() {
    for (int32_t v = 0; v < model_.num_values; ++v) {
      if (model_.producer[v] < 0 && !model_.readers[v].empty()) Bring(v);
    }
    for (int32_t n = 0; n < model_.num_nodes; ++n) {
      now_ = n;
      if (!RunWithOperands(n)) return false;
    }
    return true;
  }

  std::vector<int32_t> runs() && { return std::move(runs_); }
  int64_t work() const { return work_; }

 private:
  // The first run after now_ that reads `value`; num_nodes: it is a result;
  // -1: none.
  int32_t NextReader(int32_t value) {
    const auto readers = model_.readers[value];
    int32_t& next = next_reader_[value];
    while (next < static_cast<int32_t>(readers.size()) &&
           readers[next] < now_) {
      ++next;
    }
    if (next < static_cast<int32_t>(readers.size())) return readers[next];
    return model_.is_result[value] ? model_.num_nodes : -1;
  }

  void Bring(int32_t value) {
    if (present_[value]) return;
    present_[value] = 1;
    place_[value] = static_cast<int32_t>(held_.size());
    held_.push_back(value);
    used_ += model_.bytes[value];
  }

  void Drop(int32_t value) {
    if (!present_[value]) return;
    present_[value] = 0;
    const int32_t last = held_.back();
    held_[place_[value]] = last;
    place_[last] = place_[value];
    held_.pop_back();
    used_ -= model_.bytes[value];
  }

  bool CanComeBack(int32_t value) const {
    const int32_t producer = model_.producer[value];
    if (producer < 0 || !model_.can_repeat[producer]) return false;
    // What the repeat reads may be overwritten before the value is read again.
    if (model_.deadline[producer] != model_.num_nodes) return false;
    return !model_.is_result[value];
  }

  double Worth(int32_t value, int32_t next) {
    double cost = static_cast<double>(model_.cost[model_.producer[value]]);
    if (options_.with_evicted_operands) {
      // Breadth first through what is not there, up to a few nodes.
      closure_.assign(1, model_.producer[value]);
      for (size_t i = 0; i < closure_.size() && closure_.size() < 24; ++i) {
        for (const int32_t u : model_.in[closure_[i]]) {
          const int32_t producer = model_.producer[u];
          ++work_;
          if (present_[u] || producer < 0) continue;
          if (std::find(closure_.begin(), closure_.end(), producer) !=
              closure_.end()) {
            continue;
          }
          closure_.push_back(producer);
          cost += static_cast<double>(model_.cost[producer]);
        }
      }
    }
    const double distance = next - now_ + 1;
    const double bytes = static_cast<double>(model_.bytes[value]);
    return (cost + 1) / (std::pow(bytes, options_.bytes_power) *
                         std::pow(distance, options_.distance_power));
  }

  // Evicts until `bytes` more fit.
  bool MakeRoom(int64_t bytes) {
    while (used_ + bytes > budget_) {
      int32_t best = -1;
      double least = 0;
      const auto consider = [&](int32_t v) {
        if (locks_[v] > 0 || !CanComeBack(v)) return;
        const double worth = Worth(v, NextReader(v));
        if (best >= 0 && (worth > least || (worth == least && v > best))) {
          return;
        }
        best = v;
        least = worth;
      };
      if (held_.size() <= kSample) {
        for (const int32_t v : held_) consider(v);
        work_ += static_cast<int64_t>(held_.size());
      } else {
        for (size_t i = 0; i < kSample; ++i) {
          consider(held_[random_.Below(static_cast<int32_t>(held_.size()))]);
        }
        work_ += static_cast<int64_t>(kSample);
      }
      if (best < 0) return false;
      Drop(best);
    }
    return true;
  }

  // Whether nobody reads `value` any more once `waiting` of those who wait for
  // it have run.
  bool IsDead(int32_t value, int32_t waiting) const {
    const auto readers = model_.readers[value];
    return locks_[value] <= waiting && !model_.is_result[value] &&
           (readers.empty() || readers.back() <= now_);
  }

  void Wait(int32_t node) {
    stack_.push_back(node);
    for (const int32_t v : model_.in[node]) ++locks_[v];
  }

  bool RunWithOperands(int32_t first) {
    Wait(first);
    while (!stack_.empty()) {
      const int32_t node = stack_.back();
      int32_t missing = -1;
      for (const int32_t v : model_.in[node]) {
        if (!present_[v]) missing = v;
      }
      work_ += static_cast<int64_t>(model_.in[node].size()) + 1;
      if (missing < 0) {
        if (!RunTop()) return false;
        continue;
      }
      const int32_t producer = model_.producer[missing];
      if (producer < 0 || !model_.can_repeat[producer]) return false;
      if (model_.deadline[producer] <= now_) return false;
      Wait(producer);
    }
    return true;
  }

  bool RunTop() {
    const int32_t node = stack_.back();
    if (static_cast<int64_t>(runs_.size()) >= max_runs_) return false;
    int64_t needed = model_.extra_bytes[node];
    for (const int32_t v : model_.out[node]) {
      if (!present_[v]) needed += model_.bytes[v];
      ++locks_[v];
    }
    needed -= TakenOverBytes(model_, model_.in_place[node],
                             [this](int32_t v) { return IsDead(v, 1); });
    const bool fits = MakeRoom(needed);
    for (const int32_t v : model_.out[node]) --locks_[v];
    if (!fits) return false;
    runs_.push_back(node);
    stack_.pop_back();
    for (const int32_t v : model_.out[node]) Bring(v);
    for (const int32_t v : model_.in[node]) --locks_[v];
    for (const auto& values : {model_.in[node], model_.out[node]}) {
      for (const int32_t v : values) {
        if (IsDead(v, 0)) Drop(v);
      }
    }
    return true;
  }

  const RematModel& model_;
  const int64_t budget_;
  const GreedyOptions options_;
  const int64_t max_runs_;
  std::vector<int32_t> runs_;
  std::vector<int32_t> stack_;  // runs that wait for operands
  std::vector<char> present_;   // per value
  std::vector<int32_t> locks_;  // per value: runs on the stack that read it
  std::vector<int32_t> next_reader_;  // per value: index into its readers
  std::vector<int32_t> held_;         // the values present
  std::vector<int32_t> place_;        // per value present: index into held_
  std::vector<int32_t> closure_;
  RematRandom random_{1};
  int32_t now_ = 0;  // the first run that all this is for
  int64_t used_ = 0;
  int64_t work_ = 0;
};

}  // namespace

absl::optional<std::vector<int32_t>> GreedyRuns(const RematModel& model,
                                                int64_t budget_bytes,
                                                const GreedyOptions& options,
                                                int64_t max_runs,
                                                int64_t* work) {
  Greedy greedy(model, budget_bytes, options, max_runs);
  const bool done = greedy.Run();
  *work += greedy.work();
  if (!done) return absl::nullopt;
  return WithoutUnreadRepeats(model, std::move(greedy).runs());
}

}  // namespace reprise
