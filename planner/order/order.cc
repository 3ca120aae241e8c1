// Orders: any sequence that respects the dependences below is legal; they
// differ in how much lives at once.
//
//   data    a task comes after the tasks that write what it reads
//   old     a task that overwrites a content comes after all its other readers,
//           replays included
//   guard   every update comes after the guard
//
// Candidates are made by one list scheduler (planner/order/list_scheduler.h)
// and judged by their exact peak (planner/liveness.h):
//
//   gradient release  the lowered order, but an update runs as soon as it may,
//                     so that its gradient dies
//   demand            depth first from what is wanted, the earliest gradient's
//                     update first: a branch is finished before the next
//   least live        always the ready task that adds the fewest bytes
//   file              the lowered order
//
// Some tasks are not scheduled but fetched: those marked `on_demand` run
// directly before the first scheduled task that needs them. These are replays,
// and whatever in the backward pass does not depend on a gradient: reorders of
// parameters, constants, factors made of forward values. As a scheduled task is
// only taken when everything else it needs is there, a replay starts after the
// incoming gradient of the earliest backward node it serves, and as late as its
// readers allow, in every candidate:
//
//   forward: a b c   loss   backward: c' b' a'     region {a b}, a' b' read a b
//   order:   a b c loss c' [a b] b' a'
//
// The best of them is proven if its peak is that of a lower bound
// (planner/order/order_model.h). If it is not, a search over sets of tasks
// looks for the lowest peak of all (planner/order/order_exact.h), and where
// that does not come to an end, moves of single tasks lower what is there
// (planner/order/order_search.h).
//
// Tested by tests/planner/order_test.cc.

#include "planner/order/order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/plan.h"
#include "core/status_macros.h"
#include "planner/order/list_scheduler.h"
#include "planner/order/order_exact.h"
#include "planner/order/order_model.h"
#include "planner/order/order_search.h"

