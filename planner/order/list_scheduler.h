// Legal orders of tasks, by priority.

#ifndef PLANNER_ORDER_LIST_SCHEDULER_H_
#define PLANNER_ORDER_LIST_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/lowered_graph.h"
#include "planner/task_graph.h"

namespace reprise {

// Lists of numbers, one list per key, in one piece of memory.
class NumberLists {
 public:
  // pairs: (key, number), keys in [0, num_keys); order within a key is kept.
  NumberLists(size_t num_keys,
              absl::Span<const std::pair<int32_t, int32_t>> pairs);

  absl::Span<const int32_t> of(int32_t key) const {
    return absl::MakeConstSpan(numbers_).subspan(begin_[key],
                                                 begin_[key + 1] - begin_[key]);
  }

 private:
  std::vector<int64_t> begin_;
  std::vector<int32_t> numbers_;
};

// Makes orders that respect every dependence; see planner/order/order.cc for
// what they are, and for tasks that are fetched.
//
//   errors: Internal naming a node if the dependences form a cycle.
//   cost:   O(operands * log tasks) for each order.
class ListScheduler {
 public:
  using Pairs = std::vector<std::pair<int32_t, int32_t>>;

  // The graphs must outlive the scheduler.
  ListScheduler(const LoweredGraph& graph, const TaskGraph& tasks);

  // Returns the order that always takes the ready task of the lowest key; ties
  // go to the lower id.
  absl::StatusOr<std::vector<TaskId>> ByKeys(
      absl::Span<const int64_t> keys) const;

  // Returns the order that always takes the ready task that adds the fewest
  // bytes.
  absl::StatusOr<std::vector<TaskId>> LeastLive() const;

  // Returns for each task its place in a walk, depth first, from what is
  // wanted.
  std::vector<int64_t> DemandRanks() const;

  const LoweredGraph& graph() const { return graph_; }
  const TaskGraph& tasks() const { return tasks_; }

  // Of each instance: the tasks that read it, once per operand.
  const NumberLists& readers() const { return readers_; }

  // (before, after) pairs of tasks that are no data dependences: readers of an
  // old content and who overwrites it, the guard and the updates.
  const Pairs& ordering() const { return ordering_; }

 private:
  const LoweredGraph& graph_;
  const TaskGraph& tasks_;
  const NumberLists readers_;
  const Pairs ordering_;
  const NumberLists ordered_after_;
};

}  // namespace reprise

#endif  // PLANNER_ORDER_LIST_SCHEDULER_H_
