// A* over the sets of values in memory. A state is such a set with what has run
// for good: in a fixed order the number of first runs, otherwise the nodes that
// must not run twice, or whose having run is not seen in memory. Steps:
//
//   run   any node whose operands are there, if it fits; operands may die with
//         it if that lets results take over their bytes
//   drop  a value, if some run does not fit
//
// A run costs what it costs, a drop nothing. What the rest costs with unlimited
// memory (every first run to come, and every repeat that they need given what
// is in memory) never exceeds the truth and shrinks by no more than a step
// costs, so the first time the goal is taken out of the queue it is optimal.
//
// Tested by tests/planner/remat_exact_test.cc.

#include "planner/remat/remat_exact.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace reprise {
namespace {

constexpr int32_t kMaxValues = 128;
constexpr int32_t kMaxTracked = 64;
constexpr size_t kMaxInPlace = 6;
constexpr int64_t kNever = INT64_MAX;

struct Set {
  uint64_t low = 0;
  uint64_t high = 0;

  bool Has(int32_t i) const {
    return ((i < 64 ? low >> i : high >> (i - 64)) & 1) != 0;
  }
  void Put(int32_t i) {
    if (i < 64) {
      low |= uint64_t{1} << i;
    } else {
      high |= uint64_t{1} << (i - 64);
    }
  }
  void Take(int32_t i) {
    if (i < 64) {
      low &= ~(uint64_t{1} << i);
    } else {
      high &= ~(uint64_t{1} << (i - 64));
    }
  }
};

struct State {
  Set memory;         // by the index among values of more than zero bytes
  uint64_t done = 0;  // first runs, or a set of tracked nodes

  friend bool operator==(const State& a, const State& b) {
    return a.memory.low == b.memory.low && a.memory.high == b.memory.high &&
           a.done == b.done;
  }
  template <typename H>
  friend H AbslHashValue(H h, const State& s) {
    return H::combine(std::move(h), s.memory.low, s.memory.high, s.done);
  }
};

// How a state was reached.
struct Visit {
  State state;
  int64_t cost = 0;
  int32_t from = -1;  // index of a visit
  int32_t run = -1;   // node; -1: a drop
};

// The nodes of which a free order must remember that they ran.
std::vector<int32_t> TrackedNodes(const RematModel& model) {
  std::vector<char> is_deadline(model.num_nodes + 1, 0);
  for (const int32_t n : model.deadline) is_deadline[n] = 1;
  std::vector<int32_t> tracked;
  for (int32_t n = 0; n < model.num_nodes; ++n) {
    const bool seen_in_memory =
        model.can_repeat[n] && !model.writes_weightless[n];
    bool is_read = false;
    for (const int32_t v : model.out[n]) {
      is_read |= model.is_result[v] || !model.readers[v].empty();
    }
    if (!seen_in_memory || !is_read || is_deadline[n]) tracked.push_back(n);
  }
  return tracked;
}

class Search {
 public:
  Search(const RematModel& model, const ExactOptions& options)
      : model_(model), options_(options) {
    index_of_.assign(model.num_values, -1);
    for (int32_t v = 0; v < model.num_values; ++v) {
      if (model.bytes[v] == 0) continue;
      index_of_[v] = static_cast<int32_t>(values_.size());
      values_.push_back(v);
    }
    tracked_index_.assign(model.num_nodes, -1);
    if (!options.fixed_order) {
      int32_t count = 0;
      for (const int32_t n : TrackedNodes(model)) tracked_index_[n] = count++;
      num_tracked_ = count;
    }
    needed_.assign(model.num_nodes, 0);
  }

  ExactResult Run() {
    ExactResult result;
    State start;
    for (const int32_t v : values_) {
      if (model_.producer[v] < 0) start.memory.Put(index_of_[v]);
    }
    Push(start, 0, -1, -1);
    while (!queue_.empty()) {
      const int32_t at = std::get<2>(queue_.top());
      queue_.pop();
      const Visit visit = visits_[at];
      if (best_[visit.state] < visit.cost) continue;
      if (IsGoal(visit.state)) {
        result.runs = RunsTo(at);
        result.complete = true;
        break;
      }
      if (static_cast<int64_t>(visits_.size()) > options_.max_states ||
          work_ > options_.work_limit) {
        result.work = work_;
        return result;
      }
      Expand(at);
    }
    result.complete = true;
    result.work = work_;
    return result;
  }