namespace reprise {
namespace {

// Sums of work do not overflow.
constexpr int64_t kMostWork = int64_t{1} << 56;

std::vector<int64_t> FileKeys(const TaskGraph& tasks) {
  std::vector<int64_t> keys;
  keys.reserve(tasks.tasks.size());
  for (const Task& task : tasks.tasks) keys.push_back(task.node);
  return keys;
}

// As in the file, but everything after the backward pass at once: updates and
// what leads to them.
std::vector<int64_t> ReleaseKeys(const LoweredGraph& graph,
                                 const TaskGraph& tasks) {
  std::vector<int64_t> keys = FileKeys(tasks);
  const int64_t num_nodes = static_cast<int64_t>(graph.nodes.size());
  for (int64_t& key : keys) {
    if (graph.nodes[key].role == Role::kUpdate) key -= num_nodes;
  }
  return keys;
}

Order Judge(const ListScheduler& scheduler, std::vector<TaskId> tasks,
            const char* name, const LivenessOptions& options) {
  Order order;
  order.name = name;
  order.tasks = std::move(tasks);
  order.peak = ComputeLiveness(scheduler.graph(), scheduler.tasks(),
                               order.tasks, options)
                   .peak;
  return order;
}

// Returns the best of the candidates; the first of equals.
absl::StatusOr<Order> BestCandidate(const ListScheduler& scheduler,
                                    const LivenessOptions& options) {
  const LoweredGraph& graph = scheduler.graph();
  const TaskGraph& tasks = scheduler.tasks();
  ASSIGN_OR_RETURN(std::vector<TaskId> released,
                   scheduler.ByKeys(ReleaseKeys(graph, tasks)));
  Order best =
      Judge(scheduler, std::move(released), "gradient release", options);
  const auto offer = [&](absl::StatusOr<std::vector<TaskId>> order,
                         const char* name) {
    if (!order.ok()) return order.status();
    Order judged = Judge(scheduler, *std::move(order), name, options);
    if (judged.peak.bytes < best.peak.bytes) best = std::move(judged);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(offer(scheduler.ByKeys(scheduler.DemandRanks()), "demand"));
  RETURN_IF_ERROR(offer(scheduler.LeastLive(), "least live bytes"));
  RETURN_IF_ERROR(offer(scheduler.ByKeys(FileKeys(tasks)), "file"));
  return best;
}

std::vector<TaskId> ScheduledOf(const TaskGraph& tasks,
                                absl::Span<const TaskId> order) {
  std::vector<TaskId> scheduled;
  for (const TaskId t : order) {
    if (!tasks.tasks[t].on_demand) scheduled.push_back(t);
  }
  return scheduled;
}

// Puts an order of the scheduled tasks in the place of `best` if its peak is
// lower.
absl::Status Improve(const ListScheduler& scheduler,
                     absl::Span<const TaskId> scheduled, const char* name,
                     const LivenessOptions& options, Order& best) {
  std::vector<int64_t> keys(scheduler.tasks().tasks.size(), 0);
  for (size_t i = 0; i < scheduled.size(); ++i) {
    keys[scheduled[i]] = static_cast<int64_t>(i);
  }
  ASSIGN_OR_RETURN(std::vector<TaskId> tasks, scheduler.ByKeys(keys));
  Order order = Judge(scheduler, std::move(tasks), name, options);
  if (order.peak.bytes < best.peak.bytes) best = std::move(order);
  return absl::OkStatus();
}

// Proves or lowers the peak of `best`.
absl::Status Search(const ListScheduler& scheduler, const OrderOptions& options,
                    Order& best) {
  OrderModel model(scheduler, options.liveness);
  const std::vector<TaskId> scheduled =
      ScheduledOf(scheduler.tasks(), best.tasks);
  for (const TaskId t : scheduled) model.Run(t);
  const int64_t finish_bytes = model.FinishBytes();
  for (size_t i = 0; i < scheduled.size(); ++i) model.Undo();
  const int64_t work = std::min(options.search_work, kMostWork);
  // What the bound counts is cheaper than operands.
  const int64_t bound = std::max(model.LowerBound(16 * work), finish_bytes);
  best.bound_bytes = bound;
  best.proven = best.peak.bytes == bound;
  if (best.proven) return absl::OkStatus();

  ExactOrderOptions exact_options;
  exact_options.lower_bound_bytes = bound;
  exact_options.known_peak_bytes = best.peak.bytes;
  exact_options.max_work = work;
  const ExactOrder exact = FindExactOrder(model, exact_options);
  if (!exact.scheduled.empty()) {
    RETURN_IF_ERROR(Improve(scheduler, exact.scheduled, "best of all sets",
                            options.liveness, best));
  }
  best.proven = exact.proven;
  best.bound_bytes = exact.bound_bytes;
  if (best.proven) return absl::OkStatus();

  OrderSearchOptions search_options;
  search_options.max_work = work;
  search_options.enough_bytes = exact.bound_bytes;
  RETURN_IF_ERROR(Improve(scheduler,
                          SearchOrder(model, scheduled, search_options),
                          "moved tasks", options.liveness, best));
  best.bound_bytes = exact.bound_bytes;
  best.proven = best.peak.bytes == best.bound_bytes;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Order> FileOrder(const LoweredGraph& graph,
                                const TaskGraph& tasks,
                                const LivenessOptions& options) {
  const ListScheduler scheduler(graph, tasks);
  ASSIGN_OR_RETURN(std::vector<TaskId> order,
                   scheduler.ByKeys(FileKeys(tasks)));
  return Judge(scheduler, std::move(order), "file", options);
}

absl::StatusOr<Order> LeastPeakOrder(const LoweredGraph& graph,
                                     const TaskGraph& tasks,
                                     const OrderOptions& options) {
  const ListScheduler scheduler(graph, tasks);
  ASSIGN_OR_RETURN(Order best, BestCandidate(scheduler, options.liveness));
  if (options.search_work > 0 && !best.tasks.empty()) {
    RETURN_IF_ERROR(Search(scheduler, options, best));
  }
  return best;
}

}  // namespace reprise
