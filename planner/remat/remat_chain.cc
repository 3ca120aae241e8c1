// The forward part of the order, up to its peak, is cut where few values go on
// to later forward nodes; what lies between two cuts is a block. Behind the
// peak follow the blocks' phases, last block first: phase i reads what block i
// wrote and the values at the cut before it, from which block i can be run
// again.
//
//   order    | block 0 | block 1 | block 2 | phase 2 | phase 1 | phase 0 |
//   cuts     0         1         2         3
//
// Least(i, j, m): the least cost of running blocks i to j - 1 and then their
// phases with the values at cut i in memory and m units for everything else.
// Either
//
//   split at k   run to cut k, keep only the values there, do [k, j) in what
//                remains, then [i, k) again from the start
//   keep         run block i and keep some of what its phase reads, do
//                [i + 1, j), run the rest of block i again, do its phase
//
// so values may be computed any number of times; on a chain of equal steps this
// is the binomial schedule of Griewank and Walther (2000), Algorithm 799,
// doi:10.1145/347837.347846. Keeping parts of a block and memory in units are
// from Beaumont et al. (2019), arXiv:1911.13214. What may be kept of a block is
// found greedily: starting from everything that its phase reads, always the
// value leaves that costs least to have again per byte.
//
// A table depends on the blocks of its stretch only, so stretches of equal
// blocks share one. Memory is simpler here than in the model (operands of a
// stretch are dropped at cuts only), so a caller asks for several sizes and
// judges what it gets.
//
// Cost: O(blocks^3 * units / 6), and O(blocks^2 * units / 2) if all are equal.
// Tested by tests/planner/remat_test.cc.

#include "planner/remat/remat_chain.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace reprise {
namespace {

constexpr int64_t kNever = INT64_MAX / 4;
constexpr size_t kMaxKeeps = 8;
// Of larger blocks, all that the phase reads is kept, or nothing.
constexpr size_t kMaxReads = 48;
constexpr int32_t kMaxNodes = 400;

// A part of a block that is kept for its phase.
struct Keep {
  std::vector<int32_t> values;
  int64_t bytes = 0;
  int64_t run_cost = 0;    // to have them and the values at the next cut
  int64_t again_cost = 0;  // to have the rest of what the phase reads
};

struct Block {
  int32_t first = 0;  // nodes [first, last)
  int32_t last = 0;
  int32_t phase_first = 0;
  int32_t phase_last = 0;
  std::vector<int32_t> cut;    // values at the cut before it
  int64_t cut_bytes = 0;       // without those at every cut
  std::vector<int32_t> reads;  // of its phase: what the block wrote
  int64_t through_cost = 0;    // to have the values at the next cut
  int64_t through_bytes = 0;   // most while running through, from a kept cut
  int64_t passing_bytes = 0;   // the same from a cut that is dropped
  int64_t phase_bytes = 0;     // most in its phase, without the cut
  std::vector<Keep> keeps;     // the first keeps nothing
  int32_t kind = 0;            // equal blocks have equal kinds
};

struct Entry {
  int64_t cost = kNever;
  int32_t choice = 0;  // > 0: split after so many blocks; < 0: keep ~choice
};

}  // namespace

class ChainProgram::Impl {
 public:
  Impl(const RematModel& model, const ChainOptions& options)
      : model_(model), options_(options) {
    unit_ = std::max<int64_t>(
        1, (options.budget_bytes + options.max_slots - 1) / options.max_slots);
    num_slots_ = static_cast<int32_t>(options.budget_bytes / unit_);
    FindTurn();
    FindBlocks();
    if (blocks_.size() < 2) return;
    FindPhases();
    for (size_t i = 0; i < blocks_.size(); ++i) Measure(i);
    MeasurePhases();
    FindKinds();
    FillTables();
  }

  bool is_chain() const { return blocks_.size() >= 2; }
  int64_t num_tables() const { return static_cast<int64_t>(tables_.size()); }
  int64_t num_stretches() const {
    const int64_t k = static_cast<int64_t>(blocks_.size());
    return k * (k + 1) / 2;
  }
  int64_t work() const { return work_; }

  std::vector<int32_t> Runs(int32_t slots) const {
    const int32_t k = static_cast<int32_t>(blocks_.size());
    slots = std::min(slots, num_slots_);
    if (k < 2 || slots < 0 || Table(0, k)[slots].cost >= kNever) return {};
    return Emit(slots);
  }

 private:
  int32_t Slots(int64_t bytes) const {
    // To the nearest, so that errors of many blocks cancel out.
    const int64_t slots = (bytes + unit_ / 2) / unit_;
    return static_cast<int32_t>(
        std::min<int64_t>(slots, int64_t{options_.max_slots} + 1));
  }

  // The last read of a value by a node before `end`; -1 if there is none.
  int32_t LastReadBefore(int32_t value, int32_t end) const {
    const auto readers = model_.readers[value];
    const auto it = std::lower_bound(readers.begin(), readers.end(), end);
    return it == readers.begin() ? -1 : *(it - 1);
  }