 private:
  bool HasRun(const State& state, int32_t node) const {
    if (options_.fixed_order) return static_cast<uint64_t>(node) < state.done;
    const int32_t t = tracked_index_[node];
    return t >= 0 && ((state.done >> t) & 1) != 0;
  }

  bool IsGoal(const State& state) const {
    if (options_.fixed_order) {
      if (state.done < static_cast<uint64_t>(model_.num_nodes)) return false;
    } else {
      const uint64_t all =
          num_tracked_ == 64 ? ~uint64_t{0} : (uint64_t{1} << num_tracked_) - 1;
      if (state.done != all) return false;
    }
    for (const int32_t v : values_) {
      if (model_.is_result[v] && !state.memory.Has(index_of_[v])) return false;
    }
    return true;
  }

  bool MayRun(const State& state, int32_t node) const {
    const int32_t limit = model_.deadline[node];
    const bool too_late =
        limit < model_.num_nodes && limit != node && HasRun(state, limit);
    if (options_.fixed_order) {
      if (static_cast<uint64_t>(node) > state.done) return false;
      if (static_cast<uint64_t>(node) == state.done) return true;
      return model_.can_repeat[node] && !too_late;
    }
    if (too_late) return false;
    return model_.can_repeat[node] || !HasRun(state, node);
  }

  bool OperandsAreThere(const State& state, int32_t node) const {
    for (const int32_t v : model_.in[node]) {
      if (!state.memory.Has(index_of_[v])) return false;
    }
    if (!options_.fixed_order) {
      for (const int32_t p : model_.weightless_in[node]) {
        if (!HasRun(state, p)) return false;
      }
    }
    return true;
  }

  // The cost of the rest with unlimited memory; kNever if it is out of reach.
  int64_t Rest(const State& state) {
    ++stamp_;
    work_ += 2 * model_.num_nodes + 20;
    int64_t cost = 0;
    stack_.clear();
    const auto need_node = [&](int32_t n) {
      if (needed_[n] == stamp_) return;
      needed_[n] = stamp_;
      stack_.push_back(n);
    };
    if (options_.fixed_order) {
      for (int32_t n = static_cast<int32_t>(state.done); n < model_.num_nodes;
           ++n) {
        need_node(n);
      }
    } else {
      for (int32_t n = 0; n < model_.num_nodes; ++n) {
        if (tracked_index_[n] >= 0 && !HasRun(state, n)) need_node(n);
      }
    }
    for (const int32_t v : values_) {
      if (!model_.is_result[v] || state.memory.Has(index_of_[v])) continue;
      if (model_.producer[v] < 0) return kNever;
      need_node(model_.producer[v]);
    }
    while (!stack_.empty()) {
      const int32_t n = stack_.back();
      stack_.pop_back();
      const bool first =
          options_.fixed_order && static_cast<uint64_t>(n) >= state.done;
      if (!first && !MayRun(state, n)) return kNever;
      cost += model_.cost[n];
      for (const int32_t v : model_.in[n]) {
        if (state.memory.Has(index_of_[v])) continue;
        if (model_.producer[v] < 0) return kNever;
        need_node(model_.producer[v]);
      }
      if (!options_.fixed_order) {
        for (const int32_t p : model_.weightless_in[n]) {
          if (!HasRun(state, p)) need_node(p);
        }
      }
    }
    return cost;
  }

  void Push(const State& state, int64_t cost, int32_t from, int32_t run) {
    const auto known = best_.find(state);
    if (known != best_.end() && known->second <= cost) return;
    const int64_t rest = Rest(state);
    if (rest == kNever) return;
    const int64_t limit = options_.below_added_cost == INT64_MAX
                              ? INT64_MAX
                              : options_.below_added_cost + model_.base_cost;
    if (cost + rest >= limit) return;
    best_[state] = cost;
    Visit visit;
    visit.state = state;
    visit.cost = cost;
    visit.from = from;
    visit.run = run;
    // Of equal promise the one that is further on, and then the latest.
    queue_.emplace(cost + rest, rest, static_cast<int32_t>(visits_.size()));
    visits_.push_back(visit);
  }

