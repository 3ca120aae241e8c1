// Offsets: two-dimensional packing with one axis (time) fixed, which is
// NP-hard, so a portfolio of quick methods is tried and the lowest result wins.
//
// Sweeps walk along time with a list of free gaps, as an allocator would, but
// knowing all sizes. They cost O(n log n) and are exact where lifetimes nest,
// as those of residuals do:
//
//   forward    from the first step to the last
//   backward   from the last step to the first
//   outward    buffers that live at the peak are stacked first, without a gap;
//              then forward from there to the end, and backward to the start
//
// Greedy placements take the buffers in an order of importance and put each
// where it fits among those placed before that live at the same time:
//
//   id  life   KiB                offset
//   a   [0,2)   4                 6   third: a meets b and c
//   b   [1,4)   6                 0   first
//   c   [0,1)   6                 0   second: c ends before b begins
//
// Either rule picks a gap: the lowest that is large enough, or the tightest.
// Both kinds stop at once when the height equals the most bytes that live at
// one step, which no placement can beat.
//
// Sources: greedy by size, Pisarchyk and Lee (2020), arXiv:2001.03288; best fit
// in offline dynamic storage allocation, Sekiyama et al. (2018),
// arXiv:1804.10001.
// Tested by tests/planner/offsets_test.cc, small instances against a complete
// search.

