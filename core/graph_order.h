// Orders things by what they depend on, and finds cycles.

#ifndef CORE_GRAPH_ORDER_H_
#define CORE_GRAPH_ORDER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace reprise {

// What each of a number of units depends on.
struct Dependencies {
  // Unit u depends on `on[begin[u]] .. on[begin[u + 1])`, in that order.
  std::vector<int64_t> begin = {0};
  std::vector<int32_t> on;

  int32_t num_units() const { return static_cast<int32_t>(begin.size()) - 1; }
};

// Returns the dependencies of `num_units` units from (unit, depends on) pairs;
// those of one unit stay in their order.
Dependencies MakeDependencies(
    int32_t num_units, absl::Span<const std::pair<int32_t, int32_t>> pairs);

struct Ordering {
  // All units, each after what it depends on (cycles aside).
  std::vector<int32_t> order;

  // The first few cycles found: each unit feeds the next, the last the first.
  std::vector<std::vector<int32_t>> cycles;
};

// Returns an order that is stable: units that already stand after all they
// depend on keep their order, others are preceded by what they lack.
//
//   cost: O(units + dependencies), no recursion.
Ordering OrderByDependencies(const Dependencies& dependencies);

}  // namespace reprise

#endif  // CORE_GRAPH_ORDER_H_
