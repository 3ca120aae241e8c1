// First fit in any order: a segment tree over sections whose nodes list
// occupied bytes.
//
// A buffer is kept at the O(log n) nodes that make up its life. What lives with
// it is then kept at those nodes, below them, or above their outermost leaves:
//
//   sections   0 1 2 3        a lives in [0, 4): kept at the root
//   tree       (0 1)(2 3)     b lives in [1, 3): kept at leaves 1 and 2
//
// Buffers at one node live together, so their bytes are disjoint, and bytes
// that touch become one entry: lists stay short where the arena is full, and
// the lowest gap is found without a look at every neighbour.
//
// Tested by tests/planner/first_fit_test.cc.

#include "planner/offsets/first_fit.h"

#include <algorithm>

namespace reprise {

FirstFit::FirstFit(int32_t num_sections) {
  while (num_leaves_ < num_sections) num_leaves_ *= 2;
  covering_.resize(2 * static_cast<size_t>(num_leaves_));
  inside_.resize(2 * static_cast<size_t>(num_leaves_));
}

void FirstFit::AddCursor(const Intervals& intervals) {
  if (intervals.empty()) return;
  cursors_.push_back({intervals.data(), intervals.data() + intervals.size()});
}

void FirstFit::Occupy(Intervals& intervals, Interval taken) {
  const auto first = std::lower_bound(
      intervals.begin(), intervals.end(), taken.begin,
      [](const Interval& i, int64_t begin) { return i.end < begin; });
  auto last = first;
  while (last != intervals.end() && last->begin <= taken.end) {
    taken.begin = std::min(taken.begin, last->begin);
    taken.end = std::max(taken.end, last->end);
    ++last;
  }
  work_ += 1 + (last - first) + (intervals.end() - last) / 4;
  if (first == last) {
    intervals.insert(first, taken);
  } else {
    *first = taken;
    intervals.erase(first + 1, last);
  }
}

int64_t FirstFit::Place(SectionRange life, int64_t bytes) {
  const int32_t first_leaf = life.begin + num_leaves_;
  const int32_t last_leaf = life.end - 1 + num_leaves_;
  cursors_.clear();
  for (int32_t a = first_leaf, b = last_leaf; a > 0; a /= 2, b /= 2) {
    AddCursor(covering_[a]);
    if (a != b) AddCursor(covering_[b]);
  }
  for (int32_t l = first_leaf, r = last_leaf + 1; l < r; l /= 2, r /= 2) {
    if (l % 2 == 1) AddCursor(inside_[l++]);
    if (r % 2 == 1) AddCursor(inside_[--r]);
  }

  // Raised past every entry in the way, until a round over all lists finds
  // none.
  int64_t offset = 0;
  size_t clear = 0;  // lists in a row that have nothing in the way
  for (size_t c = 0; clear < cursors_.size(); c = (c + 1) % cursors_.size()) {
    Cursor& cursor = cursors_[c];
    const Interval* const before = cursor.next;
    bool moved = false;
    while (cursor.next != cursor.end && cursor.next->begin < offset + bytes) {
      if (cursor.next->end > offset) {
        offset = cursor.next->end;
        moved = true;
      }
      ++cursor.next;
    }
    work_ += 1 + (cursor.next - before);
    // The list that moved the offset is clear of it, too.
    clear = moved ? 1 : clear + 1;
  }

  const Interval taken = {offset, offset + bytes};
  for (int32_t l = first_leaf, r = last_leaf + 1; l < r; l /= 2, r /= 2) {
    if (l % 2 == 1) {
      Occupy(covering_[l], taken);
      Occupy(inside_[l++], taken);
    }
    if (r % 2 == 1) {
      Occupy(covering_[--r], taken);
      Occupy(inside_[r], taken);
    }
  }
  // Above them: every ancestor of an outermost leaf that reaches beyond the
  // life.
  int32_t width = 1;
  for (int32_t a = first_leaf, b = last_leaf; a > 0;
       a /= 2, b /= 2, width *= 2) {
    const auto reaches_beyond = [&](int32_t node) {
      const int32_t begin = node * width - num_leaves_;
      return begin < life.begin || begin + width > life.end;
    };
    if (reaches_beyond(a)) Occupy(inside_[a], taken);
    if (a != b && reaches_beyond(b)) Occupy(inside_[b], taken);
  }
  return offset;
}

}  // namespace reprise
