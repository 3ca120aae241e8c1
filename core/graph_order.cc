// Depth-first search from each unit in turn; a unit is emitted once all it
// depends on is. A dependency that is still being searched closes a cycle,
// which is what stands on the search's stack from there on.
//
//   units 0..3, 1 depends on 3:   order 0 3 1 2
//
// Tested by tests/core/graph_order_test.cc.

#include "core/graph_order.h"

namespace reprise {
namespace {

// Cycles beyond these are seldom news, and each may be as long as the graph.
constexpr size_t kMaxCycles = 5;

enum class Mark : uint8_t { kNew, kSearching, kDone };

struct Frame {
  int32_t unit;
  int64_t next;  // index into Dependencies::on
};

// Returns the units from `first` up to the top of the stack. A frame depends
// on the frame above it, so data flows from the top down.
std::vector<int32_t> CycleFrom(int32_t first, absl::Span<const Frame> stack) {
  std::vector<int32_t> cycle;
  for (size_t i = stack.size(); i-- > 0;) {
    cycle.push_back(stack[i].unit);
    if (stack[i].unit == first) break;
  }
  return cycle;
}

}  // namespace

Dependencies MakeDependencies(
    int32_t num_units, absl::Span<const std::pair<int32_t, int32_t>> pairs) {
  Dependencies made;
  made.begin.assign(static_cast<size_t>(num_units) + 1, 0);
  for (const auto& pair : pairs) ++made.begin[pair.first + 1];
  for (int32_t u = 0; u < num_units; ++u) made.begin[u + 1] += made.begin[u];
  std::vector<int64_t> next(made.begin.begin(), made.begin.end() - 1);
  made.on.resize(pairs.size());
  for (const auto& pair : pairs) made.on[next[pair.first]++] = pair.second;
  return made;
}

Ordering OrderByDependencies(const Dependencies& dependencies) {
  const int32_t num_units = dependencies.num_units();
  Ordering result;
  result.order.reserve(num_units);
  std::vector<Mark> marks(num_units, Mark::kNew);
  std::vector<Frame> stack;
  const auto enter = [&](int32_t unit) {
    marks[unit] = Mark::kSearching;
    stack.push_back({unit, dependencies.begin[unit]});
  };
  for (int32_t root = 0; root < num_units; ++root) {
    if (marks[root] != Mark::kNew) continue;
    enter(root);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == dependencies.begin[top.unit + 1]) {
        marks[top.unit] = Mark::kDone;
        result.order.push_back(top.unit);
        stack.pop_back();
        continue;
      }
      const int32_t on = dependencies.on[top.next++];
      if (marks[on] == Mark::kNew) {
        enter(on);
      } else if (marks[on] == Mark::kSearching &&
                 result.cycles.size() < kMaxCycles) {
        result.cycles.push_back(CycleFrom(on, stack));
      }
    }
  }
  return result;
}

}  // namespace reprise
