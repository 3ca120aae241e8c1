#include "planner/remat/remat_edit.h"

#include <algorithm>
#include <cstddef>

namespace reprise {

// Whether the producer of an operand that ends at `end` is repeated for a
// reader at `slot`.
bool RematEdit::RepeatOperand(int32_t value, int32_t end, int32_t slot,
                              double keep_bytes) {
  const RematModel& model = timeline_.model();
  const int32_t producer = model.producer[value];
  if (producer < 0 || !model.can_repeat[producer]) return false;
  const double kept = timeline_.MaxLive(end + 1, slot - 1) +
                      static_cast<double>(model.bytes[value]);
  const bool exceeds = kept > static_cast<double>(timeline_.budget_bytes()) &&
                       static_cast<double>(model.bytes[value]) > keep_bytes;
  if (surprise > 0 && random->Unit() < surprise) return !exceeds;
  return exceeds;
}

bool RematEdit::Repeat(int32_t node, int32_t slot, size_t limit) {
  const RematModel& model = timeline_.model();
  double keep_bytes = 0;
  for (const int32_t v : model.out[node]) {
    keep_bytes += keep_up_to * static_cast<double>(model.bytes[v]);
  }
  int32_t run_before = slot - 1;
  while (run_before >= 0 && timeline_.node_at(run_before) < 0) --run_before;
  pending_.assign(1, {node, slot});
  const size_t log_before = log_.size();
  while (!pending_.empty()) {
    const auto [n, before] = pending_.back();
    pending_.pop_back();
    if (!model.can_repeat[n]) return false;
    const int32_t deadline = model.deadline[n];
    if (deadline < model.num_nodes && timeline_.runs_of(deadline)[0] < before) {
      return false;
    }
    if (log_.size() - log_before >= limit) return false;
    // Past what the same edit has put there for a sibling.
    int32_t s = before - 1;
    while (s > run_before && timeline_.node_at(s) >= 0) --s;
    if (s <= run_before) {
      wants_room_ = slot;
      return false;
    }
    for (const int32_t v : model.in[n]) {
      const int32_t end = timeline_.ContentAt(v, s).second;
      if (end < s && RepeatOperand(v, end, s, keep_bytes)) {
        const int32_t producer = model.producer[v];
        const auto same = [producer = producer,
                           s](const std::pair<int32_t, int32_t>& p) {
          return p.first == producer && p.second == s;
        };
        if (std::none_of(pending_.begin(), pending_.end(), same)) {
          pending_.emplace_back(producer, s);
        }
      }
    }
    timeline_.Insert(n, s);
    log_.emplace_back(s, -1);
  }
  return true;
}

void RematEdit::Remove(int32_t slot) {
  const RematModel& model = timeline_.model();
  removing_.assign(1, slot);
  while (!removing_.empty()) {
    const int32_t s = removing_.back();
    removing_.pop_back();
    const int32_t node = timeline_.node_at(s);
    if (node < 0) continue;
    timeline_.Remove(s);
    log_.emplace_back(s, node);
    for (const int32_t v : model.in[node]) {
      const int32_t write = timeline_.ContentAt(v, s).first;
      if (model.producer[v] >= 0 && timeline_.is_repeat(write) &&
          !timeline_.IsRead(write)) {
        removing_.push_back(write);
      }
    }
  }
}

void RematEdit::RemoveReplaced() {
  const size_t end = log_.size();
  for (size_t i = 0; i < end; ++i) {
    const auto [slot, removed] = log_[i];
    if (removed >= 0) continue;
    const int32_t node = timeline_.node_at(slot);
    if (node < 0) continue;
    const int32_t next = timeline_.NextRun(node, slot);
    if (next == timeline_.num_slots()) continue;
    const double before = timeline_.Excess();
    const size_t mark = log_.size();
    Remove(next);
    if (timeline_.Excess() <= before) continue;
    while (log_.size() > mark) {
      timeline_.Insert(log_.back().second, log_.back().first);
      log_.pop_back();
    }
  }
}

void RematEdit::Undo() {
  while (!log_.empty()) {
    const auto [slot, removed] = log_.back();
    log_.pop_back();
    if (removed < 0) {
      timeline_.Remove(slot);
    } else {
      timeline_.Insert(removed, slot);
    }
  }
}

std::vector<int32_t> RematEdit::inserted() const {
  std::vector<int32_t> slots;
  for (const auto& [slot, removed] : log_) {
    if (removed < 0) slots.push_back(slot);
  }
  return slots;
}

void RematEdit::MakeRoom() {
  if (wants_room_ < 0) return;
  timeline_.Spread(wants_room_, 32);
  wants_room_ = -1;
}

}  // namespace reprise
