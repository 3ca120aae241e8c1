// Rematerialization: which values to drop and compute again, so that the most
// bytes live at once stay within a budget and the added cost is least.
//
// A schedule is nothing but a sequence of node runs. The first runs keep the
// order given, unless the caller allows others; further runs of a node are
// recomputations. A read means the latest run before it of the value's
// producer, so what is dropped, and when, follows from the sequence: a content
// lives from the run that writes it to the last run that reads it.

#ifndef PLANNER_REMAT_REMAT_H_
#define PLANNER_REMAT_REMAT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/op.h"

namespace reprise {

struct RematValue {
  int64_t bytes = 0;       // 0: takes no part (e.g. it persists)
  int32_t producer = -1;   // node; -1: there from the start (a model input)
  bool is_result = false;  // read after the last run
  // The node that overwrites this value where it lies (an update); every run of
  // every other reader comes before it. -1: none.
  int32_t overwritten_by = -1;
};

struct RematNode {
  int64_t cost = 0;
  int64_t scratchpad_bytes = 0;  // live during a run of the node only
  bool may_repeat = false;
  std::vector<int32_t> in;   // values; -1: absent
  std::vector<int32_t> out;  // values; -1: absent; a run writes them all
  std::vector<Overwrite> may_overwrite;   // in place, where permitted
  std::vector<Overwrite> must_overwrite;  // always in place
};

struct RematGraph {
  std::vector<RematNode> nodes;  // in the order of their first runs
  std::vector<RematValue> values;
  // What a value or scratchpad takes is its bytes, rounded up to a multiple of
  // this. Bytes before rounding decide whether one may overwrite the other.
  int64_t alignment = 1;
};

struct RematSchedule {
  std::vector<int32_t> runs;  // nodes, each at least once
  int64_t added_cost = 0;     // of all runs but each node's first
  int64_t peak_bytes = 0;
};

// Returns the cost and peak of a sequence of runs. This is the memory model of
// planner/liveness.h, merges in place included, on the sequence alone.
//
//   runs: legal: first runs in order, repeats only of nodes that may repeat and
//         before whatever overwrites what they read.
//   cost: O(operands).
RematSchedule EvaluateRuns(const RematGraph& graph,
                           absl::Span<const int32_t> runs);

struct RematOptions {
  int64_t budget_bytes = 0;
  // Ends the search, in units of work (one operand looked at); same on every
  // machine. The program of lower sets may take a quarter of it besides.
  int64_t work_limit = 100'000'000;
  // Schedules known already, e.g. of a larger budget; where search may start.
  std::vector<RematSchedule> known;
  // First runs keep the order of the graph. If not, any order will do in which
  // a node comes after those it reads and an overwriting node after the other
  // readers.
  bool fixed_order = true;
  // Solve equal blocks once. Off only to measure what it gains.
  bool recognise_equal_blocks = true;
};

struct RematResult {
  RematSchedule schedule;
  std::string method;  // that found it
  // The search is complete: no schedule within the budget, with first runs in
  // the orders that `fixed_order` allows, adds less. A claim, not a witness.
  bool proven = false;
};

// Returns the cheapest schedule found whose peak is within the budget; nullopt
// if none is found. The same arguments give the same schedule.
absl::optional<RematResult> Rematerialize(const RematGraph& graph,
                                          const RematOptions& options);

// Returns the schedule of the lowest peak found, cheapest among equals.
// `budget_bytes` is not used.
RematResult LeastPeak(const RematGraph& graph, const RematOptions& options);

}  // namespace reprise

#endif  // PLANNER_REMAT_REMAT_H_
