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
// from Beaumont et al. (2019), arXiv:1911.13214. How blocks are found, and what
// may be kept of one: planner/remat/remat_blocks.cc.
//
// A table depends on the blocks of its stretch only, so stretches of equal
// blocks share one. Memory is simpler here than in the model (operands of a
// stretch are dropped at cuts only), so a caller asks for several sizes and
// judges what it gets.
//
// Cost: O(blocks^3 * units / 6), and O(blocks^2 * units / 2) if all are equal.
// Tested by tests/planner/remat_chain_test.cc.

#include "planner/remat/remat_chain.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "planner/remat/remat_blocks.h"

namespace reprise {
namespace {

using Block = RematBlocks::Block;
using Keep = RematBlocks::Keep;

constexpr int64_t kNever = RematBlocks::kNever;

struct Entry {
  int64_t cost = kNever;
  int32_t choice = 0;  // > 0: split after so many blocks; < 0: keep ~choice
};

}  // namespace

class ChainProgram::Impl {
 public:
  Impl(const RematModel& model, const ChainOptions& options)
      : model_(model),
        options_(options),
        chain_(model, options.max_blocks),
        blocks_(chain_.blocks()) {
    unit_ = std::max<int64_t>(
        1, (options.budget_bytes + options.max_slots - 1) / options.max_slots);
    num_slots_ = static_cast<int32_t>(options.budget_bytes / unit_);
    if (blocks_.size() < 2) return;
    FindKinds();
    FillTables();
  }

  bool is_chain() const { return blocks_.size() >= 2; }
  int64_t num_tables() const { return static_cast<int64_t>(tables_.size()); }
  int64_t num_stretches() const {
    const int64_t k = static_cast<int64_t>(blocks_.size());
    return k * (k + 1) / 2;
  }
  int64_t work() const { return chain_.work() + work_; }

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

  void FindKinds() {
    absl::flat_hash_map<std::vector<int64_t>, int32_t> kinds;
    for (size_t b = 0; b < blocks_.size(); ++b) {
      const Block& block = blocks_[b];
      kinds_.push_back(static_cast<int32_t>(b));
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
      kinds_[b] =
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
            known.emplace(std::make_pair(before, kinds_[j - 1]),
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
    chain_.Closure(block, wanted, held, &needed);
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
          EmitBlock(b, chain_.NextCut(b), {}, &emitted);
        }
        tasks.push_back({task.first, k, task.slots, -1});
        tasks.push_back(
            {k, task.last, task.slots - Slots(blocks_[k].cut_bytes), -1});
      } else {
        const int32_t o = ~choice;
        const Keep& keep = block.keeps[o];
        EmitBlock(task.first,
                  RematBlocks::Union(chain_.NextCut(task.first), keep.values),
                  {}, &emitted);
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
  const RematBlocks chain_;
  const std::vector<Block>& blocks_;
  int64_t unit_ = 1;
  int32_t num_slots_ = 0;
  std::vector<int32_t> kinds_;  // per block; of equal blocks they are equal
  std::vector<int32_t> table_of_;
  std::vector<std::vector<Entry>> tables_;
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
