// Sweeps: offsets along time, with a list of free gaps. They are exact where
// lifetimes nest, as those of residuals do.
//
// Gaps are kept by size classes, so that neither rule looks at all of them:
// where tens of thousands of buffers live at once, there may be as many gaps.
//
// Source: best fit in offline dynamic storage allocation, Sekiyama et al.
// (2018), arXiv:1804.10001.
// Tested by tests/planner/offsets_test.cc.

#include "planner/offsets/sweep.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace reprise {
namespace {

constexpr int64_t kUnplaced = -1;

// Free bytes below the top of everything placed, as maximal gaps.
class Gaps {
 public:
  explicit Gaps(Fit fit) : fit_(fit) {}

  // Takes `bytes` from a gap, or from above the top if none is large enough.
  int64_t Take(int64_t bytes) {
    const auto chosen =
        fit_ == Fit::kTightest ? Tightest(bytes) : Lowest(bytes);
    if (chosen == by_offset_.end()) {
      // A gap that ends at the top cannot exist, as Free lowers the top.
      const int64_t offset = top_;
      top_ += bytes;
      return offset;
    }
    const auto [offset, size] = *chosen;
    Erase(chosen);
    if (size > bytes) Insert(offset + bytes, size - bytes);
    return offset;
  }

  // Takes bytes known to be free.
  void TakeAt(int64_t offset, int64_t bytes) {
    if (offset >= top_) {
      if (offset > top_) Insert(top_, offset - top_);
      top_ = offset + bytes;
      return;
    }
    const auto gap = std::prev(by_offset_.upper_bound(offset));
    const auto [begin, size] = *gap;
    Erase(gap);
    if (begin < offset) Insert(begin, offset - begin);
    const int64_t end = begin + size;
    if (offset + bytes < end) Insert(offset + bytes, end - offset - bytes);
  }

  void Free(int64_t offset, int64_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      bytes += next->second;
      next = Erase(next);
    }
    if (next != by_offset_.begin()) {
      const auto previous = std::prev(next);
      if (previous->first + previous->second == offset) {
        offset = previous->first;
        bytes += previous->second;
        Erase(previous);
      }
    }
    if (offset + bytes == top_) {
      top_ = offset;
    } else {
      Insert(offset, bytes);
    }
  }

 private:
  using ByOffset = std::map<int64_t, int64_t>;
  static constexpr int32_t kNumClasses = 63;

  // Sizes in [2^c, 2^(c + 1)) are of class c.
  static int32_t ClassOf(int64_t bytes) {
    int32_t c = 0;
    while (bytes > 1) {
      bytes /= 2;
      ++c;
    }
    return c;
  }

  ByOffset::iterator Tightest(int64_t bytes) {
    for (int32_t c = ClassOf(bytes); c < kNumClasses; ++c) {
      const auto it = by_size_[c].lower_bound({bytes, 0});
      if (it != by_size_[c].end()) return by_offset_.find(it->second);
    }
    return by_offset_.end();
  }

  ByOffset::iterator Lowest(int64_t bytes) {
    // All gaps of higher classes are large enough.
    const int32_t own = ClassOf(bytes);
    int64_t lowest = std::numeric_limits<int64_t>::max();
    for (int32_t c = own + 1; c < kNumClasses; ++c) {
      if (!by_class_[c].empty()) {
        lowest = std::min(lowest, *by_class_[c].begin());
      }
    }
    for (const int64_t offset : by_class_[own]) {
      if (offset > lowest) break;
      const auto gap = by_offset_.find(offset);
      if (gap->second >= bytes) return gap;
    }
    return by_offset_.find(lowest);
  }

  void Insert(int64_t offset, int64_t bytes) {
    by_offset_.emplace(offset, bytes);
    if (fit_ == Fit::kTightest) {
      by_size_[ClassOf(bytes)].emplace(bytes, offset);
    } else {
      by_class_[ClassOf(bytes)].insert(offset);
    }
  }

  ByOffset::iterator Erase(ByOffset::iterator gap) {
    if (fit_ == Fit::kTightest) {
      by_size_[ClassOf(gap->second)].erase({gap->second, gap->first});
    } else {
      by_class_[ClassOf(gap->second)].erase(gap->first);
    }
    return by_offset_.erase(gap);
  }

  const Fit fit_;
  int64_t top_ = 0;
  ByOffset by_offset_;  // offset -> bytes
  // One of the two is in use: (bytes, offset), or offsets, of each class.
  std::set<std::pair<int64_t, int64_t>> by_size_[kNumClasses];
  std::set<int64_t> by_class_[kNumClasses];
};

