// Peak-driven insertion of repeats, and pruning.

#ifndef PLANNER_REMAT_REMAT_INSERTION_H_
#define PLANNER_REMAT_REMAT_INSERTION_H_

#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "planner/remat/remat_edit.h"
#include "planner/remat/remat_model.h"

namespace reprise {

// Adds repeats until nothing exceeds the budget: each time the one that, among
// the contents that lie over the peak without being read there, relieves most
// excess per added cost.
//
//   noise:      0: none; otherwise scores vary by up to this factor.
//   work_limit: of timeline.work().
//   returns:    whether the budget is met.
bool InsertUntilFits(RematEdit& edit, double noise, int64_t work_limit);

// The same for graphs on which one look at all contents per repeat would take
// too long: each round ranks all contents once and adds repeats, best first,
// until nothing would exceed the budget if each relieved just what its content
// takes.
//
//   returns: nullopt if a round brings no progress before the budget is met.
//   cost:    O(operands * log(operands)) a round.
absl::optional<std::vector<int32_t>> InsertInRounds(const RematModel& model,
                                                    std::vector<int32_t> runs,
                                                    int64_t budget_bytes,
                                                    int64_t* work);

// Takes out every repeat that the budget does not need, dearest first. What
// exceeds the budget already does not grow.
void Prune(RematEdit& edit);

}  // namespace reprise

#endif  // PLANNER_REMAT_REMAT_INSERTION_H_
