// Local search: simulated annealing on which repeats there are, and where.

#ifndef PLANNER_REMAT_REMAT_ANNEAL_H_
#define PLANNER_REMAT_REMAT_ANNEAL_H_

#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "planner/remat/remat_model.h"

namespace reprise {

struct AnnealOptions {
  int64_t budget_bytes = 0;
  uint64_t seed = 1;
  int64_t work_limit = 0;
  // Each cycle starts from the best so far and cools down. Temperatures are
  // parts of the mean cost of a repeat in the start.
  int cycles = 4;
  double start_temperature = 1;
  double cooling = 0.03;  // the temperature at the end, of that at the start
};

// Returns the cheapest sequence met that fits the budget; nullopt if none did.
//
//   start: need not fit.
absl::optional<std::vector<int32_t>> Anneal(const RematModel& model,
                                            absl::Span<const int32_t> start,
                                            const AnnealOptions& options);

}  // namespace reprise

#endif  // PLANNER_REMAT_REMAT_ANNEAL_H_
