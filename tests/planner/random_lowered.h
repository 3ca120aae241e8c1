// Random lowered training graphs: forward with nested regions, statistics and
// reorders, a loss, backward, a guard and updates.

#ifndef TESTS_PLANNER_RANDOM_LOWERED_H_
#define TESTS_PLANNER_RANDOM_LOWERED_H_

#include <cstdint>

#include "tests/planner/lowered_builder.h"

namespace reprise {

struct RandomLoweredOptions {
  int num_forward = 12;
  bool regions = true;
  bool annotate = true;  // random must_save and must_recompute
  bool reorders = true;
  bool updates = true;
};

// Returns a graph that `seed` determines. Regions are nested intervals of one
// order in which the nodes can run; the file lists them in another.
LoweredBuilder RandomLowered(uint64_t seed,
                             const RandomLoweredOptions& options);

}  // namespace reprise

#endif  // TESTS_PLANNER_RANDOM_LOWERED_H_