// Places, in the order of their beginnings, those of `buffers` that have no
// offset yet and begin at `start` or later; those that have one and live at
// `start` are there already.
void SweepFrom(int32_t start, absl::Span<const Buffer> buffers, Fit fit,
               std::vector<int64_t>& offsets) {
  using Event = std::pair<int32_t, int32_t>;  // (end, buffer)
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> live;
  Gaps gaps(fit);
  std::vector<int32_t> order;
  std::vector<int32_t> there;
  for (size_t b = 0; b < buffers.size(); ++b) {
    const int32_t id = static_cast<int32_t>(b);
    if (offsets[b] == kUnplaced) {
      if (buffers[b].life.begin >= start) order.push_back(id);
    } else if (buffers[b].life.begin <= start && start < buffers[b].life.end) {
      there.push_back(id);
    }
  }
  std::sort(there.begin(), there.end(),
            [&](int32_t a, int32_t b) { return offsets[a] < offsets[b]; });
  for (const int32_t b : there) {
    gaps.TakeAt(offsets[b], buffers[b].bytes);
    live.push({buffers[b].life.end, b});
  }
  // Of those that begin together, long-lived ones lie lowest: what is freed
  // last should not be in the way.
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const Buffer& x = buffers[a];
    const Buffer& y = buffers[b];
    if (x.life.begin != y.life.begin) return x.life.begin < y.life.begin;
    if (x.life.end != y.life.end) return x.life.end > y.life.end;
    if (x.bytes != y.bytes) return x.bytes > y.bytes;
    return a < b;
  });
  for (const int32_t b : order) {
    while (!live.empty() && live.top().first <= buffers[b].life.begin) {
      const int32_t dead = live.top().second;
      live.pop();
      gaps.Free(offsets[dead], buffers[dead].bytes);
    }
    offsets[b] = gaps.Take(buffers[b].bytes);
    live.push({buffers[b].life.end, b});
  }
}

// Returns the buffers with time running backwards from `num_steps`.
std::vector<Buffer> Mirrored(absl::Span<const Buffer> buffers,
                             int32_t num_steps) {
  std::vector<Buffer> result(buffers.begin(), buffers.end());
  for (Buffer& b : result) {
    b.life = {num_steps - b.life.end, num_steps - b.life.begin};
  }
  return result;
}

// Stacks what lives at the peak, longest lifetimes lowest.
void StackPeak(absl::Span<const Buffer> buffers, const Peak& peak,
               std::vector<int64_t>& offsets) {
  std::vector<int32_t> stack;
  for (size_t b = 0; b < buffers.size(); ++b) {
    if (buffers[b].life.begin <= peak.step && peak.step < buffers[b].life.end) {
      stack.push_back(static_cast<int32_t>(b));
    }
  }
  std::sort(stack.begin(), stack.end(), [&](int32_t a, int32_t b) {
    const Lifetime x = buffers[a].life;
    const Lifetime y = buffers[b].life;
    const int32_t x_length = x.end - x.begin;
    const int32_t y_length = y.end - y.begin;
    return x_length != y_length ? x_length > y_length : a < b;
  });
  int64_t top = 0;
  for (const int32_t b : stack) {
    offsets[b] = top;
    top += buffers[b].bytes;
  }
}

}  // namespace

std::string SweepName(SweepDirection direction, Fit fit) {
  const char* towards = direction == SweepDirection::kForward    ? "forward"
                        : direction == SweepDirection::kBackward ? "backward"
                                                                 : "outward";
  return absl::StrCat("sweep ", towards, ", ",
                      fit == Fit::kLowest ? "lowest gap" : "tightest gap");
}

std::vector<int64_t> Sweep(absl::Span<const Buffer> buffers, const Peak& peak,
                           SweepDirection direction, Fit fit) {
  int32_t num_steps = 0;
  for (const Buffer& b : buffers) num_steps = std::max(num_steps, b.life.end);
  std::vector<int64_t> offsets(buffers.size(), kUnplaced);
  switch (direction) {
    case SweepDirection::kForward:
      SweepFrom(0, buffers, fit, offsets);
      break;
    case SweepDirection::kBackward:
      SweepFrom(0, Mirrored(buffers, num_steps), fit, offsets);
      break;
    case SweepDirection::kOutward:
      StackPeak(buffers, peak, offsets);
      SweepFrom(peak.step, buffers, fit, offsets);
      SweepFrom(num_steps - 1 - peak.step, Mirrored(buffers, num_steps), fit,
                offsets);
      break;
  }
  return offsets;
}

}  // namespace reprise
