// Peak-driven insertion of repeats, and pruning.

#ifndef PLANNER_REMAT_INSERTION_H_
#define PLANNER_REMAT_INSERTION_H_

#include <cstdint>

#include "planner/remat_edit.h"

namespace reprise {

// Adds repeats until nothing exceeds the budget: each time the one that, among
// the contents that lie over the peak without being read there, relieves most
// excess per added cost.
//
//   noise:      0: none; otherwise scores vary by up to this factor.
//   work_limit: of timeline.work().
//   returns:    whether the budget is met.
bool InsertUntilFits(RematEdit& edit, double noise, int64_t work_limit);

// Takes out every repeat that the budget does not need, dearest first. What
// exceeds the budget already does not grow.
void Prune(RematEdit& edit);

}  // namespace reprise

#endif  // PLANNER_REMAT_INSERTION_H_
