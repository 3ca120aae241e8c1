// Optimal dynamic programming on chains of blocks.

#ifndef PLANNER_REMAT_REMAT_CHAIN_H_
#define PLANNER_REMAT_REMAT_CHAIN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "planner/remat/remat_model.h"

namespace reprise {

struct ChainOptions {
  int64_t budget_bytes = 0;
  int32_t max_blocks = 128;
  int32_t max_slots = 400;  // units of memory that the program tells apart
  // Tables of equal stretches of the chain are computed once.
  bool recognise_equal_blocks = true;
};

// The program of one graph and budget. How much memory it may believe to have
// is asked last, as its idea of memory is simpler than the model.
class ChainProgram {
 public:
  ChainProgram(const RematModel& model, const ChainOptions& options);
  ~ChainProgram();

  // Whether the graph is a chain of two or more blocks.
  bool is_chain() const;

  // Tables filled, and what would have been without equal stretches.
  int64_t num_tables() const;
  int64_t num_stretches() const;

  // Operands and table entries looked at.
  int64_t work() const;

  // Returns the runs of the cheapest plan in `slots` units of memory, at most
  // max_slots; empty if there is none.
  std::vector<int32_t> Runs(int32_t slots) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace reprise

#endif  // PLANNER_REMAT_REMAT_CHAIN_H_
