// Repacking: first fit places large, long-lived and crowded buffers first, in
// several mixtures of the three. Where the arena is then too high, only a few
// buffers usually stick out; they become more important by a random factor, and
// everything is placed again. What was in their way has to go elsewhere.
//
//   goal 10   order      sticks out          next order
//             a b c d    c, up to 12         a c b d
//
// After ten rounds without a better height the order of the best one is taken
// up again, with other random factors.
//
// Sources: greedy by size, Pisarchyk and Lee (2020), arXiv:2001.03288; squeaky
// wheel optimization, Joslin and Clements (1999), doi:10.1613/jair.561.
// Tested by tests/planner/repacking_test.cc.

#include "planner/offsets/repacking.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/offsets/first_fit.h"

namespace reprise {
namespace {

constexpr const char* kOrders[] = {
    "crowded bytes",
    "bytes",
    "peak, then bytes",
    "very crowded bytes",
    "area",
    "life",
    "begin",
    "end",
};
constexpr int32_t kNumOrders = 8;
constexpr int32_t kVainRounds = 10;

// Largest value in ranges of a fixed array, by doubling.
class RangeMaximum {
 public:
  explicit RangeMaximum(std::vector<int64_t> values) {
    levels_.push_back(std::move(values));
    const size_t n = levels_[0].size();
    for (size_t width = 1; 2 * width <= n; width *= 2) {
      const std::vector<int64_t>& last = levels_.back();
      std::vector<int64_t> next(n - 2 * width + 1);
      for (size_t i = 0; i < next.size(); ++i) {
        next[i] = std::max(last[i], last[i + width]);
      }
      levels_.push_back(std::move(next));
    }
  }

  int64_t In(SectionRange range) const {
    size_t level = 0;
    int32_t width = 1;
    while (2 * width <= range.end - range.begin) {
      width *= 2;
      ++level;
    }
    return std::max(levels_[level][range.begin],
                    levels_[level][range.end - width]);
  }

 private:
  std::vector<std::vector<int64_t>> levels_;
};

// Larger keys first, ties to the lower id.
std::vector<int32_t> OrderBy(const std::vector<double>& keys) {
  std::vector<int32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return keys[a] != keys[b] ? keys[a] > keys[b] : a < b;
  });
  return order;
}

}  // namespace

Repacking::Repacking(absl::Span<const int64_t> bytes, const Sections& sections,
                     int64_t goal, int64_t max_work)
    : bytes_(bytes), sections_(sections), goal_(goal), max_work_(max_work) {
  std::vector<int64_t> live(sections.num + 1, 0);
  for (size_t b = 0; b < bytes.size(); ++b) {
    live[sections.life[b].begin] += bytes[b];
    live[sections.life[b].end] -= bytes[b];
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  peak_section_ = static_cast<int32_t>(
      std::max_element(live.begin(), live.end()) - live.begin());
  const RangeMaximum most_live(std::move(live));
  most_live_.reserve(bytes.size());
  for (const SectionRange& life : sections.life) {
    most_live_.push_back(most_live.In(life));
  }
}

std::vector<double> Repacking::Keys(int32_t order) const {
  std::vector<double> keys(bytes_.size());
  for (size_t b = 0; b < keys.size(); ++b) {
    const SectionRange life = sections_.life[b];
    const double bytes = static_cast<double>(bytes_[b]);
    const double length = life.end - life.begin;
    const double crowd =
        static_cast<double>(most_live_[b]) / static_cast<double>(most_live_[0]);
    // Among equal bytes the longer life is placed first.
    const double sized = bytes * (1 + length * 1e-9);
    switch (order) {
      case 0:
        keys[b] = bytes * crowd * (16 + std::ilogb(length));
        break;
      case 1:
        keys[b] = sized;
        break;
      case 2:
        keys[b] = life.begin <= peak_section_ && peak_section_ < life.end
                      ? sized * 0x1p64
                      : sized;
        break;
      case 3:
        keys[b] = sized * crowd * crowd * crowd;
        break;
      case 4:
        keys[b] = bytes * length;
        break;
      case 5:
        keys[b] = length * (1 + bytes * 1e-19);
        break;
      case 6:
        keys[b] = sections_.num - life.begin + bytes * 1e-19;
        break;
      default:
        keys[b] = life.end + bytes * 1e-19;
    }
  }
  return keys;
}

void Repacking::Continue(int32_t num,
                         const std::function<bool()>& should_stop) {
  for (int32_t i = 0; i < num && !done(); ++i) {
    if (should_stop && should_stop()) return;
    if (tried_ < kNumOrders) {
      TryOrder(tried_);
    } else {
      Repack();
    }
  }
}

// Places in the order; false: out of work, and nothing has changed.
bool Repacking::Place(absl::Span<const int32_t> order) {
  ++tried_;
  FirstFit first_fit(sections_.num);
  std::vector<int64_t> offsets(bytes_.size());
  std::vector<int32_t> above_goal;
  int64_t height = 0;
  for (const int32_t b : order) {
    offsets[b] = first_fit.Place(sections_.life[b], bytes_[b]);
    const int64_t top = offsets[b] + bytes_[b];
    if (top > goal_) above_goal.push_back(b);
    height = std::max(height, top);
    if (work_ + first_fit.work() > max_work_) {
      work_ = max_work_;
      return false;
    }
  }
  work_ += first_fit.work();
  above_goal_ = std::move(above_goal);
  if (height < height_) {
    height_ = height;
    offsets_ = std::move(offsets);
    name_ = tried_ <= kNumOrders
                ? absl::StrCat("first fit by ", kOrders[tried_ - 1])
                : absl::StrCat("repacking, round ", tried_ - kNumOrders);
  }
  return true;
}

void Repacking::TryOrder(int32_t order) {
  std::vector<double> keys = Keys(order);
  const int64_t height = height_;
  if (!Place(OrderBy(keys)) || height_ >= height) return;
  best_keys_ = std::move(keys);
  best_above_goal_ = above_goal_;
}

void Repacking::Repack() {
  if (keys_.empty() || vain_rounds_ >= kVainRounds) {
    keys_ = best_keys_;
    above_goal_ = best_above_goal_;
    vain_rounds_ = 0;
  }
  double largest = 0;
  for (const int32_t b : above_goal_) {
    random_ = random_ * 6364136223846793005 + 1442695040888963407;
    keys_[b] *= 1.3 + 0.8 * static_cast<double>(random_ >> 40) * 0x1p-24;
    largest = std::max(largest, keys_[b]);
  }
  if (largest > 1e200) {
    for (double& key : keys_) key *= 1e-180;
  }
  const int64_t height = height_;
  if (!Place(OrderBy(keys_))) return;
  if (height_ < height) {
    best_keys_ = keys_;
    best_above_goal_ = above_goal_;
    vain_rounds_ = 0;
    rounds_since_best_ = 0;
  } else {
    ++vain_rounds_;
    ++rounds_since_best_;
  }
}

}  // namespace reprise