  void Expand(int32_t at) {
    const Visit visit = visits_[at];
    const State& state = visit.state;
    work_ += 2 * model_.num_nodes;
    int64_t held = 0;
    for (const int32_t v : values_) {
      if (state.memory.Has(index_of_[v])) held += model_.bytes[v];
    }
    bool lacks_room = false;
    const int32_t end =
        options_.fixed_order
            ? static_cast<int32_t>(std::min<uint64_t>(
                  state.done + 1, static_cast<uint64_t>(model_.num_nodes)))
            : model_.num_nodes;
    for (int32_t n = end - 1; n >= 0; --n) {
      if (!MayRun(state, n) || !OperandsAreThere(state, n)) continue;
      const bool first = options_.fixed_order
                             ? static_cast<uint64_t>(n) == state.done
                             : tracked_index_[n] >= 0 && !HasRun(state, n);
      State next = state;
      int64_t bytes = held + model_.extra_bytes[n];
      bool writes = first;
      for (const int32_t v : model_.out[n]) {
        if (state.memory.Has(index_of_[v])) continue;
        next.memory.Put(index_of_[v]);
        bytes += model_.bytes[v];
        writes = true;
      }
      if (!writes) continue;
      if (first) {
        next.done = options_.fixed_order
                        ? state.done + 1
                        : state.done | (uint64_t{1} << tracked_index_[n]);
      }
      const int64_t cost = visit.cost + model_.cost[n];
      if (bytes <= options_.budget_bytes) {
        Push(next, cost, at, n);
      } else {
        lacks_room = true;
      }
      PushInPlace(next, n, bytes, cost, at);
    }
    if (!lacks_room) return;
    for (const int32_t v : values_) {
      if (!state.memory.Has(index_of_[v])) continue;
      State next = state;
      next.memory.Take(index_of_[v]);
      Push(next, visit.cost, at, -1);
    }
  }

  // The run of `n` with operands that die with it.
  void PushInPlace(const State& after, int32_t n, int64_t bytes, int64_t cost,
                   int32_t at) {
    const auto pairs = model_.in_place[n];
    if (pairs.empty()) return;
    std::vector<int32_t> operands;
    for (const auto& pair : pairs) {
      if (std::find(operands.begin(), operands.end(), pair.first) ==
          operands.end()) {
        operands.push_back(pair.first);
      }
    }
    for (uint32_t dying = 1; dying < (1u << operands.size()); ++dying) {
      const auto dies = [&](int32_t v) {
        for (size_t i = 0; i < operands.size(); ++i) {
          if (operands[i] == v) return ((dying >> i) & 1) != 0;
        }
        return false;
      };
      const int64_t saved = TakenOverBytes(model_, pairs, dies);
      if (saved == 0 || bytes - saved > options_.budget_bytes) continue;
      State next = after;
      for (const int32_t v : operands) {
        if (dies(v)) next.memory.Take(index_of_[v]);
      }
      Push(next, cost, at, n);
    }
  }

  std::vector<int32_t> RunsTo(int32_t at) const {
    std::vector<int32_t> runs;
    for (; at >= 0; at = visits_[at].from) {
      if (visits_[at].run >= 0) runs.push_back(visits_[at].run);
    }
    std::reverse(runs.begin(), runs.end());
    return runs;
  }

  // Estimated total, estimated rest, visit; the least first.
  using Entry = std::tuple<int64_t, int64_t, int32_t>;

  const RematModel& model_;
  const ExactOptions options_;
  std::vector<int32_t> values_;
  std::vector<int32_t> index_of_;
  std::vector<int32_t> tracked_index_;
  int32_t num_tracked_ = 0;
  std::vector<Visit> visits_;
  absl::flat_hash_map<State, int64_t> best_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue_;
  std::vector<int64_t> needed_;
  std::vector<int32_t> stack_;
  int64_t stamp_ = 0;
  int64_t work_ = 0;
};

}  // namespace

bool CanSearchExactly(const RematModel& model, bool fixed_order) {
  int32_t held = 0;
  for (int32_t v = 0; v < model.num_values; ++v) {
    if (model.bytes[v] == 0) continue;
    ++held;
    // It would count at the first step only.
    if (model.producer[v] < 0 && model.readers[v].empty()) return false;
  }
  if (held > kMaxValues) return false;
  for (int32_t n = 0; n < model.num_nodes; ++n) {
    if (model.in_place[n].size() > kMaxInPlace) return false;
  }
  return fixed_order ||
         TrackedNodes(model).size() <= static_cast<size_t>(kMaxTracked);
}

ExactResult ExactRuns(const RematModel& model, const ExactOptions& options) {
  return Search(model, options).Run();
}

}  // namespace reprise
