// Bytes live while a task runs, given the set of tasks that ran before:
//
//   what lives between the two tasks + results + scratchpad
//   - results that take over the bytes of an operand nobody else will read
//
// That an operand dies, and so that a result may take its bytes, follows from
// the set of tasks done. So do the on-demand tasks that are fetched for a task,
// and the order in which they are. Undoing the last task hence restores
// everything exactly, and two orders of one set lead to one state: exchanging
// tasks inside a window changes nothing outside it.
//
// Cost: Run and Undo look at each operand of what they run, and at each reader
// of its results, once.
//
// The lower bound: while a task t runs, every value lives that an ancestor of t
// makes and that t or a descendant of t reads. In a train step, where most of
// the backward pass descends from the loss, that is nearly everything that
// lives there in the best order.
//
// Tested by tests/planner/order_search_test.cc, against planner/liveness.h, and
// its bound by tests/planner/order_exact_test.cc.

#include "planner/order/order_model.h"

#include <algorithm>
#include <cstddef>

#include "core/plan.h"

namespace reprise {
namespace {

ListScheduler::Pairs Reversed(const ListScheduler::Pairs& pairs) {
  ListScheduler::Pairs reversed;
  reversed.reserve(pairs.size());
  for (const auto& [before, after] : pairs) reversed.push_back({after, before});
  return reversed;
}

// One bit for each task, for each of many sets.
class BitSets {
 public:
  BitSets(size_t num_sets, size_t num_bits)
      : words_((num_bits + 63) / 64), bits_(num_sets * words_, 0) {}
  void Set(size_t set, size_t bit) {
    bits_[set * words_ + bit / 64] |= uint64_t{1} << (bit % 64);
  }
  bool Has(size_t set, size_t bit) const {
    return (bits_[set * words_ + bit / 64] >> (bit % 64) & 1) != 0;
  }
  void Unite(size_t to, size_t from) {
    for (size_t w = 0; w < words_; ++w) {
      bits_[to * words_ + w] |= bits_[from * words_ + w];
    }
  }
  absl::Span<const uint64_t> of(size_t set) const {
    return absl::MakeConstSpan(bits_).subspan(set * words_, words_);
  }
  size_t words() const { return words_; }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

}  // namespace

OrderModel::OrderModel(const ListScheduler& scheduler,
                       const LivenessOptions& options)
    : graph_(scheduler.graph()),
      tasks_(scheduler.tasks()),
      readers_(scheduler.readers()),
      ordered_after_(tasks_.tasks.size(), scheduler.ordering()),
      ordered_before_(tasks_.tasks.size(), Reversed(scheduler.ordering())),
      waits_for_(tasks_.tasks.size(), 0),
      reads_left_(tasks_.instances.size(), 0),
      ran_(tasks_.tasks.size(), false),
      fetched_for_(tasks_.tasks.size(), -1),
      run_at_(tasks_.tasks.size(), 0) {
  FindBytes(options);
  for (size_t t = 0; t < tasks_.tasks.size(); ++t) {
    const TaskId id = static_cast<TaskId>(t);
    scratchpad_.push_back(
        AlignUp(graph_.description(tasks_.tasks[t].node).scratchpad_bytes));
    FindMerges(id, options);
    if (!tasks_.tasks[t].on_demand) scheduled_.push_back(id);
    ForEachNeed(id, [&](TaskId) { ++waits_for_[t]; });
  }
  merge_begin_.push_back(static_cast<int32_t>(merges_.size()));
  for (size_t i = 0; i < tasks_.instances.size(); ++i) {
    reads_left_[i] =
        static_cast<int32_t>(readers_.of(static_cast<int32_t>(i)).size());
  }
  // A result is read once more, by the caller.
  for (const InstanceId i : tasks_.results) {
    if (i >= 0) ++reads_left_[i];
  }
  for (const LoweredValueId v : graph_.inputs) {
    (reads_left_[v] > 0 ? live_ : unread_inputs_) += bytes_[v];
  }
  initial_ = live_ + unread_inputs_;
  for (size_t t = 0; t < tasks_.tasks.size(); ++t) {
    if (waits_for_[t] == 0) met_.push_back(static_cast<TaskId>(t));
  }
  // Those that wait for nothing and are fetched count as met for their readers.
  const std::vector<TaskId> met = std::move(met_);
  met_.clear();
  for (const TaskId t : met) {
    if (!tasks_.tasks[t].on_demand) continue;
    for (const InstanceId out : tasks_.tasks[t].out) {
      if (out < 0) continue;
      for (const TaskId reader : readers_.of(out)) Satisfy(reader);
    }
  }
  for (const TaskId t : scheduled_) {
    if (waits_for_[t] == 0) newly_ready_.push_back(t);
  }
}

void OrderModel::FindBytes(const LivenessOptions&) {
  std::vector<bool> persists(tasks_.instances.size(), false);
  is_result_.assign(tasks_.instances.size(), false);
  for (const InstanceId i : tasks_.results) {
    if (i >= 0) is_result_[i] = true;
  }
  for (const LoweredValueId v : graph_.persistent) persists[v] = true;
  // Producers come before readers, and a replay updates nothing.
  for (const Task& task : tasks_.tasks) {
    for (const Overwrite& o : graph_.MustOverwrite(task.node)) {
      if (persists[task.in[o.in]]) persists[task.out[o.out]] = true;
    }
  }
  for (size_t i = 0; i < tasks_.instances.size(); ++i) {
    const int64_t bytes = graph_.values[tasks_.instances[i].value].bytes;
    bytes_.push_back(persists[i] ? 0 : AlignUp(bytes));
  }
}

void OrderModel::FindMerges(TaskId t, const LivenessOptions& options) {
  merge_begin_.push_back(static_cast<int32_t>(merges_.size()));
  const Task& task = tasks_.tasks[t];
  const auto size = [this](InstanceId i) {
    return graph_.values[tasks_.instances[i].value].bytes;
  };
  for (const Overwrite& o : graph_.MustOverwrite(task.node)) {
    const InstanceId in = task.in[o.in];
    const InstanceId out = task.out[o.out];
    if (bytes_[in] > 0) merges_.push_back({in, out, bytes_[out], true});
  }
  if (!options.in_place) return;
  const std::vector<Overwrite>& permitted =
      graph_.description(task.node).may_overwrite;
  for (const Overwrite& o : permitted) {
    const InstanceId in = task.in[o.in];
    const InstanceId out = task.out[o.out];
    if (in < 0 || out < 0 || bytes_[in] == 0 || bytes_[out] == 0) continue;
    if (size(in) != size(out) || is_result_[in]) continue;
    bool every_use = true;
    for (size_t i = 0; i < task.in.size(); ++i) {
      if (task.in[i] != in) continue;
      every_use =
          every_use && std::any_of(permitted.begin(), permitted.end(),
                                   [&](const Overwrite& other) {
                                     return other.in == static_cast<int>(i) &&
                                            other.out == o.out;
                                   });
    }
    if (every_use) merges_.push_back({in, out, bytes_[out], false});
  }
}

void OrderModel::Satisfy(TaskId t) {
  if (--waits_for_[t] > 0) return;
  if (!tasks_.tasks[t].on_demand) {
    newly_ready_.push_back(t);
    return;
  }
  met_.push_back(t);
  while (!met_.empty()) {
    const TaskId met = met_.back();
    met_.pop_back();
    for (const InstanceId out : tasks_.tasks[met].out) {
      if (out < 0) continue;
      for (const TaskId reader : readers_.of(out)) {
        ++work_;
        if (--waits_for_[reader] > 0) continue;
        (tasks_.tasks[reader].on_demand ? met_ : newly_ready_)
            .push_back(reader);
      }
    }
  }
}

void OrderModel::Unsatisfy(TaskId t) {
  if (++waits_for_[t] > 1 || !tasks_.tasks[t].on_demand) return;
  met_.push_back(t);
  while (!met_.empty()) {
    const TaskId met = met_.back();
    met_.pop_back();
    for (const InstanceId out : tasks_.tasks[met].out) {
      if (out < 0) continue;
      for (const TaskId reader : readers_.of(out)) {
        ++work_;
        if (++waits_for_[reader] == 1 && tasks_.tasks[reader].on_demand) {
          met_.push_back(reader);
        }
      }
    }
  }
}

int64_t OrderModel::MergedBytes(TaskId t) const {
  // Few pairs, so results and operands that are taken are found by looking.
  int64_t merged = 0;
  const int32_t begin = merge_begin_[t];
  const int32_t end = merge_begin_[t + 1];
  uint64_t granted = 0;  // of the first 64 pairs; no kernel has so many
  const std::vector<InstanceId>& in = tasks_.tasks[t].in;
  for (int32_t m = begin; m < end && m < begin + 64; ++m) {
    const Merge& merge = merges_[m];
    const auto uses = std::count(in.begin(), in.end(), merge.in);
    if (!merge.must && reads_left_[merge.in] != uses) continue;
    bool free = true;
    for (int32_t other = begin; other < m; ++other) {
      if ((granted >> (other - begin) & 1) == 0) continue;
      free = free && merges_[other].in != merge.in &&
             merges_[other].out != merge.out;
    }
    if (!free) continue;
    granted |= uint64_t{1} << (m - begin);
    merged += merge.bytes;
  }
  return merged;
}

int64_t OrderModel::RunOne(TaskId t) {
  const Task& task = tasks_.tasks[t];
  work_ += static_cast<int64_t>(task.in.size() + task.out.size());
  const int64_t before = runs_.empty() ? live_ + unread_inputs_ : live_;
  int64_t made = 0;
  for (const InstanceId out : task.out) {
    if (out >= 0) made += bytes_[out];
  }
  const int64_t bytes = before + made + scratchpad_[t] - MergedBytes(t);
  live_ += made;
  for (const InstanceId in : task.in) {
    if (in < 0 || --reads_left_[in] > 0) continue;
    live_ -= bytes_[in];
    const TaskId producer = tasks_.instances[in].producer;
    if (task.on_demand &&
        (producer < 0 || run_at_[producer] < run_end_.back())) {
      freed_on_demand_ += bytes_[in];
    }
  }
  for (const InstanceId out : task.out) {
    if (out >= 0 && reads_left_[out] == 0) live_ -= bytes_[out];
  }
  ran_[t] = true;
  run_at_[t] = runs_.size();
  runs_.push_back(t);
  if (!task.on_demand) {
    for (const InstanceId out : task.out) {
      if (out < 0) continue;
      for (const TaskId reader : readers_.of(out)) {
        ++work_;
        Satisfy(reader);
      }
    }
  }
  for (const TaskId after : ordered_after_.of(t)) Satisfy(after);
  return bytes;
}

void OrderModel::UndoOne(TaskId t) {
  const Task& task = tasks_.tasks[t];
  for (const TaskId after : ordered_after_.of(t)) Unsatisfy(after);
  if (!task.on_demand) {
    for (const InstanceId out : task.out) {
      if (out < 0) continue;
      for (const TaskId reader : readers_.of(out)) {
        ++work_;
        Unsatisfy(reader);
      }
    }
  }
  ran_[t] = false;
  for (const InstanceId out : task.out) {
    if (out >= 0 && reads_left_[out] == 0) live_ += bytes_[out];
  }
  for (const InstanceId in : task.in) {
    if (in >= 0 && reads_left_[in]++ == 0) live_ += bytes_[in];
  }
  for (const InstanceId out : task.out) {
    if (out >= 0) live_ -= bytes_[out];
  }
}

int64_t OrderModel::Run(TaskId t) {
  newly_ready_.clear();
  freed_on_demand_ = 0;
  run_end_.push_back(runs_.size());
  int64_t most = 0;
  fetching_.push_back({t, 0});
  while (!fetching_.empty()) {
    auto& [task, next] = fetching_.back();
    const std::vector<InstanceId>& in = tasks_.tasks[task].in;
    TaskId needed = -1;
    while (next < in.size() && needed < 0) {
      const InstanceId i = in[next++];
      if (i < 0 || tasks_.instances[i].producer < 0) continue;
      const TaskId producer = tasks_.instances[i].producer;
      if (!ran_[producer]) needed = producer;
    }
    if (needed >= 0) {
      fetching_.push_back({needed, 0});
      continue;
    }
    fetched_for_[task] = t;
    most = std::max(most, RunOne(task));
    fetching_.pop_back();
  }
  return most;
}

void OrderModel::Undo() {
  const size_t end = run_end_.back();
  run_end_.pop_back();
  while (runs_.size() > end) {
    UndoOne(runs_.back());
    fetched_for_[runs_.back()] = -1;
    runs_.pop_back();
  }
}

int64_t OrderModel::FinishBytes() {
  int64_t most = 0;
  size_t num_runs = 0;
  for (size_t t = 0; t < tasks_.tasks.size(); ++t) {
    if (!tasks_.tasks[t].on_demand || ran_[t] || waits_for_[t] > 0) continue;
    most = std::max(most, Run(static_cast<TaskId>(t)));
    ++num_runs;
  }
  for (; num_runs > 0; --num_runs) Undo();
  return most;
}

int64_t OrderModel::LowerBound(int64_t max_work) const {
  const size_t n = tasks_.tasks.size();
  const size_t words = (n + 63) / 64;
  size_t operands = 0;
  for (const Task& task : tasks_.tasks) {
    operands += task.in.size() + task.out.size();
  }
  // Bits are added up one by one, for each value once per task that must see
  // it.
  if (n > (size_t{1} << 20) ||
      static_cast<int64_t>(operands * words + n * tasks_.instances.size() / 4) >
          max_work) {
    return 0;
  }
  // Tasks in an order that they can run in.
  std::vector<TaskId> order;
  std::vector<int32_t> waits(n, 0);
  for (size_t t = 0; t < n; ++t) {
    ForEachNeed(static_cast<TaskId>(t), [&](TaskId) { ++waits[t]; });
    if (waits[t] == 0) order.push_back(static_cast<TaskId>(t));
  }
  BitSets ancestors(n, n);  // and the task itself
  for (size_t k = 0; k < order.size(); ++k) {
    const TaskId t = order[k];
    ancestors.Set(t, t);
    ForEachNeed(t, [&](TaskId need) { ancestors.Unite(t, need); });
    const auto met = [&](TaskId after) {
      if (--waits[after] == 0) order.push_back(after);
    };
    for (const InstanceId out : tasks_.tasks[t].out) {
      if (out < 0) continue;
      for (const TaskId reader : readers_.of(out)) met(reader);
    }
    for (const TaskId after : ordered_after_.of(t)) met(after);
  }
  if (order.size() < n) return 0;

  std::vector<int64_t> forced(n, 0);
  std::vector<uint64_t> until(words);
  for (size_t i = 0; i < tasks_.instances.size(); ++i) {
    if (bytes_[i] == 0) continue;
    const InstanceId id = static_cast<InstanceId>(i);
    const TaskId producer = tasks_.instances[i].producer;
    std::fill(until.begin(), until.end(), 0);
    for (const TaskId reader : readers_.of(id)) {
      const absl::Span<const uint64_t> of = ancestors.of(reader);
      for (size_t w = 0; w < words; ++w) until[w] |= of[w];
    }
    for (size_t w = 0; w < words; ++w) {
      // A result lives on behind every task that comes after its producer.
      uint64_t bits = is_result_[i] ? ~uint64_t{0} : until[w];
      for (; bits != 0; bits &= bits - 1) {
        const size_t t = w * 64 + static_cast<size_t>(__builtin_ctzll(bits));
        if (t >= n) break;
        const bool strictly_after =
            producer < 0 || (static_cast<size_t>(producer) != t &&
                             ancestors.Has(t, static_cast<size_t>(producer)));
        if (strictly_after) forced[t] += bytes_[i];
      }
    }
  }
  int64_t bound = initial_;
  for (size_t t = 0; t < n; ++t) {
    const Task& task = tasks_.tasks[t];
    int64_t bytes = forced[t] + scratchpad_[t];
    for (const InstanceId out : task.out) {
      if (out >= 0) bytes += bytes_[out];
    }
    // Every result that might take over an operand's bytes is taken to do so.
    std::vector<InstanceId> in_place;
    for (int32_t m = merge_begin_[t]; m < merge_begin_[t + 1]; ++m) {
      const Merge& merge = merges_[m];
      if (std::find(in_place.begin(), in_place.end(), merge.out) !=
          in_place.end()) {
        continue;
      }
      const absl::Span<const int32_t> readers = readers_.of(merge.in);
      const bool may_die =
          merge.must ||
          std::none_of(readers.begin(), readers.end(), [&](TaskId reader) {
            return reader != static_cast<TaskId>(t) && ancestors.Has(reader, t);
          });
      if (!may_die) continue;
      in_place.push_back(merge.out);
      bytes -= merge.bytes;
    }
    bound = std::max(bound, bytes);
  }
  return bound;
}

}  // namespace reprise
