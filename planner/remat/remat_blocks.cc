// The forward part ends behind the peak of the order that keeps everything.
// Wherever the fewest values cross from one forward node to later ones is a
// cut; if there are too many cuts, several stretches make one block, whole
// periods of them if they repeat. A phase lasts until a node reads what neither
// its block wrote nor the cut before it holds.
//
// What may be kept of a block is found greedily: starting from everything that
// its phase reads, always the value leaves that costs least to have again per
// byte.
//
// Cost: O(values * blocks), and for a block O(reads of its phase^2) looks at
// its nodes; large blocks keep all or nothing.
// Tested by tests/planner/remat_chain_test.cc.

#include "planner/remat/remat_blocks.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace reprise {
namespace {

constexpr size_t kMaxKeeps = 8;
// Of larger blocks, all that the phase reads is kept, or nothing.
constexpr size_t kMaxReads = 48;
constexpr int32_t kMaxNodes = 400;

}  // namespace

RematBlocks::RematBlocks(const RematModel& model, int32_t max_blocks)
    : model_(model), max_blocks_(max_blocks), turn_(ForwardEnd(model)) {
  work_ += model.num_operands;
  FindBlocks();
  if (blocks_.size() < 2) return;
  FindPhases();
  for (size_t i = 0; i < blocks_.size(); ++i) Measure(i);
  MeasurePhases();
}

// The last read of a value by a node before `end`; -1 if there is none.
int32_t RematBlocks::LastReadBefore(int32_t value, int32_t end) const {
  const auto readers = model_.readers[value];
  const auto it = std::lower_bound(readers.begin(), readers.end(), end);
  return it == readers.begin() ? -1 : *(it - 1);
}

void RematBlocks::FindBlocks() {
  if (turn_ < 2) return;
  // How many values cross from before node p to forward nodes from p on.
  std::vector<int32_t> crossing(turn_ + 1, 0);
  last_forward_read_.assign(model_.num_values, -1);
  for (int32_t v = 0; v < model_.num_values; ++v) {
    if (model_.bytes[v] == 0) continue;
    const int32_t last = LastReadBefore(v, turn_);
    last_forward_read_[v] = last;
    const int32_t producer = std::max(model_.producer[v], -1);
    if (producer >= turn_ || last <= producer) continue;
    ++crossing[producer + 1];
    --crossing[last + 1];
  }
  for (int32_t p = 1; p <= turn_; ++p) crossing[p] += crossing[p - 1];
  int32_t least = INT32_MAX;
  for (int32_t p = 1; p < turn_; ++p) least = std::min(least, crossing[p]);
  std::vector<int32_t> cuts = {0};
  for (int32_t p = 1; p < turn_; ++p) {
    if (crossing[p] == least) cuts.push_back(p);
  }
  cuts.push_back(turn_);
  const size_t stride = Stride(cuts);
  for (size_t c = 0; c + 1 < cuts.size(); c += stride) {
    Block block;
    block.first = cuts[c];
    block.last = cuts[std::min(c + stride, cuts.size() - 1)];
    blocks_.push_back(std::move(block));
  }
  block_of_.assign(model_.num_values, -1);
  std::vector<int32_t> at_cuts(model_.num_values, 0);
  for (int32_t v = 0; v < model_.num_values; ++v) {
    if (model_.bytes[v] == 0) continue;
    const int32_t producer = model_.producer[v];
    if (producer >= turn_) continue;
    for (size_t b = 0; b < blocks_.size(); ++b) {
      // Blocks are in order; the values at a cut cross it.
      if (producer >= blocks_[b].first && producer < blocks_[b].last) {
        block_of_[v] = static_cast<int32_t>(b);
      }
      if (producer < blocks_[b].first &&
          last_forward_read_[v] >= blocks_[b].first) {
        blocks_[b].cut.push_back(v);
        ++at_cuts[v];
      }
    }
    work_ += static_cast<int64_t>(blocks_.size());
  }
  for (Block& block : blocks_) {
    for (const int32_t v : block.cut) {
      if (at_cuts[v] + 2 < static_cast<int32_t>(blocks_.size())) {
        block.cut_bytes += model_.bytes[v];
      }
    }
  }
}

// What two nodes must share to be told apart by nothing.
uint64_t RematBlocks::NodeHash(int32_t n) const {
  uint64_t h = 1469598103934665603u;
  const auto mix = [&h](int64_t x) {
    h = (h ^ static_cast<uint64_t>(x)) * 1099511628211u;
    h ^= h >> 29;
  };
  mix(model_.cost[n]);
  mix(model_.extra_bytes[n]);
  mix(model_.can_repeat[n]);
  for (const int32_t v : model_.out[n]) mix(model_.bytes[v]);
  for (const int32_t v : model_.in[n]) {
    mix(model_.bytes[v]);
    if (model_.producer[v] >= 0) mix(n - model_.producer[v]);
  }
  return h;
}

