// The graph of planner/remat/remat.h as flat arrays, with what follows from it
// without a schedule; and the memory model on a sequence of runs.

#ifndef PLANNER_REMAT_REMAT_MODEL_H_
#define PLANNER_REMAT_REMAT_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "planner/remat/remat.h"

namespace reprise {

// Lists of Ts, one per key, in one piece of memory.
template <typename T>
class FlatLists {
 public:
  // Closes the list of the next key.
  void Close() { begin_.push_back(static_cast<int64_t>(items_.size())); }
  void Push(const T& item) { items_.push_back(item); }

  absl::Span<const T> operator[](int32_t key) const {
    return absl::Span<const T>(
        items_.data() + begin_[key],
        static_cast<size_t>(begin_[key + 1] - begin_[key]));
  }

 private:
  std::vector<int64_t> begin_ = {0};
  std::vector<T> items_;
};

struct RematModel {
  explicit RematModel(const RematGraph& graph);

  int32_t num_nodes = 0;
  int32_t num_values = 0;

  // Per node: the values of more than zero bytes it reads, each once, and
  // writes. Values of zero bytes are always there.
  FlatLists<int32_t> in;
  FlatLists<int32_t> out;
  // Per node: the producers of what it reads of zero bytes, and whether it
  // writes such a value that is read.
  FlatLists<int32_t> weightless_in;
  std::vector<char> writes_weightless;
  // Per node: (operand, result) where the result may take over the operand's
  // bytes if no later run reads them. What never can is left out.
  FlatLists<std::pair<int32_t, int32_t>> in_place;
  // Per node: live during a run of it only, less what it always overwrites.
  std::vector<int64_t> extra_bytes;
  std::vector<int64_t> cost;
  std::vector<char> can_repeat;
  // Per node: repeats come before the first run of this node; num_nodes: no
  // limit.
  std::vector<int32_t> deadline;

  // Per value, rounded up.
  std::vector<int64_t> bytes;
  std::vector<int32_t> producer;
  std::vector<char> is_result;
  FlatLists<int32_t> readers;  // nodes, ascending

  int64_t base_cost = 0;
  int64_t num_operands = 0;

  // No schedule can need less: the largest single run, its operands and what
  // it writes.
  int64_t working_set_bytes = 0;
};

// Returns the bytes of the operands that results of one run take over.
//
//   in_place: of the node.
//   dies:     (value) whether no later run reads this content of an operand.
template <typename Dies>
int64_t TakenOverBytes(const RematModel& model,
                       absl::Span<const std::pair<int32_t, int32_t>> in_place,
                       const Dies& dies) {
  if (in_place.empty()) return 0;
  absl::InlinedVector<char, 64> merged(in_place.size(), 0);
  int64_t sum = 0;
  for (size_t k = 0; k < in_place.size(); ++k) {
    bool free = dies(in_place[k].first);
    for (size_t j = 0; j < k && free; ++j) {
      free = !merged[j] || (in_place[j].first != in_place[k].first &&
                            in_place[j].second != in_place[k].second);
    }
    if (!free) continue;
    merged[k] = 1;
    sum += model.bytes[in_place[k].first];
  }
  return sum;
}

// The memory model on sequences of runs. Keeps its arrays from one call to the
// next.
class RunEvaluator {
 public:
  explicit RunEvaluator(const RematModel& model);

  // Returns the most bytes live at any run.
  //
  //   runs: legal, as in EvaluateRuns.
  //   cost: O(operands).
  int64_t PeakBytes(absl::Span<const int32_t> runs);

  // Returns added cost and peak with the runs themselves.
  RematSchedule Schedule(std::vector<int32_t> runs);

  // Per run of the last call: bytes live while it runs.
  absl::Span<const int64_t> live() const { return live_; }

 private:
  const RematModel& model_;
  std::vector<char> read_later_;  // per value
  std::vector<int64_t> live_;
};

// Returns the node behind the peak of the order that keeps everything. What
// lies before it is the forward part.
int32_t ForwardEnd(const RematModel& model);

// Returns `runs` without the repeats that nothing reads, and without those
// that were there only for them.
std::vector<int32_t> WithoutUnreadRepeats(const RematModel& model,
                                          absl::Span<const int32_t> runs);

// Returns 0, 1, ... : every node once.
std::vector<int32_t> FirstRunsOnly(const RematModel& model);

}  // namespace reprise

#endif  // PLANNER_REMAT_REMAT_MODEL_H_
