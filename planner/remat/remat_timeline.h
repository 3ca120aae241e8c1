// A sequence of runs that changes one run at a time, with the bytes live at
// every run kept up to date.

#ifndef PLANNER_REMAT_REMAT_TIMELINE_H_
#define PLANNER_REMAT_REMAT_TIMELINE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "planner/remat/remat_model.h"

namespace reprise {

// Runs sit in slots; empty slots between them leave room for more. A slot is
// an index that grows with time.
class Timeline {
 public:
  // budget: what lives above it counts as excess.
  Timeline(const RematModel& model, absl::Span<const int32_t> runs,
           int64_t budget_bytes);

  // Starts again with other runs. All slots change.
  void Reset(absl::Span<const int32_t> runs);

  // Puts a run into an empty slot, or takes one out. One undoes the other
  // exactly. A first run may only be taken out to be put elsewhere at once.
  //
  //   cost: O(operands * slots / 64) and less where nothing exceeds the budget.
  void Insert(int32_t node, int32_t slot);
  void Remove(int32_t slot);

  // Makes `room` slots and more before `slot`, and some before every run; -1:
  // just some before every run. All slots change.
  void Spread(int32_t slot, int32_t room);

  std::vector<int32_t> Runs() const;

  int32_t num_slots() const { return static_cast<int32_t>(node_at_.size()); }
  int32_t num_runs() const { return num_runs_; }
  int32_t node_at(int32_t slot) const { return node_at_[slot]; }
  absl::Span<const int32_t> runs_of(int32_t node) const {
    return runs_of_[node];
  }
  absl::Span<const int32_t> reads_of(int32_t value) const {
    return reads_of_[value];
  }
  bool is_repeat(int32_t slot) const {
    return runs_of_[node_at_[slot]][0] != slot;
  }

  // The last run of the node before `slot`, or the first after it; -1 and
  // num_slots() if there is none.
  int32_t PreviousRun(int32_t node, int32_t slot) const;
  int32_t NextRun(int32_t node, int32_t slot) const;

  // The content of `value` that a run at `slot` would read: from which slot
  // to which it is there, both included.
  std::pair<int32_t, int32_t> ContentAt(int32_t value, int32_t slot) const;

  // Whether a run in between or later reads what the run at `slot` writes.
  bool IsRead(int32_t slot) const;

  int64_t added_cost() const { return total_cost_ - model_.base_cost; }

  // The sum over all runs of bytes above the budget.
  double Excess();

  // The most bytes live at any run in [first, last]; 0 if there is none.
  double MaxLive(int32_t first, int32_t last);

  // The first run with the most live bytes.
  int32_t PeakSlot();

  int64_t budget_bytes() const { return static_cast<int64_t>(budget_); }
  void set_budget_bytes(int64_t budget_bytes);

  // Slots and operands looked at so far.
  int64_t work() const { return work_; }

  const RematModel& model() const { return model_; }

 private:
  struct Block {
    double pending = 0;  // to be added to all of its slots
    double max = 0;      // of its slots, pending included
    double excess = 0;
    bool stale = false;  // max and excess are to be computed again
  };

  void Place(const std::vector<int32_t>& node_at);
  void Add(int32_t first, int32_t last, double bytes);
  void MarkStale(int32_t block);
  void Refresh(int32_t block);
  void UpdateTakenOver(int32_t slot);
  int32_t LastRead(int32_t value, int32_t write, int32_t end) const;
  int32_t ContentEnd(int32_t value, int32_t write, int32_t end) const;
  bool Dies(int32_t value, int32_t slot) const;

  const RematModel& model_;
  double budget_;
  std::vector<int32_t> node_at_;  // -1: empty
  std::vector<std::vector<int32_t>> runs_of_;
  std::vector<std::vector<int32_t>> reads_of_;
  std::vector<double> live_;
  std::vector<int64_t> taken_over_;
  std::vector<Block> blocks_;
  std::vector<int32_t> stale_;  // blocks
  double excess_ = 0;
  int32_t num_runs_ = 0;
  int64_t total_cost_ = 0;
  int64_t work_ = 0;
};

}  // namespace reprise

#endif  // PLANNER_REMAT_REMAT_TIMELINE_H_