// How many stretches between cuts make one block: as few as the limit on
// blocks allows, and whole periods if the stretches repeat.
size_t RematBlocks::Stride(const std::vector<int32_t>& cuts) {
  const size_t count = cuts.size() - 1;
  const size_t most = static_cast<size_t>(max_blocks_);
  if (count <= most) return 1;
  std::vector<uint64_t> hash(count, 0);
  for (size_t c = 0; c < count; ++c) {
    for (int32_t n = cuts[c]; n < cuts[c + 1]; ++n) {
      hash[c] = hash[c] * 31 + NodeHash(n);
    }
  }
  const size_t least = (count + most - 1) / most;
  const size_t longest = std::min<size_t>(count / 4, 512);
  size_t period = 1;
  for (size_t p = 1; p <= longest; ++p) {
    size_t equal = 0;
    for (size_t c = 0; c + p < count; ++c) equal += hash[c] == hash[c + p];
    work_ += static_cast<int64_t>(count);
    if (equal * 10 >= (count - p) * 9) {
      period = p;
      break;
    }
  }
  return (least + period - 1) / period * period;
}

bool RematBlocks::IsAtCut(const Block& block, int32_t value) const {
  return std::binary_search(block.cut.begin(), block.cut.end(), value);
}

void RematBlocks::FindPhases() {
  int32_t phase = static_cast<int32_t>(blocks_.size()) - 1;
  int32_t begin = turn_;
  for (int32_t n = turn_; n < model_.num_nodes; ++n) {
    int32_t least = phase;  // the first phase that has all that n reads
    for (const int32_t v : model_.in[n]) {
      const int32_t b = block_of_[v];
      if (b < 0 || b >= least) continue;
      // At which cuts up to `least` is it?
      int32_t p = least;
      while (p > b && !IsAtCut(blocks_[p], v)) --p;
      least = p;
      work_ += 1;
    }
    while (phase > least) {
      blocks_[phase].phase_first = begin;
      blocks_[phase].phase_last = n;
      begin = n;
      --phase;
    }
  }
  for (; phase >= 0; --phase) {
    blocks_[phase].phase_first = begin;
    blocks_[phase].phase_last = model_.num_nodes;
    begin = model_.num_nodes;
  }
  for (size_t b = 0; b < blocks_.size(); ++b) {
    Block& block = blocks_[b];
    for (int32_t n = block.phase_first; n < block.phase_last; ++n) {
      for (const int32_t v : model_.in[n]) {
        if (block_of_[v] == static_cast<int32_t>(b)) block.reads.push_back(v);
      }
    }
    std::sort(block.reads.begin(), block.reads.end());
    block.reads.erase(std::unique(block.reads.begin(), block.reads.end()),
                      block.reads.end());
  }
}

int64_t RematBlocks::Closure(const Block& block,
                             const std::vector<int32_t>& wanted,
                             const std::vector<int32_t>& held,
                             std::vector<char>* runs) const {
  runs->assign(block.last - block.first, 0);
  held_.resize(model_.num_values, 0);
  for (const int32_t v : held) held_[v] = 1;
  std::vector<int32_t> stack;
  const auto want = [&](int32_t v) {
    const int32_t p = model_.producer[v];
    if (p < block.first || p >= block.last) return;
    if ((*runs)[p - block.first] || held_[v]) return;
    (*runs)[p - block.first] = 1;
    stack.push_back(p);
  };
  for (const int32_t v : wanted) want(v);
  int64_t cost = 0;
  while (!stack.empty()) {
    const int32_t n = stack.back();
    stack.pop_back();
    cost += model_.cost[n];
    for (const int32_t v : model_.in[n]) want(v);
    work_ += static_cast<int64_t>(model_.in[n].size()) + 1;
  }
  for (const int32_t v : held) held_[v] = 0;
  return cost;
}

std::vector<int32_t> RematBlocks::NextCut(size_t b) const {
  if (b + 1 == blocks_.size()) return {};
  return blocks_[b + 1].cut;
}

