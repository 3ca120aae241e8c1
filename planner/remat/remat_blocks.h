// A graph as a chain of blocks, each with its phase: what the dynamic program
// of planner/remat/remat_chain.h is about.

#ifndef PLANNER_REMAT_REMAT_BLOCKS_H_
#define PLANNER_REMAT_REMAT_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/remat/remat_model.h"

namespace reprise {

// Cuts a graph and measures the blocks. Bytes are those of the memory model,
// costs those of the nodes.
class RematBlocks {
 public:
  static constexpr int64_t kNever = INT64_MAX / 4;  // more than any cost

  // A part of a block that is kept for its phase.
  struct Keep {
    std::vector<int32_t> values;
    int64_t bytes = 0;
    int64_t run_cost = 0;    // to have them and the values at the next cut
    int64_t again_cost = 0;  // to have the rest of what the phase reads
  };

  // A stretch of forward nodes between two cuts, and the later nodes that read
  // what it wrote.
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
  };

  // `model` must outlive the result.
  RematBlocks(const RematModel& model, int32_t max_blocks);

  // In the order of their nodes. Measured if there are two or more; otherwise
  // the graph is no chain.
  const std::vector<Block>& blocks() const { return blocks_; }

  // Returns the values at the cut behind block b.
  std::vector<int32_t> NextCut(size_t b) const;

  // Returns the values of both lists.
  static std::vector<int32_t> Union(std::vector<int32_t> a,
                                    const std::vector<int32_t>& b);

  // Marks the nodes of a block that must run to have `wanted` from the cut and
  // `held`; returns their cost.
  //
  //   runs: one per node of the block.
  int64_t Closure(const Block& block, const std::vector<int32_t>& wanted,
                  const std::vector<int32_t>& held,
                  std::vector<char>* runs) const;

  // Operands looked at so far.
  int64_t work() const { return work_; }

 private:
  int32_t LastReadBefore(int32_t value, int32_t end) const;
  void FindBlocks();
  uint64_t NodeHash(int32_t n) const;
  size_t Stride(const std::vector<int32_t>& cuts);
  bool IsAtCut(const Block& block, int32_t value) const;
  void FindPhases();
  int64_t ThroughBytes(const Block& block, bool drops_cut) const;
  void Measure(size_t b);
  void RemoveCheapest(const Block& block, Keep* keep) const;
  void MeasurePhases();

  const RematModel& model_;
  const int32_t max_blocks_;
  const int32_t turn_;  // forward nodes are [0, turn_)
  std::vector<int32_t> last_forward_read_;
  std::vector<int32_t> block_of_;  // per value; -1: no forward node writes it
  std::vector<Block> blocks_;
  mutable std::vector<char> held_;  // per value, while a closure is found
  mutable int64_t work_ = 0;
};

}  // namespace reprise

#endif  // PLANNER_REMAT_REMAT_BLOCKS_H_
