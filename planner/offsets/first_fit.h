// Lowest free offsets for buffers that are placed one by one, in any order.

#ifndef PLANNER_OFFSETS_FIRST_FIT_H_
#define PLANNER_OFFSETS_FIRST_FIT_H_

#include <cstdint>
#include <vector>

#include "planner/offsets/sections.h"

namespace reprise {

class FirstFit {
 public:
  explicit FirstFit(int32_t num_sections);

  // Places a buffer at the lowest offset that is free during its whole life,
  // and returns that offset.
  //
  //   life:  within [0, num_sections), not empty.
  //   bytes: > 0.
  //   cost:  O(log num_sections) lists of occupied bytes are walked up to the
  //          offset, and as many get one more entry.
  int64_t Place(SectionRange life, int64_t bytes);

  // Returns how many entries of lists were looked at so far.
  int64_t work() const { return work_; }

 private:
  struct Interval {
    int64_t begin;
    int64_t end;
  };
  // In rising order; no two touch.
  using Intervals = std::vector<Interval>;

  // Where a walk along one list has arrived.
  struct Cursor {
    const Interval* next;
    const Interval* end;
  };

  void AddCursor(const Intervals& intervals);
  void Occupy(Intervals& intervals, Interval taken);

  // Nodes of a complete binary tree over the sections, root at 1, leaves from
  // `num_leaves_` on. `covering_` has the bytes of buffers that live in all
  // sections of the node and are split no further; `inside_` those of all that
  // were placed at the node or below it.
  int32_t num_leaves_ = 1;
  std::vector<Intervals> covering_;
  std::vector<Intervals> inside_;
  std::vector<Cursor> cursors_;  // of one call, kept for its memory
  int64_t work_ = 0;
};

}  // namespace reprise

#endif  // PLANNER_OFFSETS_FIRST_FIT_H_