#include "planner/offsets.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace reprise {
namespace {

enum class Fit : uint8_t { kLowest, kTightest };

const char* Name(Fit fit) {
  return fit == Fit::kLowest ? "lowest gap" : "tightest gap";
}

constexpr int64_t kUnplaced = -1;

// Free bytes below the top of everything placed, as maximal gaps.
class Gaps {
 public:
  // Takes `bytes` from a gap, or from above the top if none is large enough.
  int64_t Take(int64_t bytes, Fit fit) {
    auto chosen = by_offset_.end();
    if (fit == Fit::kTightest) {
      const auto it = by_size_.lower_bound({bytes, 0});
      if (it != by_size_.end()) chosen = by_offset_.find(it->second);
    } else {
      chosen = by_offset_.begin();
      while (chosen != by_offset_.end() && chosen->second < bytes) ++chosen;
    }
    if (chosen == by_offset_.end()) return TakeTop(bytes);
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

  // Above the top; a gap that ends there cannot exist, as Free lowers the top.
  int64_t TakeTop(int64_t bytes) {
    const int64_t offset = top_;
    top_ += bytes;
    return offset;
  }

  void Insert(int64_t offset, int64_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }

  ByOffset::iterator Erase(ByOffset::iterator gap) {
    by_size_.erase({gap->second, gap->first});
    return by_offset_.erase(gap);
  }

  int64_t top_ = 0;
  ByOffset by_offset_;                             // offset -> bytes
  std::set<std::pair<int64_t, int64_t>> by_size_;  // (bytes, offset)
};

// Places, in the order of their beginnings, those of `buffers` that have no
// offset yet and begin at `start` or later; those that have one and live at
// `start` are there already.
void SweepFrom(int32_t start, absl::Span<const Buffer> buffers, Fit fit,
               std::vector<int64_t>& offsets) {
  using Event = std::pair<int32_t, int32_t>;  // (end, buffer)
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> live;
  Gaps gaps;
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
    offsets[b] = gaps.Take(buffers[b].bytes, fit);
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

// For each buffer, the others that live at one step with it.
class Neighbours {
 public:
  explicit Neighbours(absl::Span<const Buffer> buffers)
      : lists_(buffers.size()) {
    std::vector<int32_t> by_begin(buffers.size());
    std::iota(by_begin.begin(), by_begin.end(), 0);
    std::stable_sort(by_begin.begin(), by_begin.end(),
                     [&](int32_t a, int32_t b) {
                       return buffers[a].life.begin < buffers[b].life.begin;
                     });
    std::vector<int32_t> live;
    for (const int32_t b : by_begin) {
      size_t kept = 0;
      for (const int32_t other : live) {
        if (buffers[other].life.end <= buffers[b].life.begin) continue;
        live[kept++] = other;
        lists_[other].push_back(b);
        lists_[b].push_back(other);
      }
      live.resize(kept);
      live.push_back(b);
    }
  }

  const std::vector<int32_t>& of(int32_t buffer) const {
    return lists_[buffer];
  }

 private:
  std::vector<std::vector<int32_t>> lists_;
};

// Returns how many pairs of buffers live at one step.
int64_t NumPairs(absl::Span<const Buffer> buffers) {
  std::vector<int32_t> ends;
  std::vector<int32_t> begins;
  for (const Buffer& b : buffers) {
    ends.push_back(b.life.end);
    begins.push_back(b.life.begin);
  }
  std::sort(ends.begin(), ends.end());
  std::sort(begins.begin(), begins.end());
  // The i-th to begin meets those that began before it and have not ended.
  int64_t pairs = 0;
  size_t ended = 0;
  for (size_t i = 0; i < begins.size(); ++i) {
    while (ended < ends.size() && ends[ended] <= begins[i]) ++ended;
    pairs += static_cast<int64_t>(i - ended);
  }
  return pairs;
}

std::vector<int64_t> PlaceInOrder(absl::Span<const int32_t> order,
                                  absl::Span<const Buffer> buffers,
                                  const Neighbours& neighbours, Fit fit) {
  std::vector<int64_t> offsets(buffers.size(), kUnplaced);
  std::vector<std::pair<int64_t, int64_t>> taken;  // [first, second)
  for (const int32_t b : order) {
    taken.clear();
    for (const int32_t other : neighbours.of(b)) {
      if (offsets[other] == kUnplaced) continue;
      taken.push_back({offsets[other], offsets[other] + buffers[other].bytes});
    }
    std::sort(taken.begin(), taken.end());
    int64_t top = 0;
    int64_t best = kUnplaced;
    int64_t best_gap = std::numeric_limits<int64_t>::max();
    for (const auto& [begin, end] : taken) {
      const int64_t gap = begin - top;
      if (gap >= buffers[b].bytes && gap < best_gap) {
        best = top;
        best_gap = gap;
        if (fit == Fit::kLowest) break;
      }
      top = std::max(top, end);
    }
    offsets[b] = best == kUnplaced ? top : best;
  }
  return offsets;
}

int64_t Height(absl::Span<const Buffer> buffers,
               absl::Span<const int64_t> offsets) {
  int64_t height = 0;
  for (size_t b = 0; b < buffers.size(); ++b) {
    height = std::max(height, offsets[b] + buffers[b].bytes);
  }
  return height;
}

// Orders of importance for greedy placements.
struct Importance {
  const char* name;
  // Larger keys are placed first; then longer lifetimes, then lower ids.
  std::function<std::pair<int64_t, int64_t>(int32_t buffer)> key;
};

std::vector<Importance> Importances(absl::Span<const Buffer> buffers,
                                    const Neighbours& neighbours,
                                    const Peak& peak) {
  const auto bytes = [buffers](int32_t b) { return buffers[b].bytes; };
  const auto length = [buffers](int32_t b) {
    return int64_t{buffers[b].life.end} - buffers[b].life.begin;
  };
  // Bytes times steps may exceed 64 bits; a double's order is as good.
  const auto area = [bytes, length](int32_t b) {
    return static_cast<int64_t>(static_cast<double>(bytes(b)) *
                                static_cast<double>(length(b)) / 1024);
  };
  const auto degree = [&neighbours](int32_t b) {
    return static_cast<int64_t>(neighbours.of(b).size());
  };
  const auto neighbour_bytes = [buffers, &neighbours](int32_t b) {
    int64_t sum = 0;
    for (const int32_t other : neighbours.of(b)) sum += buffers[other].bytes;
    return sum;
  };
  const auto at_peak = [buffers, peak](int32_t b) {
    return int64_t{buffers[b].life.begin <= peak.step &&
                   peak.step < buffers[b].life.end};
  };
  using Key = std::pair<int64_t, int64_t>;
  return {
      {"size", [=](int32_t b) { return Key(bytes(b), length(b)); }},
      {"area", [=](int32_t b) { return Key(area(b), bytes(b)); }},
      {"lifetime", [=](int32_t b) { return Key(length(b), bytes(b)); }},
      {"peak, then size", [=](int32_t b) { return Key(at_peak(b), bytes(b)); }},
      {"neighbours", [=](int32_t b) { return Key(degree(b), bytes(b)); }},
      {"neighbours' bytes",
       [=](int32_t b) { return Key(neighbour_bytes(b), bytes(b)); }},
      {"begin",
       [=](int32_t b) { return Key(-buffers[b].life.begin, bytes(b)); }},
      {"end", [=](int32_t b) { return Key(buffers[b].life.end, bytes(b)); }},
  };
}

std::vector<int32_t> Ordered(absl::Span<const Buffer> buffers,
                             const Importance& importance) {
  std::vector<std::pair<int64_t, int64_t>> keys;
  std::vector<int32_t> order(buffers.size());
  for (size_t b = 0; b < buffers.size(); ++b) {
    order[b] = static_cast<int32_t>(b);
    keys.push_back(importance.key(order[b]));
  }
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    if (keys[a] != keys[b]) return keys[a] > keys[b];
    return a < b;  // ties go to the lower id: one answer on every machine
  });
  return order;
}

class Portfolio {
 public:
  Portfolio(absl::Span<const Buffer> buffers, const PlacementOptions& options)
      : buffers_(buffers), peak_(PeakLive(buffers)), pairs_(options.max_pairs) {
    best_.height = std::numeric_limits<int64_t>::max();
    best_.lower_bound = peak_.bytes;
    for (const Buffer& b : buffers) {
      num_steps_ = std::max(num_steps_, b.life.end);
    }
  }

