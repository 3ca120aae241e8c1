// "Ready" must see through fetched tasks without walking them each time. So one
// whose needs are met counts as done for its readers (it is one demand away),
// but not for a task that overwrites what it reads, which waits until it has
// really run. Each dependence is looked at a constant number of times; the
// demand walk has a stack of its own. A chain of 100,000 nodes is no different
// from a short one.

#include "planner/order/list_scheduler.h"

#include <algorithm>
#include <cstddef>
#include <queue>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/plan.h"

namespace reprise {

NumberLists::NumberLists(size_t num_keys,
                         absl::Span<const std::pair<int32_t, int32_t>> pairs)
    : begin_(num_keys + 1, 0), numbers_(pairs.size()) {
  for (const auto& pair : pairs) ++begin_[pair.first + 1];
  for (size_t k = 0; k < num_keys; ++k) begin_[k + 1] += begin_[k];
  std::vector<int64_t> next(begin_.begin(), begin_.end() - 1);
  for (const auto& [key, number] : pairs) numbers_[next[key]++] = number;
}

namespace {

NumberLists ReadersOf(const TaskGraph& tasks) {
  ListScheduler::Pairs pairs;
  for (size_t t = 0; t < tasks.tasks.size(); ++t) {
    for (const InstanceId in : tasks.tasks[t].in) {
      if (in >= 0) pairs.push_back({in, static_cast<int32_t>(t)});
    }
  }
  return NumberLists(tasks.instances.size(), pairs);
}

// (before, after) pairs of tasks that are no data dependences.
ListScheduler::Pairs OrderingPairs(const LoweredGraph& graph,
                                   const TaskGraph& tasks,
                                   const NumberLists& readers) {
  ListScheduler::Pairs pairs;
  TaskId guard = -1;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].effect == Effect::kGuard) guard = static_cast<TaskId>(n);
  }
  for (size_t i = 0; i < tasks.tasks.size(); ++i) {
    const TaskId t = static_cast<TaskId>(i);
    const Task& task = tasks.tasks[t];
    if (guard >= 0 && graph.nodes[task.node].effect == Effect::kUpdate) {
      pairs.push_back({guard, t});
    }
    for (const Overwrite& o : graph.MustOverwrite(task.node)) {
      for (const TaskId reader : readers.of(task.in[o.in])) {
        if (reader != t) pairs.push_back({reader, t});
      }
    }
  }
  return pairs;
}

// One run of the list scheduler.
template <typename Priority>
class Scheduling {
 public:
  Scheduling(const LoweredGraph& graph, const TaskGraph& tasks,
             const NumberLists& readers, const ListScheduler::Pairs& ordering,
             const NumberLists& ordered_after, Priority& priority)
      : graph_(graph),
        tasks_(tasks),
        readers_(readers),
        ordered_after_(ordered_after),
        priority_(priority),
        waits_for_(tasks.tasks.size(), 0),
        version_(tasks.tasks.size(), 0),
        ran_(tasks.tasks.size(), false) {
    for (size_t t = 0; t < tasks_.tasks.size(); ++t) {
      for (const InstanceId in : tasks_.tasks[t].in) {
        if (in >= 0 && tasks_.instances[in].producer >= 0) ++waits_for_[t];
      }
    }
    for (const auto& pair : ordering) ++waits_for_[pair.second];
  }

  absl::StatusOr<std::vector<TaskId>> Run() {
    const TaskId num_tasks = static_cast<TaskId>(tasks_.tasks.size());
    for (TaskId t = 0; t < num_tasks; ++t) {
      if (waits_for_[t] == 0) met_.push_back(t);
    }
    SpreadMet();
    while (!ready_.empty()) {
      const Entry entry = ready_.top();
      ready_.pop();
      const TaskId t = entry.task;
      if (ran_[t] || entry.version != version_[t]) continue;
      FetchAndRun(t);
      SpreadMet();
    }
    // On-demand tasks that only a result asks for.
    for (TaskId t = 0; t < num_tasks; ++t) {
      if (tasks_.tasks[t].on_demand && waits_for_[t] == 0) FetchAndRun(t);
    }
    for (TaskId t = 0; t < num_tasks; ++t) {
      if (ran_[t]) continue;
      return absl::InternalError(
          absl::StrCat("node '", graph_.nodes[tasks_.tasks[t].node].name,
                       "': waits for itself, so there is no order"));
    }
    return std::move(order_);
  }

 private:
  struct Entry {
    int64_t key;
    TaskId task;
    int32_t version;

