// Dynamic programming on lower sets of the forward part.

#ifndef PLANNER_REMAT_REMAT_LOWER_SETS_H_
#define PLANNER_REMAT_REMAT_LOWER_SETS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "planner/remat/remat_model.h"

namespace reprise {

struct LowerSetOptions {
  int64_t budget_bytes = 0;
  int32_t max_sets = 96;
  int32_t max_slots = 200;  // units of memory that the program tells apart
  // Operands and nodes that are looked at to measure sets and steps, about: it
  // leaves fewer sets.
  int64_t work_limit = 100'000'000;
};

// The program of one graph and budget. How much memory it may believe to have
// is asked last, as its idea of memory is simpler than the model.
class LowerSetProgram {
 public:
  LowerSetProgram(const RematModel& model, const LowerSetOptions& options);
  ~LowerSetProgram();

  // Whether there is a set between none and all of the forward part.
  bool has_sets() const;

  // Returns the runs of the cheapest plan in `slots` units of memory, at most
  // max_slots; empty if there is none. No node runs more than twice.
  std::vector<int32_t> Runs(int32_t slots) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace reprise

#endif  // PLANNER_REMAT_REMAT_LOWER_SETS_H_