std::vector<int32_t> RematBlocks::Union(std::vector<int32_t> a,
                                        const std::vector<int32_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The most bytes while a block runs and keeps nothing but the next cut.
int64_t RematBlocks::ThroughBytes(const Block& block, bool drops_cut) const {
  int64_t live = drops_cut ? block.cut_bytes : 0;
  int64_t most = live;
  for (int32_t n = block.first; n < block.last; ++n) {
    int64_t now = live + model_.extra_bytes[n];
    const auto dies = [&](int32_t v) {
      if (last_forward_read_[v] != n || model_.is_result[v]) return false;
      return model_.producer[v] >= block.first || drops_cut;
    };
    now -= TakenOverBytes(model_, model_.in_place[n], dies);
    for (const int32_t v : model_.out[n]) {
      now += model_.bytes[v];
      if (last_forward_read_[v] > n) live += model_.bytes[v];
    }
    for (const int32_t v : model_.in[n]) {
      const bool counted = model_.producer[v] >= block.first || drops_cut;
      if (counted && last_forward_read_[v] == n) live -= model_.bytes[v];
    }
    most = std::max(most, now);
  }
  return most;
}

void RematBlocks::Measure(size_t b) {
  Block& block = blocks_[b];
  std::vector<char> runs;
  block.through_cost = Closure(block, NextCut(b), {}, &runs);
  block.through_bytes = ThroughBytes(block, /*drops_cut=*/false);
  block.passing_bytes = ThroughBytes(block, /*drops_cut=*/true);
  // From keeping everything that the phase reads down to nothing.
  Keep keep;
  keep.values = block.reads;
  std::vector<Keep> all;
  const size_t step = std::max<size_t>(1, block.reads.size() / 24);
  while (true) {
    keep.bytes = 0;
    const std::vector<int32_t> next = NextCut(b);
    for (const int32_t v : keep.values) {
      // At the next cut it is held anyway.
      if (std::find(next.begin(), next.end(), v) == next.end()) {
        keep.bytes += model_.bytes[v];
      }
    }
    keep.again_cost = Closure(block, block.reads, keep.values, &runs);
    keep.run_cost = Closure(block, Union(next, keep.values), {}, &runs);
    all.push_back(keep);
    if (keep.values.empty()) break;
    if (block.reads.size() > kMaxReads ||
        block.last - block.first > kMaxNodes) {
      keep.values.clear();
      continue;
    }
    for (size_t s = 0; s < step && !keep.values.empty(); ++s) {
      RemoveCheapest(block, &keep);
    }
  }
  // Only those that no other beats in both.
  std::sort(all.begin(), all.end(), [](const Keep& x, const Keep& y) {
    return std::make_pair(x.bytes, x.again_cost) <
           std::make_pair(y.bytes, y.again_cost);
  });
  for (Keep& k : all) {
    if (block.keeps.empty() || k.again_cost < block.keeps.back().again_cost) {
      block.keeps.push_back(std::move(k));
    }
  }
  while (block.keeps.size() > kMaxKeeps) {
    // The one that differs least from its neighbours in cost.
    size_t dull = 1;
    int64_t least = kNever;
    for (size_t i = 1; i + 1 < block.keeps.size(); ++i) {
      const int64_t gap =
          block.keeps[i - 1].again_cost - block.keeps[i].again_cost;
      if (gap < least) {
        least = gap;
        dull = i;
      }
    }
    block.keeps.erase(block.keeps.begin() + static_cast<std::ptrdiff_t>(dull));
  }
}

void RematBlocks::RemoveCheapest(const Block& block, Keep* keep) const {
  std::vector<char> runs;
  const int64_t before = Closure(block, block.reads, keep->values, &runs);
  size_t best = 0;
  double least = -1;
  for (size_t i = 0; i < keep->values.size(); ++i) {
    std::vector<int32_t> rest = keep->values;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const int64_t cost = Closure(block, block.reads, rest, &runs) - before;
    const double price = static_cast<double>(cost) /
                         static_cast<double>(model_.bytes[keep->values[i]]);
    if (least < 0 || price < least) {
      least = price;
      best = i;
    }
  }
  keep->values.erase(keep->values.begin() + static_cast<std::ptrdiff_t>(best));
}

// The most bytes in each phase: what its block wrote for it, and all that is
// no block's (gradients).
void RematBlocks::MeasurePhases() {
  std::vector<int64_t> change(model_.num_nodes + 1, 0);
  for (int32_t v = 0; v < model_.num_values; ++v) {
    if (model_.bytes[v] == 0) continue;
    const int32_t b = block_of_[v];
    const auto readers = model_.readers[v];
    int32_t last = readers.empty() ? model_.producer[v] : readers.back();
    if (model_.is_result[v]) last = model_.num_nodes - 1;
    int32_t first = std::max(model_.producer[v], 0);
    if (b >= 0) {
      const Block& block = blocks_[b];
      if (!std::binary_search(block.reads.begin(), block.reads.end(), v)) {
        continue;
      }
      first = block.phase_first;
      last = LastReadBefore(v, block.phase_last);
    }
    if (last < first) continue;
    change[first] += model_.bytes[v];
    change[last + 1] -= model_.bytes[v];
  }
  std::vector<int64_t> live(model_.num_nodes, 0);
  int64_t sum = 0;
  for (int32_t n = 0; n < model_.num_nodes; ++n) {
    sum += change[n];
    live[n] = sum + model_.extra_bytes[n];
    const auto dies = [&](int32_t v) {
      const auto readers = model_.readers[v];
      return readers.back() == n && !model_.is_result[v];
    };
    live[n] -= TakenOverBytes(model_, model_.in_place[n], dies);
  }
  for (Block& block : blocks_) {
    for (int32_t n = block.phase_first; n < block.phase_last; ++n) {
      block.phase_bytes = std::max(block.phase_bytes, live[n]);
    }
  }
}

}  // namespace reprise
