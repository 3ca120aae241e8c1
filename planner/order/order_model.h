// What lives while tasks run one after another, kept up to date as tasks are
// run and taken back: the memory model of planner/liveness.h for searches that
// try many orders.

#ifndef PLANNER_ORDER_ORDER_MODEL_H_
#define PLANNER_ORDER_ORDER_MODEL_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/lowered_graph.h"
#include "planner/liveness.h"
#include "planner/order/list_scheduler.h"
#include "planner/task_graph.h"

namespace reprise {

// A stack of tasks that have run. Bytes live, and what is ready, depend on the
// set of tasks on the stack only, not on their order.
class OrderModel {
 public:
  // The scheduler must outlive the model. Nothing has run.
  //
  //   cost: O(operands).
  OrderModel(const ListScheduler& scheduler, const LivenessOptions& options);

  // The tasks that have a place of their own, by id.
  const std::vector<TaskId>& scheduled() const { return scheduled_; }

  // Returns whether everything a scheduled task waits for has run, or is
  // fetched with it.
  bool Ready(TaskId t) const { return waits_for_[t] == 0 && !ran_[t]; }
  bool ran(TaskId t) const { return ran_[t]; }

  // Runs a ready task after the on-demand tasks it needs.
  //
  //   returns: the most bytes live during these runs.
  int64_t Run(TaskId t);

  // Takes the last Run back.
  void Undo();

  // The most bytes live while the on-demand tasks that only results ask for
  // run. All scheduled tasks have run.
  int64_t FinishBytes();

  // Bytes that live between two tasks.
  int64_t live() const { return live_; }

  // Bytes that were there before the last Run and that on-demand tasks freed in
  // it. Another task that fetches them would have freed as many.
  int64_t freed_on_demand() const { return freed_on_demand_; }

  // Tasks that got ready by the last Run, by some order of their own.
  absl::Span<const TaskId> newly_ready() const { return newly_ready_; }

  // The tasks that must run before `t`: all of them directly, on-demand tasks
  // included, one per dependence.
  template <typename Visit>
  void ForEachNeed(TaskId t, const Visit& visit) const {
    for (const InstanceId in : tasks_.tasks[t].in) {
      if (in >= 0 && tasks_.instances[in].producer >= 0) {
        visit(tasks_.instances[in].producer);
      }
    }
    for (const int32_t before : ordered_before_.of(t)) visit(before);
  }

  // The scheduled task that an on-demand task ran for; -1: it has not run.
  TaskId fetched_for(TaskId t) const { return fetched_for_[t]; }

  // Operands looked at so far, a measure of time.
  int64_t work() const { return work_; }

  // A lower bound on the peak of any order, fetched or not: what must live
  // while some one task runs.
  //
  //   returns: 0 if finding it takes more than `max_work`.
  //   cost:    O(tasks * operands / 64).
  int64_t LowerBound(int64_t max_work) const;

 private:
  // A pair of kernels' permission that only liveness still has to grant.
  struct Merge {
    InstanceId in;
    InstanceId out;
    int64_t bytes;
    bool must;
  };

  void FindBytes(const LivenessOptions& options);
  void FindMerges(TaskId t, const LivenessOptions& options);
  void Satisfy(TaskId t);
  void Unsatisfy(TaskId t);
  int64_t RunOne(TaskId t);
  void UndoOne(TaskId t);
  int64_t MergedBytes(TaskId t) const;

  const LoweredGraph& graph_;
  const TaskGraph& tasks_;
  const NumberLists& readers_;  // once per operand
  const NumberLists ordered_after_;
  const NumberLists ordered_before_;
  std::vector<TaskId> scheduled_;
  std::vector<int64_t> bytes_;   // of each instance; 0: takes no arena bytes
  std::vector<bool> is_result_;  // by instance
  std::vector<int32_t> merge_begin_;  // by task, and one more
  std::vector<Merge> merges_;
  std::vector<int64_t> scratchpad_;  // by task
  int64_t initial_ = 0;              // of inputs, before anything ran
  int64_t unread_inputs_ =
      0;  // of them, those that live at the first step only

  std::vector<int32_t> waits_for_;   // by task
  std::vector<int32_t> reads_left_;  // by instance, once per operand
  std::vector<bool> ran_;
  std::vector<TaskId> fetched_for_;
  std::vector<TaskId> runs_;     // every run, fetched ones included
  std::vector<size_t> run_end_;  // for each Run: runs_.size() before it
  std::vector<TaskId> newly_ready_;
  std::vector<TaskId> met_;                          // a stack
  std::vector<std::pair<TaskId, size_t>> fetching_;  // a stack
  std::vector<size_t> run_at_;  // by task that has run: its index in `runs_`
  int64_t freed_on_demand_ = 0;
  int64_t live_ = 0;
  int64_t work_ = 0;
};

}  // namespace reprise

#endif  // PLANNER_ORDER_ORDER_MODEL_H_
