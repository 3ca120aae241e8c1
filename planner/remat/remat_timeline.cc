// A run changes three kinds of lifetimes:
//
//   what it reads   lasts until this run, if it did not last longer
//   what it writes  begins here and takes over the later readers of the content
//                   before it, which then ends at its last reader before here
//   in place        a run whose operand ends with it, or no longer does
//
// Each is an addition to a range of slots. The sums are kept in blocks of 64
// slots with one pending addition each; only blocks that exceed the budget are
// gone through slot by slot. An empty slot counts whatever lives across it, so
// that a run put there finds its sum, but lies so low that it is never the
// maximum. Bytes are doubles: integers below 2^53 are exact, and two fit in one
// SIMD register.
//
// Tested by tests/planner/remat_timeline_test.cc, against the evaluation from
// scratch.

#include "planner/remat/remat_timeline.h"

#include <algorithm>
#include <cstddef>

namespace reprise {
namespace {

constexpr int32_t kBlock = 64;
constexpr double kEmpty = 4503599627370496.0;  // 2^52
constexpr int32_t kRoom = 2;                   // empty slots before each run

}  // namespace

Timeline::Timeline(const RematModel& model, absl::Span<const int32_t> runs,
                   int64_t budget_bytes)
    : model_(model), budget_(static_cast<double>(budget_bytes)) {
  Reset(runs);
}

void Timeline::Reset(absl::Span<const int32_t> runs) {
  node_at_.assign(runs.begin(), runs.end());
  Spread(-1, 0);
}

void Timeline::Spread(int32_t slot, int32_t room) {
  std::vector<int32_t> node_at;
  node_at.reserve(node_at_.size() + room);
  int32_t empty = 0;
  for (int32_t s = 0; s < num_slots(); ++s) {
    if (node_at_[s] < 0) {
      ++empty;
      continue;
    }
    const int32_t gap = slot < 0    ? kRoom
                        : s == slot ? std::max(empty, kRoom + room)
                                    : std::max(empty, kRoom);
    if (!node_at.empty()) node_at.insert(node_at.end(), gap, -1);
    node_at.push_back(node_at_[s]);
    empty = 0;
  }
  Place(node_at);
}

std::vector<int32_t> Timeline::Runs() const {
  std::vector<int32_t> runs;
  for (const int32_t node : node_at_) {
    if (node >= 0) runs.push_back(node);
  }
  return runs;
}

void Timeline::Place(const std::vector<int32_t>& node_at) {
  node_at_ = node_at;
  runs_of_.resize(model_.num_nodes);
  reads_of_.resize(model_.num_values);
  for (std::vector<int32_t>& list : runs_of_) list.clear();
  for (std::vector<int32_t>& list : reads_of_) list.clear();
  const size_t num_blocks = (node_at_.size() + kBlock - 1) / kBlock;
  live_.assign(num_blocks * kBlock, -kEmpty);
  taken_over_.assign(node_at_.size(), 0);
  blocks_.assign(num_blocks, Block());
  stale_.clear();
  excess_ = 0;
  total_cost_ = 0;
  num_runs_ = 0;
  for (int32_t s = 0; s < num_slots(); ++s) {
    const int32_t node = node_at_[s];
    if (node < 0) continue;
    runs_of_[node].push_back(s);
    for (const int32_t v : model_.in[node]) reads_of_[v].push_back(s);
    total_cost_ += model_.cost[node];
    ++num_runs_;
  }
  std::vector<double> change(node_at_.size() + 1, 0);
  const auto add = [&](int32_t first, int32_t last, int64_t bytes) {
    change[first] += static_cast<double>(bytes);
    change[last + 1] -= static_cast<double>(bytes);
  };
  for (int32_t v = 0; v < model_.num_values; ++v) {
    if (model_.bytes[v] == 0 || node_at_.empty()) continue;
    const int32_t producer = model_.producer[v];
    if (producer < 0) {
      add(0, ContentEnd(v, -1, num_slots()), model_.bytes[v]);
      continue;
    }
    const std::vector<int32_t>& runs = runs_of_[producer];
    for (size_t i = 0; i < runs.size(); ++i) {
      const int32_t end = i + 1 < runs.size() ? runs[i + 1] : num_slots();
      add(runs[i], ContentEnd(v, runs[i], end), model_.bytes[v]);
    }
  }
  double sum = 0;
  for (int32_t s = 0; s < num_slots(); ++s) {
    sum += change[s];
    live_[s] += sum;
    const int32_t node = node_at_[s];
    if (node < 0) continue;
    taken_over_[s] =
        TakenOverBytes(model_, model_.in_place[node],
                       [this, s](int32_t v) { return Dies(v, s); });
    live_[s] +=
        kEmpty + static_cast<double>(model_.extra_bytes[node] - taken_over_[s]);
  }
  work_ += model_.num_operands + num_slots();
  set_budget_bytes(budget_bytes());
}

void Timeline::set_budget_bytes(int64_t budget_bytes) {
  budget_ = static_cast<double>(budget_bytes);
  for (size_t b = 0; b < blocks_.size(); ++b) {
    MarkStale(static_cast<int32_t>(b));
  }
}

void Timeline::MarkStale(int32_t block) {
  if (blocks_[block].stale) return;
  blocks_[block].stale = true;
  stale_.push_back(block);
}

void Timeline::Refresh(int32_t block) {
  Block& b = blocks_[block];
  b.stale = false;
  const double* live = &live_[static_cast<size_t>(block) * kBlock];
  const double budget = budget_ - b.pending;
  double max[4] = {-kEmpty, -kEmpty, -kEmpty, -kEmpty};
  double excess[4] = {0, 0, 0, 0};
  for (int32_t i = 0; i < kBlock; i += 4) {
    for (int32_t j = 0; j < 4; ++j) {
      const double bytes = live[i + j];
      max[j] = max[j] > bytes ? max[j] : bytes;
      const double over = bytes - budget;
      excess[j] += over > 0 ? over : 0;
    }
  }
  b.max =
      std::max(std::max(max[0], max[1]), std::max(max[2], max[3])) + b.pending;
  const double sum = (excess[0] + excess[1]) + (excess[2] + excess[3]);
  excess_ += sum - b.excess;
  b.excess = sum;
  work_ += kBlock / 8;
}

void Timeline::Add(int32_t first, int32_t last, double bytes) {
  if (first > last || bytes == 0) return;
  const int32_t first_block = first / kBlock;
  const int32_t last_block = last / kBlock;
  for (int32_t b = first_block; b <= last_block; ++b) {
    const int32_t begin = b == first_block ? first % kBlock : 0;
    const int32_t end = b == last_block ? last % kBlock + 1 : kBlock;
    Block& block = blocks_[b];
    if (begin == 0 && end == kBlock) {
      block.pending += bytes;
      block.max += bytes;
      if (block.excess > 0 || block.max > budget_) MarkStale(b);
      continue;
    }
    double* live = &live_[static_cast<size_t>(b) * kBlock];
    for (int32_t i = begin; i < end; ++i) live[i] += bytes;
    MarkStale(b);
  }
  work_ += 2 + last_block - first_block;
}

double Timeline::Excess() {
  for (const int32_t b : stale_) {
    if (blocks_[b].stale) Refresh(b);
  }
  stale_.clear();
  return excess_;
}

int32_t Timeline::PreviousRun(int32_t node, int32_t slot) const {
  const std::vector<int32_t>& runs = runs_of_[node];
  const auto it = std::lower_bound(runs.begin(), runs.end(), slot);
  return it == runs.begin() ? -1 : *(it - 1);
}

int32_t Timeline::NextRun(int32_t node, int32_t slot) const {
  const std::vector<int32_t>& runs = runs_of_[node];
  const auto it = std::upper_bound(runs.begin(), runs.end(), slot);
  return it == runs.end() ? num_slots() : *it;
}

// The last read in (write, end); `write` if there is none.
int32_t Timeline::LastRead(int32_t value, int32_t write, int32_t end) const {
  const std::vector<int32_t>& reads = reads_of_[value];
  const auto it = std::lower_bound(reads.begin(), reads.end(), end);
  if (it == reads.begin()) return write;
  return std::max(*(it - 1), write);
}

// The last slot of the content written at `write` (-1: an input), which the
// next content replaces at `end`.
int32_t Timeline::ContentEnd(int32_t value, int32_t write, int32_t end) const {
  if (model_.is_result[value] && end == num_slots()) return num_slots() - 1;
  return std::max(LastRead(value, write, end), 0);
}

std::pair<int32_t, int32_t> Timeline::ContentAt(int32_t value,
                                                int32_t slot) const {
  const int32_t producer = model_.producer[value];
  if (producer < 0) return {0, ContentEnd(value, -1, num_slots())};
  const int32_t write = PreviousRun(producer, slot);
  return {write, ContentEnd(value, write, NextRun(producer, slot - 1))};
}

bool Timeline::IsRead(int32_t slot) const {
  const int32_t node = node_at_[slot];
  const int32_t end = NextRun(node, slot);
  for (const int32_t v : model_.out[node]) {
    if (model_.is_result[v] && end == num_slots()) return true;
    if (LastRead(v, slot, end) > slot) return true;
  }
  return false;
}

// Whether the run at `slot` is the last to read its operand.
bool Timeline::Dies(int32_t value, int32_t slot) const {
  const int32_t producer = model_.producer[value];
  const int32_t end = producer < 0 ? num_slots() : NextRun(producer, slot);
  if (model_.is_result[value] && end == num_slots()) return false;
  return LastRead(value, -1, end) == slot;
}

void Timeline::UpdateTakenOver(int32_t slot) {
  const int32_t node = node_at_[slot];
  const auto in_place = model_.in_place[node];
  if (in_place.empty()) return;
  const int64_t bytes = TakenOverBytes(
      model_, in_place, [this, slot](int32_t v) { return Dies(v, slot); });
  if (bytes == taken_over_[slot]) return;
  Add(slot, slot, static_cast<double>(taken_over_[slot] - bytes));
  taken_over_[slot] = bytes;
}

void Timeline::Insert(int32_t node, int32_t slot) {
  node_at_[slot] = node;
  ++num_runs_;
  total_cost_ += model_.cost[node];
  std::vector<int32_t>& runs = runs_of_[node];
  const int32_t previous = PreviousRun(node, slot);
  const int32_t next = NextRun(node, slot);
  runs.insert(std::lower_bound(runs.begin(), runs.end(), slot), slot);
  Add(slot, slot, kEmpty + static_cast<double>(model_.extra_bytes[node]));
  for (const int32_t v : model_.out[node]) {
    const double bytes = static_cast<double>(model_.bytes[v]);
    const int32_t end = previous < 0 ? slot : ContentEnd(v, previous, next);
    if (end > slot) {
      const int32_t last = LastRead(v, previous, slot);
      Add(last + 1, slot - 1, -bytes);
      if (last != previous) UpdateTakenOver(last);
    } else {
      Add(slot, previous < 0 ? ContentEnd(v, slot, next) : slot, bytes);
    }
  }
  for (const int32_t v : model_.in[node]) {
    const int32_t end = ContentAt(v, slot).second;
    std::vector<int32_t>& reads = reads_of_[v];
    reads.insert(std::lower_bound(reads.begin(), reads.end(), slot), slot);
    if (end >= slot) continue;
    Add(end + 1, slot, static_cast<double>(model_.bytes[v]));
    UpdateTakenOver(end);
  }
  taken_over_[slot] = 0;
  UpdateTakenOver(slot);
  work_ +=
      static_cast<int64_t>(model_.in[node].size() + model_.out[node].size());
}

void Timeline::Remove(int32_t slot) {
  const int32_t node = node_at_[slot];
  --num_runs_;
  total_cost_ -= model_.cost[node];
  Add(slot, slot, static_cast<double>(taken_over_[slot]));
  taken_over_[slot] = 0;
  for (const int32_t v : model_.in[node]) {
    std::vector<int32_t>& reads = reads_of_[v];
    reads.erase(std::lower_bound(reads.begin(), reads.end(), slot));
    const int32_t end = ContentAt(v, slot).second;
    if (end >= slot) continue;
    Add(end + 1, slot, -static_cast<double>(model_.bytes[v]));
    UpdateTakenOver(end);
  }
  std::vector<int32_t>& runs = runs_of_[node];
  runs.erase(std::lower_bound(runs.begin(), runs.end(), slot));
  const int32_t previous = PreviousRun(node, slot);
  const int32_t next = NextRun(node, slot);
  for (const int32_t v : model_.out[node]) {
    const double bytes = static_cast<double>(model_.bytes[v]);
    const int32_t end = previous < 0 ? slot : ContentEnd(v, previous, next);
    if (end > slot) {
      const int32_t last = LastRead(v, previous, slot);
      Add(last + 1, slot - 1, bytes);
      if (last != previous) UpdateTakenOver(last);
    } else {
      Add(slot, previous < 0 ? ContentEnd(v, slot, next) : slot, -bytes);
    }
  }
  Add(slot, slot, -kEmpty - static_cast<double>(model_.extra_bytes[node]));
  node_at_[slot] = -1;
  work_ +=
      static_cast<int64_t>(model_.in[node].size() + model_.out[node].size());
}

double Timeline::MaxLive(int32_t first, int32_t last) {
  double max = 0;
  for (int32_t s = first; s <= last;) {
    const int32_t b = s / kBlock;
    if (s % kBlock == 0 && s + kBlock - 1 <= last) {
      if (blocks_[b].stale) Refresh(b);
      max = std::max(max, blocks_[b].max);
      s += kBlock;
      continue;
    }
    const int32_t end = std::min(last, b * kBlock + kBlock - 1);
    for (; s <= end; ++s) max = std::max(max, live_[s] + blocks_[b].pending);
  }
  work_ += 2 + (last - first) / kBlock;
  return max;
}

int32_t Timeline::PeakSlot() {
  Excess();
  size_t best = 0;
  for (size_t b = 1; b < blocks_.size(); ++b) {
    if (blocks_[b].max > blocks_[best].max) best = b;
  }
  const double* live = &live_[best * kBlock];
  const double* top = std::max_element(live, live + kBlock);
  return static_cast<int32_t>(best) * kBlock + static_cast<int32_t>(top - live);
}

}  // namespace reprise