  void FindTurn() {
    RunEvaluator evaluator(model_);
    evaluator.PeakBytes(FirstRunsOnly(model_));
    const auto live = evaluator.live();
    // The last one: a node that does no more than read what is there. It closes
    // the forward part.
    for (size_t n = 0; n < live.size(); ++n) {
      if (live[n] >= live[turn_]) turn_ = static_cast<int32_t>(n);
    }
    turn_ = std::min(turn_ + 1, model_.num_nodes - 1);
    work_ += model_.num_operands;
  }

  void FindBlocks() {
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
  uint64_t NodeHash(int32_t n) const {
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
  size_t Stride(const std::vector<int32_t>& cuts) {
    const size_t count = cuts.size() - 1;
    const size_t most = static_cast<size_t>(options_.max_blocks);
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

  bool IsAtCut(const Block& block, int32_t value) const {
    return std::binary_search(block.cut.begin(), block.cut.end(), value);
  }

  void FindPhases() {
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

  // Marks the nodes of a block that must run to have `wanted` from the cut and
  // `held`; returns their cost.
  int64_t Closure(const Block& block, const std::vector<int32_t>& wanted,
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

  std::vector<int32_t> NextCut(size_t b) const {
    if (b + 1 == blocks_.size()) return {};
    return blocks_[b + 1].cut;
  }

  static std::vector<int32_t> Union(std::vector<int32_t> a,
                                    const std::vector<int32_t>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  // The most bytes while a block runs and keeps nothing but the next cut.
  int64_t ThroughBytes(const Block& block, bool drops_cut) const {
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

  void Measure(size_t b) {
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
      block.keeps.erase(block.keeps.begin() +
                        static_cast<std::ptrdiff_t>(dull));
    }
  }

  void RemoveCheapest(const Block& block, Keep* keep) const {
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
    keep->values.erase(keep->values.begin() +
                       static_cast<std::ptrdiff_t>(best));
  }

  // The most bytes in each phase: what its block wrote for it, and all that is
  // no block's (gradients).
  void MeasurePhases() {
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

  void FindKinds() {
    absl::flat_hash_map<std::vector<int64_t>, int32_t> kinds;
    for (size_t b = 0; b < blocks_.size(); ++b) {
      Block& block = blocks_[b];
      block.kind = static_cast<int32_t>(b);
      if (!options_.recognise_equal_blocks) continue;
      std::vector<int64_t> key = {Slots(block.cut_bytes), block.through_cost,
                                  Slots(block.through_bytes),
                                  Slots(block.passing_bytes),
                                  Slots(block.phase_bytes)};
      for (const Keep& keep : block.keeps) {
        key.push_back(Slots(keep.bytes));
        key.push_back(keep.run_cost);
        key.push_back(keep.again_cost);
      }
      block.kind =
          kinds.emplace(std::move(key), static_cast<int32_t>(b)).first->second;
    }
  }

  const std::vector<Entry>& Table(int32_t i, int32_t j) const {
    const int32_t k = static_cast<int32_t>(blocks_.size());
    return tables_[table_of_[static_cast<size_t>(i) * (k + 1) + j]];
  }

  void FillTables() {
    const int32_t k = static_cast<int32_t>(blocks_.size());
    table_of_.assign(static_cast<size_t>(k + 1) * (k + 1), -1);
    // (table of the stretch without its last block, kind of that): table
    absl::flat_hash_map<std::pair<int32_t, int32_t>, int32_t> known;
    for (int32_t length = 1; length <= k; ++length) {
      for (int32_t i = 0; i + length <= k; ++i) {
        const int32_t j = i + length;
        const int32_t before =
            length == 1 ? -1
                        : table_of_[static_cast<size_t>(i) * (k + 1) + j - 1];
        const auto [it, fresh] =
            known.emplace(std::make_pair(before, blocks_[j - 1].kind),
                          static_cast<int32_t>(tables_.size()));
        table_of_[static_cast<size_t>(i) * (k + 1) + j] = it->second;
        if (fresh) tables_.push_back(Fill(i, j));
      }
    }
  }

  std::vector<Entry> Fill(int32_t i, int32_t j) const {
    std::vector<Entry> table(num_slots_ + 1);
    const Block& block = blocks_[i];
    const int32_t phase = Slots(block.phase_bytes);
    if (j == i + 1) {
      const int32_t need = std::max(phase, block.keeps[0].again_cost > 0
                                               ? Slots(block.through_bytes)
                                               : 0);
      for (int32_t m = need; m <= num_slots_; ++m) {
        table[m].cost = block.keeps[0].again_cost;
      }
      return table;
    }
    const auto offer = [&table](int32_t m, int64_t cost, int32_t choice) {
      if (cost < table[m].cost) {
        table[m].cost = cost;
        table[m].choice = choice;
      }
    };
    int64_t through_cost = 0;
    int32_t through = Slots(block.through_bytes);
    for (int32_t k = i + 1; k < j; ++k) {
      through_cost += blocks_[k - 1].through_cost;
      if (k > i + 1) {
        through = std::max(through, Slots(blocks_[k - 1].passing_bytes));
      }
      const std::vector<Entry>& right = Table(k, j);
      const std::vector<Entry>& left = Table(i, k);
      const int32_t cut = Slots(blocks_[k].cut_bytes);
      for (int32_t m = std::max(through, cut); m <= num_slots_; ++m) {
        offer(m, through_cost + right[m - cut].cost + left[m].cost, k - i);
      }
      work_ += num_slots_ / 2;
    }
    const std::vector<Entry>& rest = Table(i + 1, j);
    const int32_t cut = Slots(blocks_[i + 1].cut_bytes);
    for (size_t o = 1; o < block.keeps.size(); ++o) {
      const int32_t kept = Slots(block.keeps[o].bytes);
      const int64_t cost = block.keeps[o].run_cost + block.keeps[o].again_cost;
      const int32_t least =
          std::max({Slots(block.through_bytes), phase, kept + cut});
      for (int32_t m = least; m <= num_slots_; ++m) {
        offer(m, cost + rest[m - kept - cut].cost, ~static_cast<int32_t>(o));
      }
      work_ += num_slots_ / 2;
    }
    return table;
  }

  struct Emitted {
    std::vector<int32_t> runs;
    int32_t num_first = 0;  // first runs among them: nodes [0, num_first)
  };

  // Puts the runs that give `wanted` from the cut and `held`; the whole block
  // if it has not run yet. What may not run again is left as it is.
  void EmitBlock(size_t b, const std::vector<int32_t>& wanted,
                 const std::vector<int32_t>& held, Emitted* emitted) const {
    const Block& block = blocks_[b];
    if (emitted->num_first <= block.first) {
      for (int32_t n = block.first; n < block.last; ++n) {
        emitted->runs.push_back(n);
      }
      emitted->num_first = block.last;
      return;
    }
    std::vector<char> needed;
    Closure(block, wanted, held, &needed);
    for (int32_t n = block.first; n < block.last; ++n) {
      if (needed[n - block.first] && model_.can_repeat[n] &&
          model_.deadline[n] >= emitted->num_first) {
        emitted->runs.push_back(n);
      }
    }
  }

  std::vector<int32_t> Emit(int32_t slots) const {
    // What is still to do, the next on top.
    struct Task {
      int32_t first = 0;  // blocks [first, last)
      int32_t last = 0;
      int32_t slots = 0;
      int32_t keep = -1;  // >= 0: only the phase of `first`, which kept so much
    };
    std::vector<Task> tasks = {
        {0, static_cast<int32_t>(blocks_.size()), slots, -1}};
    Emitted emitted;
    while (!tasks.empty()) {
      const Task task = tasks.back();
      tasks.pop_back();
      const Block& block = blocks_[task.first];
      if (task.keep >= 0 || task.last == task.first + 1) {
        const Keep& keep = block.keeps[std::max(task.keep, 0)];
        EmitBlock(task.first, block.reads, keep.values, &emitted);
        for (int32_t n = block.phase_first; n < block.phase_last; ++n) {
          emitted.runs.push_back(n);
        }
        emitted.num_first = std::max(emitted.num_first, block.phase_last);
        continue;
      }
      const int32_t choice = Table(task.first, task.last)[task.slots].choice;
      if (choice > 0) {
        const int32_t k = task.first + choice;
        for (int32_t b = task.first; b < k; ++b) {
          EmitBlock(b, NextCut(b), {}, &emitted);
        }
        tasks.push_back({task.first, k, task.slots, -1});
        tasks.push_back(
            {k, task.last, task.slots - Slots(blocks_[k].cut_bytes), -1});
      } else {
        const int32_t o = ~choice;
        const Keep& keep = block.keeps[o];
        EmitBlock(task.first, Union(NextCut(task.first), keep.values), {},
                  &emitted);
        tasks.push_back({task.first, task.first + 1, task.slots, o});
        tasks.push_back({task.first + 1, task.last,
                         task.slots - Slots(keep.bytes) -
                             Slots(blocks_[task.first + 1].cut_bytes),
                         -1});
      }
    }
    return std::move(emitted.runs);
  }

  const RematModel& model_;
  const ChainOptions options_;
  int64_t unit_ = 1;
  int32_t num_slots_ = 0;
  int32_t turn_ = 0;  // forward nodes are [0, turn_)
  std::vector<int32_t> last_forward_read_;
  std::vector<int32_t> block_of_;  // per value; -1: no forward node writes it
  std::vector<Block> blocks_;
  std::vector<int32_t> table_of_;
  std::vector<std::vector<Entry>> tables_;
  mutable std::vector<char> held_;  // per value, while a closure is found
  mutable int64_t work_ = 0;
};

ChainProgram::ChainProgram(const RematModel& model, const ChainOptions& options)
    : impl_(std::make_unique<Impl>(model, options)) {}
ChainProgram::~ChainProgram() = default;
bool ChainProgram::is_chain() const { return impl_->is_chain(); }
int64_t ChainProgram::num_tables() const { return impl_->num_tables(); }
int64_t ChainProgram::num_stretches() const { return impl_->num_stretches(); }
int64_t ChainProgram::work() const { return impl_->work(); }
std::vector<int32_t> ChainProgram::Runs(int32_t slots) const {
  return impl_->Runs(slots);
}

}  // namespace reprise
