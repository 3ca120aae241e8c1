// Sections: walking along time, buffers only come until the first one goes, and
// only go until the next one comes. In between is a largest set.
//
//   steps     0 1 2 3 4 5 6
//   a         * * * *             sections [0, 1)
//   b           * * * *                    [0, 2)
//   c                 * * *                [1, 2)
//
// Tested by tests/planner/sections_test.cc.

#include "planner/offsets/sections.h"

#include <algorithm>
#include <numeric>

namespace reprise {

Sections MakeSections(absl::Span<const Buffer> buffers) {
  std::vector<int32_t> by_begin(buffers.size());
  std::iota(by_begin.begin(), by_begin.end(), 0);
  std::vector<int32_t> by_end = by_begin;
  std::sort(by_begin.begin(), by_begin.end(), [&](int32_t a, int32_t b) {
    return buffers[a].life.begin < buffers[b].life.begin;
  });
  std::sort(by_end.begin(), by_end.end(), [&](int32_t a, int32_t b) {
    return buffers[a].life.end < buffers[b].life.end;
  });
  Sections result;
  result.life.resize(buffers.size());
  size_t ended = 0;
  int32_t section = 0;
  for (const int32_t b : by_begin) {
    // Whoever ends before this one begins is not in the section it opens.
    const size_t ended_before = ended;
    while (buffers[by_end[ended]].life.end <= buffers[b].life.begin) {
      result.life[by_end[ended++]].end = section + 1;
    }
    if (ended > ended_before) ++section;
    result.life[b].begin = section;
  }
  while (ended < by_end.size()) result.life[by_end[ended++]].end = section + 1;
  result.num = buffers.empty() ? 0 : section + 1;
  return result;
}

int64_t MostLiveBytes(absl::Span<const Buffer> buffers,
                      const Sections& sections) {
  std::vector<int64_t> change(sections.num + 1, 0);
  for (size_t b = 0; b < buffers.size(); ++b) {
    change[sections.life[b].begin] += buffers[b].bytes;
    change[sections.life[b].end] -= buffers[b].bytes;
  }
  int64_t live = 0;
  int64_t most = 0;
  for (const int64_t c : change) {
    live += c;
    most = std::max(most, live);
  }
  return most;
}

}  // namespace reprise
