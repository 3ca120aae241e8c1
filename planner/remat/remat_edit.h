// Changes of a sequence of runs that keep it legal and can be taken back.

#ifndef PLANNER_REMAT_REMAT_EDIT_H_
#define PLANNER_REMAT_REMAT_EDIT_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "planner/remat/remat_timeline.h"

namespace reprise {

// Pseudo-random numbers, the same everywhere.
class RematRandom {
 public:
  explicit RematRandom(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // In [0, n), n > 0.
  int32_t Below(int32_t n) {
    return static_cast<int32_t>(Next() % static_cast<uint64_t>(n));
  }
  // In [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_;
};

class RematEdit {
 public:
  explicit RematEdit(Timeline& timeline) : timeline_(timeline) {}

  // What to do with an operand that is no longer there where a repeat reads it:
  // repeat its producer too if keeping it until then would exceed the budget
  // and it has more than this part of the bytes that the repeat writes; or,
  // with probability `surprise`, the other of the two.
  double keep_up_to = 0;
  double surprise = 0;
  RematRandom* random = nullptr;  // for surprises

  // Repeats `node` directly before the run at `slot`, with whatever it needs.
  //
  //   limit:   most runs inserted.
  //   returns: false if that is not legal, too long, or there is no room (then
  //            wants_room() names the slot); the caller undoes.
  bool Repeat(int32_t node, int32_t slot, size_t limit);

  // Takes out a repeat, and those that were there for nothing else.
  void Remove(int32_t slot);

  // Takes out each later repeat of what the edit has inserted whose removal
  // does not raise the excess.
  void RemoveReplaced();

  // Takes back everything since the last Keep.
  void Undo();
  void Keep() { log_.clear(); }

  // Slots that runs were put into since the last Keep; they may be empty again.
  std::vector<int32_t> inserted() const;

  // The slot before which there was no room; -1: none.
  int32_t wants_room() const { return wants_room_; }
  // Makes room there. Everything must be kept or undone.
  void MakeRoom();

  Timeline& timeline() { return timeline_; }

 private:
  bool RepeatOperand(int32_t value, int32_t end, int32_t slot,
                     double keep_bytes);

  Timeline& timeline_;
  std::vector<std::pair<int32_t, int32_t>> log_;  // (slot, node; -1: inserted)
  std::vector<std::pair<int32_t, int32_t>> pending_;  // (node, before slot)
  std::vector<int32_t> removing_;
  int32_t wants_room_ = -1;
};

}  // namespace reprise

#endif  // PLANNER_REMAT_REMAT_EDIT_H_
