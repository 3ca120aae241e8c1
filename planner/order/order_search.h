// Lowers the peak of an order by moving tasks.

#ifndef PLANNER_ORDER_ORDER_SEARCH_H_
#define PLANNER_ORDER_ORDER_SEARCH_H_

#include <cstdint>
#include <vector>

#include "planner/order/order_model.h"
#include "planner/task_graph.h"

namespace reprise {

struct OrderSearchOptions {
  int64_t max_work = 1'000'000;  // operands to look at
  int64_t enough_bytes = 0;      // a peak that ends the search
};

// Returns an order of the scheduled tasks whose peak is that of `scheduled` or
// lower.
//
//   model:     nothing has run; so it is left.
//   scheduled: the tasks of the model that are scheduled, in a legal order.
std::vector<TaskId> SearchOrder(OrderModel& model,
                                std::vector<TaskId> scheduled,
                                const OrderSearchOptions& options);

}  // namespace reprise

#endif  // PLANNER_ORDER_ORDER_SEARCH_H_
