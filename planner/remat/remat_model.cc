// The evaluation walks backwards, for then one bit per value is all the state:
// whether a run further on reads the content that is there now.
//
//   at a run   bytes live = what is read later
//                         + operands whose last reader this is
//                         + results that nobody reads (there for one step)
//                         + scratchpad
//                         - operands that a result takes over
//   before it  its results are not there; its operands are read later
//
// That equals planner/liveness.h, which builds every buffer of a schedule going
// forwards. Tested against it by tests/planner/remat_model_test.cc.

#include "planner/remat/remat_model.h"

#include <algorithm>
#include <cstddef>

namespace reprise {
namespace {

bool Contains(absl::Span<const int32_t> list, int32_t item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// Returns whether every use of `value` by the node permits that output `out`
// takes over its bytes.
bool EveryUseMayBeOverwritten(const RematNode& node, int32_t value, int out) {
  for (size_t i = 0; i < node.in.size(); ++i) {
    if (node.in[i] != value) continue;
    const bool allowed =
        std::any_of(node.may_overwrite.begin(), node.may_overwrite.end(),
                    [&](const Overwrite& o) {
                      return o.in == static_cast<int>(i) && o.out == out;
                    });
    if (!allowed) return false;
  }
  return true;
}

// Bytes that one run needs: each operand once, and a result only if it can take
// over no operand.
int64_t WorkingSet(const RematModel& model, int32_t node) {
  int64_t sum = model.extra_bytes[node];
  for (const int32_t v : model.in[node]) sum += model.bytes[v];
  for (const int32_t v : model.out[node]) sum += model.bytes[v];
  sum -=
      TakenOverBytes(model, model.in_place[node], [](int32_t) { return true; });
  return sum;
}

}  // namespace

RematModel::RematModel(const RematGraph& graph)
    : num_nodes(static_cast<int32_t>(graph.nodes.size())),
      num_values(static_cast<int32_t>(graph.values.size())) {
  const int64_t unit = std::max<int64_t>(graph.alignment, 1);
  const auto align = [unit](int64_t b) { return (b + unit - 1) / unit * unit; };
  std::vector<int32_t> overwriter(num_values, -1);
  for (const RematValue& v : graph.values) {
    bytes.push_back(align(v.bytes));
    producer.push_back(v.producer);
    is_result.push_back(v.is_result ? 1 : 0);
  }
  std::vector<std::vector<int32_t>> reading(num_values);
  for (int32_t n = 0; n < num_nodes; ++n) {
    const RematNode& node = graph.nodes[n];
    std::vector<int32_t> ins;
    std::vector<int32_t> outs;
    std::vector<int32_t> weightless;
    int32_t limit = num_nodes;
    for (const int32_t v : node.in) {
      if (v < 0) continue;
      const int32_t by = graph.values[v].overwritten_by;
      if (by >= 0) limit = std::min(limit, by);
      if (bytes[v] == 0 && producer[v] >= 0) weightless.push_back(producer[v]);
      if (bytes[v] == 0 || Contains(ins, v)) continue;
      ins.push_back(v);
      reading[v].push_back(n);
    }
    for (const int32_t v : node.out) {
      if (v >= 0 && bytes[v] > 0) outs.push_back(v);
    }
    int64_t extra = align(node.scratchpad_bytes);
    std::vector<int32_t> placed;  // both sides of what is always overwritten
    for (const Overwrite& o : node.must_overwrite) {
      const int32_t from = node.in[o.in];
      const int32_t to = node.out[o.out];
      if (from < 0 || to < 0 || bytes[from] == 0 || bytes[to] == 0) continue;
      extra -= bytes[from];
      placed.push_back(from);
      placed.push_back(to);
    }
    for (const Overwrite& o : node.may_overwrite) {
      const int32_t from = node.in[o.in];
      const int32_t to = node.out[o.out];
      if (from < 0 || to < 0 || bytes[from] == 0) continue;
      if (graph.values[from].bytes != graph.values[to].bytes) continue;
      if (Contains(placed, from) || Contains(placed, to)) continue;
      if (EveryUseMayBeOverwritten(node, from, o.out)) {
        in_place.Push({from, to});
      }
    }
    for (const int32_t p : weightless) weightless_in.Push(p);
    weightless_in.Close();
    for (const int32_t v : ins) in.Push(v);
    for (const int32_t v : outs) out.Push(v);
    in.Close();
    out.Close();
    in_place.Close();
    num_operands += static_cast<int64_t>(ins.size() + outs.size()) + 1;
    extra_bytes.push_back(extra);
    cost.push_back(node.cost);
    base_cost += node.cost;
    // A repeat of what always overwrites would need its operand once more.
    can_repeat.push_back(node.may_repeat && node.must_overwrite.empty() &&
                         !outs.empty());
    deadline.push_back(limit);
  }
  writes_weightless.assign(num_nodes, 0);
  for (int32_t n = 0; n < num_nodes; ++n) {
    for (const int32_t p : weightless_in[n]) writes_weightless[p] = 1;
  }
  for (int32_t v = 0; v < num_values; ++v) {
    for (const int32_t n : reading[v]) readers.Push(n);
    readers.Close();
  }
  for (int32_t n = 0; n < num_nodes; ++n) {
    working_set_bytes = std::max(working_set_bytes, WorkingSet(*this, n));
  }
}

RunEvaluator::RunEvaluator(const RematModel& model) : model_(model) {}

int64_t RunEvaluator::PeakBytes(absl::Span<const int32_t> runs) {
  read_later_.assign(model_.num_values, 0);
  live_.resize(runs.size());
  int64_t after = 0;
  for (int32_t v = 0; v < model_.num_values; ++v) {
    if (!model_.is_result[v]) continue;
    read_later_[v] = 1;
    after += model_.bytes[v];
  }
  int64_t peak = 0;
  for (int64_t i = static_cast<int64_t>(runs.size()) - 1; i >= 0; --i) {
    const int32_t node = runs[i];
    int64_t now = after + model_.extra_bytes[node];
    now -= TakenOverBytes(model_, model_.in_place[node],
                          [this](int32_t v) { return !read_later_[v]; });
    for (const int32_t v : model_.out[node]) {
      if (read_later_[v]) {
        after -= model_.bytes[v];
        read_later_[v] = 0;
      } else {
        now += model_.bytes[v];
      }
    }
    for (const int32_t v : model_.in[node]) {
      if (read_later_[v]) continue;
      now += model_.bytes[v];
      after += model_.bytes[v];
      read_later_[v] = 1;
    }
    live_[i] = now;
    peak = std::max(peak, now);
  }
  if (!runs.empty()) {
    // An input that nobody reads is there at the first step.
    for (int32_t v = 0; v < model_.num_values; ++v) {
      if (model_.producer[v] < 0 && !read_later_[v]) {
        live_[0] += model_.bytes[v];
      }
    }
    peak = std::max(peak, live_[0]);
  }
  return peak;
}

RematSchedule RunEvaluator::Schedule(std::vector<int32_t> runs) {
  RematSchedule schedule;
  schedule.peak_bytes = PeakBytes(runs);
  int64_t total = 0;
  for (const int32_t n : runs) total += model_.cost[n];
  schedule.added_cost = total - model_.base_cost;
  schedule.runs = std::move(runs);
  return schedule;
}

int32_t ForwardEnd(const RematModel& model) {
  RunEvaluator evaluator(model);
  evaluator.PeakBytes(FirstRunsOnly(model));
  const auto live = evaluator.live();
  // The last one: a node that does no more than read what is there. It closes
  // the forward part.
  int32_t turn = 0;
  for (size_t n = 0; n < live.size(); ++n) {
    if (live[n] >= live[turn]) turn = static_cast<int32_t>(n);
  }
  return std::min(turn + 1, model.num_nodes - 1);
}

std::vector<int32_t> WithoutUnreadRepeats(const RematModel& model,
                                          absl::Span<const int32_t> runs) {
  std::vector<char> is_first(runs.size(), 0);
  std::vector<char> seen(model.num_nodes, 0);
  for (size_t i = 0; i < runs.size(); ++i) {
    is_first[i] = !seen[runs[i]];
    seen[runs[i]] = 1;
  }
  std::vector<char> read_later(model.is_result.begin(), model.is_result.end());
  std::vector<int32_t> kept;
  for (int64_t i = static_cast<int64_t>(runs.size()) - 1; i >= 0; --i) {
    bool needed = is_first[i];
    for (const int32_t v : model.out[runs[i]]) needed |= read_later[v];
    if (!needed) continue;
    for (const int32_t v : model.out[runs[i]]) read_later[v] = 0;
    for (const int32_t v : model.in[runs[i]]) read_later[v] = 1;
    kept.push_back(runs[i]);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

std::vector<int32_t> FirstRunsOnly(const RematModel& model) {
  std::vector<int32_t> runs(model.num_nodes);
  for (int32_t n = 0; n < model.num_nodes; ++n) runs[n] = n;
  return runs;
}

}  // namespace reprise