    // The top of a std::priority_queue is its largest element.
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.key != b.key ? a.key > b.key : a.task > b.task;
    }
  };

  bool on_demand(TaskId t) const { return tasks_.tasks[t].on_demand; }

  void Satisfy(TaskId t) {
    if (--waits_for_[t] == 0) met_.push_back(t);
  }

  void SatisfyReaders(TaskId t) {
    for (const InstanceId out : tasks_.tasks[t].out) {
      if (out < 0) continue;
      for (const TaskId reader : readers_.of(out)) Satisfy(reader);
    }
  }

  // Tasks whose needs are met become ready, or, on demand, pass it on.
  void SpreadMet() {
    while (!met_.empty()) {
      const TaskId t = met_.back();
      met_.pop_back();
      if (on_demand(t)) {
        SatisfyReaders(t);
      } else {
        Push(t);
      }
    }
  }

  void Push(TaskId t) { ready_.push({priority_.Key(t), t, ++version_[t]}); }

  // Runs `t` after the on-demand tasks it needs; all their needs are met.
  void FetchAndRun(TaskId t) {
    if (ran_[t]) return;
    // (task, next operand to look at)
    std::vector<std::pair<TaskId, size_t>> stack = {{t, 0}};
    while (!stack.empty()) {
      auto& [task, next] = stack.back();
      const std::vector<InstanceId>& in = tasks_.tasks[task].in;
      TaskId needed = -1;
      while (next < in.size() && needed < 0) {
        const InstanceId i = in[next++];
        if (i < 0 || tasks_.instances[i].producer < 0) continue;
        const TaskId producer = tasks_.instances[i].producer;
        if (!ran_[producer]) needed = producer;
      }
      if (needed >= 0) {
        stack.push_back({needed, 0});
        continue;
      }
      RunOne(task);
      stack.pop_back();
    }
  }

  void RunOne(TaskId t) {
    ran_[t] = true;
    order_.push_back(t);
    if (!on_demand(t)) SatisfyReaders(t);
    for (const TaskId after : ordered_after_.of(t)) Satisfy(after);
    priority_.Ran(t, [this](TaskId changed) {
      if (version_[changed] > 0 && !ran_[changed]) Push(changed);
    });
  }

  const LoweredGraph& graph_;
  const TaskGraph& tasks_;
  const NumberLists& readers_;
  const NumberLists& ordered_after_;
  Priority& priority_;
  std::vector<int32_t> waits_for_;  // dependences not yet met
  std::vector<int32_t> version_;    // of the entry in `ready_` that counts
  std::vector<bool> ran_;
  std::vector<TaskId> met_;
  std::priority_queue<Entry> ready_;
  std::vector<TaskId> order_;
};

// Keys that do not change.
class FixedPriority {
 public:
  explicit FixedPriority(absl::Span<const int64_t> keys) : keys_(keys) {}
  int64_t Key(TaskId t) const { return keys_[t]; }
  template <typename Changed>
  void Ran(TaskId, Changed) {}

 private:
  const absl::Span<const int64_t> keys_;
};

// Key: bytes that running a task adds: results and what must be fetched for
// it, less the operands that nobody else is going to read.
class LeastLivePriority {
 public:
  LeastLivePriority(const LoweredGraph& graph, const TaskGraph& tasks,
                    const NumberLists& readers)
      : graph_(graph),
        tasks_(tasks),
        readers_(readers),
        reads_left_(tasks_.instances.size(), 0),
        ran_(tasks_.tasks.size(), false) {
    for (size_t i = 0; i < reads_left_.size(); ++i) {
      reads_left_[i] =
          static_cast<int32_t>(readers_.of(static_cast<int32_t>(i)).size());
    }
    // A result is read once more, by the caller.
    for (const InstanceId i : tasks_.results) {
      if (i >= 0) ++reads_left_[i];
    }
  }

  int64_t Key(TaskId t) const {
    const Task& task = tasks_.tasks[t];
    int64_t added = 0;
    for (const InstanceId out : task.out) added += TransientBytes(out);
    for (size_t i = 0; i < task.in.size(); ++i) {
      const InstanceId in = task.in[i];
      if (in < 0) continue;
      const auto first = std::find(task.in.begin(), task.in.end(), in);
      if (first != task.in.begin() + static_cast<std::ptrdiff_t>(i)) continue;
      const TaskId producer = tasks_.instances[in].producer;
      const bool fetched = producer >= 0 && !ran_[producer];
      if (fetched) added += TransientBytes(in);
      const auto uses = std::count(task.in.begin(), task.in.end(), in);
      if (reads_left_[in] == uses) added -= TransientBytes(in);
    }
    return added;
  }