  Placement Run() {
    for (const Fit fit : {Fit::kLowest, Fit::kTightest}) {
      if (SweepForward(fit) || SweepBackward(fit) || SweepOutward(fit)) {
        return std::move(best_);
      }
    }
    const int64_t pairs = NumPairs(buffers_);
    if (pairs > pairs_) return std::move(best_);
    pairs_ -= pairs;
    const Neighbours neighbours(buffers_);
    for (const Importance& importance :
         Importances(buffers_, neighbours, peak_)) {
      const std::vector<int32_t> order = Ordered(buffers_, importance);
      for (const Fit fit : {Fit::kLowest, Fit::kTightest}) {
        if (pairs > pairs_) return std::move(best_);
        pairs_ -= pairs;
        if (Offer(
                PlaceInOrder(order, buffers_, neighbours, fit),
                absl::StrCat("greedy by ", importance.name, ", ", Name(fit)))) {
          return std::move(best_);
        }
      }
    }
    return std::move(best_);
  }

 private:
  // Keeps `offsets` if they are lower than the best; true: at the bound.
  bool Offer(std::vector<int64_t> offsets, std::string name) {
    ++best_.tried;
    const int64_t height = Height(buffers_, offsets);
    if (height < best_.height) {
      best_.height = height;
      best_.offsets = std::move(offsets);
      best_.name = std::move(name);
    }
    return best_.height == best_.lower_bound;
  }

  bool SweepForward(Fit fit) {
    std::vector<int64_t> offsets(buffers_.size(), kUnplaced);
    SweepFrom(0, buffers_, fit, offsets);
    return Offer(std::move(offsets),
                 absl::StrCat("sweep forward, ", Name(fit)));
  }

  bool SweepBackward(Fit fit) {
    std::vector<int64_t> offsets(buffers_.size(), kUnplaced);
    SweepFrom(0, Mirrored(buffers_, num_steps_), fit, offsets);
    return Offer(std::move(offsets),
                 absl::StrCat("sweep backward, ", Name(fit)));
  }

  bool SweepOutward(Fit fit) {
    std::vector<int64_t> offsets(buffers_.size(), kUnplaced);
    std::vector<int32_t> stack;
    for (size_t b = 0; b < buffers_.size(); ++b) {
      if (buffers_[b].life.begin <= peak_.step &&
          peak_.step < buffers_[b].life.end) {
        stack.push_back(static_cast<int32_t>(b));
      }
    }
    std::sort(stack.begin(), stack.end(), [&](int32_t a, int32_t b) {
      const Lifetime x = buffers_[a].life;
      const Lifetime y = buffers_[b].life;
      const int32_t x_length = x.end - x.begin;
      const int32_t y_length = y.end - y.begin;
      return x_length != y_length ? x_length > y_length : a < b;
    });
    int64_t top = 0;
    for (const int32_t b : stack) {
      offsets[b] = top;
      top += buffers_[b].bytes;
    }
    SweepFrom(peak_.step, buffers_, fit, offsets);
    SweepFrom(num_steps_ - 1 - peak_.step, Mirrored(buffers_, num_steps_), fit,
              offsets);
    return Offer(std::move(offsets),
                 absl::StrCat("sweep outward, ", Name(fit)));
  }

  const absl::Span<const Buffer> buffers_;
  const Peak peak_;
  int32_t num_steps_ = 0;
  int64_t pairs_;  // that may still be looked at
  Placement best_;
};

}  // namespace

Placement PlaceBuffers(absl::Span<const Buffer> buffers,
                       const PlacementOptions& options) {
  if (buffers.empty()) {
    Placement none;
    none.name = "nothing to place";
    return none;
  }
  return Portfolio(buffers, options).Run();
}

}  // namespace reprise
