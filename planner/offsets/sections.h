// Time, reduced to what matters for offsets.

#ifndef PLANNER_OFFSETS_SECTIONS_H_
#define PLANNER_OFFSETS_SECTIONS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "planner/liveness.h"

namespace reprise {

// Half-open range of sections.
struct SectionRange {
  int32_t begin = 0;
  int32_t end = 0;
};

// The steps at which the most lives: each section stands for a set of buffers
// that live together and is part of no other such set.
struct Sections {
  int32_t num = 0;
  std::vector<SectionRange> life;  // one per buffer, never empty
};

// Returns the sections of `buffers`. Two buffers share a section iff they live
// at one step, so offsets are as good for either; there are no more sections
// than buffers, however many steps there are.
//
//   buffers: begin < end for each.
//   cost:    O(n log n).
Sections MakeSections(absl::Span<const Buffer> buffers);

// Returns the most bytes that live in any one section, which no placement can
// beat.
//
//   buffers: those that `sections` were made of.
int64_t MostLiveBytes(absl::Span<const Buffer> buffers,
                      const Sections& sections);

}  // namespace reprise

#endif  // PLANNER_OFFSETS_SECTIONS_H_