  template <typename Changed>
  void Ran(TaskId t, Changed changed) {
    ran_[t] = true;
    for (const InstanceId in : tasks_.tasks[t].in) {
      if (in < 0) continue;
      --reads_left_[in];
      // Whoever reads it last would now free it. Long lists are walked at most
      // twice, near their end.
      if (reads_left_[in] == 0 || reads_left_[in] > 2) continue;
      for (const TaskId reader : readers_.of(in)) {
        if (!ran_[reader]) changed(reader);
      }
    }
    if (!tasks_.tasks[t].on_demand) return;
    for (const InstanceId out : tasks_.tasks[t].out) {
      if (out < 0) continue;
      for (const TaskId reader : readers_.of(out)) changed(reader);
    }
  }

 private:
  int64_t TransientBytes(InstanceId instance) const {
    if (instance < 0) return 0;
    const LoweredValue& value = graph_.values[tasks_.instances[instance].value];
    return IsPersistent(value.kind) ? 0 : AlignUp(value.bytes);
  }

  const LoweredGraph& graph_;
  const TaskGraph& tasks_;
  const NumberLists& readers_;
  std::vector<int32_t> reads_left_;  // of each instance
  std::vector<bool> ran_;            // by task
};

}  // namespace

ListScheduler::ListScheduler(const LoweredGraph& graph, const TaskGraph& tasks)
    : graph_(graph),
      tasks_(tasks),
      readers_(ReadersOf(tasks)),
      ordering_(OrderingPairs(graph, tasks, readers_)),
      ordered_after_(tasks.tasks.size(), ordering_) {}

absl::StatusOr<std::vector<TaskId>> ListScheduler::ByKeys(
    absl::Span<const int64_t> keys) const {
  FixedPriority priority(keys);
  return Scheduling<FixedPriority>(graph_, tasks_, readers_, ordering_,
                                   ordered_after_, priority)
      .Run();
}

absl::StatusOr<std::vector<TaskId>> ListScheduler::LeastLive() const {
  LeastLivePriority priority(graph_, tasks_, readers_);
  return Scheduling<LeastLivePriority>(graph_, tasks_, readers_, ordering_,
                                       ordered_after_, priority)
      .Run();
}

std::vector<int64_t> ListScheduler::DemandRanks() const {
  const TaskId num_tasks = static_cast<TaskId>(tasks_.tasks.size());
  Pairs reversed;
  reversed.reserve(ordering_.size());
  for (const auto& [before, after] : ordering_) {
    reversed.push_back({after, before});
  }
  const NumberLists ordered_before(num_tasks, reversed);

  // Wanted: tasks nobody waits for. Those whose own needs come first in the
  // lowered order are visited first, so the last layer's update, whose gradient
  // is the first, goes before the others.
  std::vector<bool> waited_for(num_tasks, false);
  std::vector<TaskId> latest_need(num_tasks, -1);
  const auto note = [&](TaskId before, TaskId after) {
    waited_for[before] = true;
    latest_need[after] = std::max(latest_need[after], before);
  };
  for (TaskId t = 0; t < num_tasks; ++t) {
    for (const InstanceId in : tasks_.tasks[t].in) {
      if (in >= 0 && tasks_.instances[in].producer >= 0) {
        note(tasks_.instances[in].producer, t);
      }
    }
  }
  for (const auto& [before, after] : ordering_) note(before, after);
  std::vector<TaskId> wanted;
  for (TaskId t = 0; t < num_tasks; ++t) {
    if (!waited_for[t]) wanted.push_back(t);
  }
  std::stable_sort(wanted.begin(), wanted.end(), [&](TaskId a, TaskId b) {
    return latest_need[a] < latest_need[b];
  });

  std::vector<int64_t> rank(num_tasks, -1);
  std::vector<bool> entered(num_tasks, false);
  int64_t next_rank = 0;
  std::vector<std::pair<TaskId, size_t>> stack;  // (task, next need)
  for (const TaskId root : wanted) {
    stack.push_back({root, 0});
    entered[root] = true;
    while (!stack.empty()) {
      auto& [task, next] = stack.back();
      const std::vector<InstanceId>& in = tasks_.tasks[task].in;
      const absl::Span<const int32_t> before = ordered_before.of(task);
      TaskId need = -1;
      while (next < in.size() + before.size() && need < 0) {
        const size_t i = next++;
        TaskId candidate = -1;
        if (i >= in.size()) {
          candidate = before[i - in.size()];
        } else if (in[i] >= 0) {
          candidate = tasks_.instances[in[i]].producer;
        }
        if (candidate >= 0 && !entered[candidate]) need = candidate;
      }
      if (need >= 0) {
        entered[need] = true;
        stack.push_back({need, 0});
        continue;
      }
      rank[task] = next_rank++;
      stack.pop_back();
    }
  }
  return rank;
}

}  // namespace reprise
