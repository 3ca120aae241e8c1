// The lowest peak of all orders, where finding it takes little.

#ifndef PLANNER_ORDER_ORDER_EXACT_H_
#define PLANNER_ORDER_ORDER_EXACT_H_

#include <cstdint>
#include <vector>

#include "planner/order/order_model.h"
#include "planner/task_graph.h"

namespace reprise {

struct ExactOrderOptions {
  int64_t lower_bound_bytes = 0;  // no order has a lower peak
  int64_t known_peak_bytes = 0;   // of an order that is there already
  int64_t max_work = 1'000'000;   // operands to look at
};

struct ExactOrder {
  // Scheduled tasks in an order of the lowest peak; empty: none below the known
  // one was found.
  std::vector<TaskId> scheduled;
  // The search ended by itself: no order has a peak below that of `scheduled`,
  // or, if that is empty, below the known one.
  bool proven = false;
  // No order has a lower peak, as far as the search got.
  int64_t bound_bytes = 0;
};

// Returns the best of all orders of the scheduled tasks, each directly behind
// the on-demand tasks it needs.
//
//   model: nothing has run; so it is left.
ExactOrder FindExactOrder(OrderModel& model, const ExactOrderOptions& options);

}  // namespace reprise

#endif  // PLANNER_ORDER_ORDER_EXACT_H_
