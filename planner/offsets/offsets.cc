// Offsets: two-dimensional packing with one axis (time) fixed, which is
// NP-hard, so quick methods are tried before slow ones, and the lowest result
// wins:
//
//   sweeps      planner/offsets/sweep.h: exact where lifetimes nest
//   first fit   planner/offsets/repacking.h: in orders of importance, then in
//   better
//               ones
//   search      planner/offsets/offset_search.h: complete, where instances are
//   small
//               enough
//
//   id  life   KiB                first fit by bytes
//   a   [0,2)   4                 6   third: a meets b and c
//   b   [1,4)   6                 0   first
//   c   [0,1)   6                 0   second: c ends before b begins
//
// All stop at once when the height equals the most bytes that live at one step,
// which no placement can beat; here both are 10.
//
// Where no buffer crosses from one step to the next, the parts before and after
// are placed on their own, and only those that are too high are placed again.
//
// Tested by tests/planner/offsets_test.cc, small instances against all orders.

#include "planner/offsets/offsets.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/offsets/offset_search.h"
#include "planner/offsets/repacking.h"
#include "planner/offsets/sections.h"
#include "planner/offsets/sweep.h"

namespace reprise {
namespace {

// With less work than so many descents the complete search is left out.
constexpr int64_t kLeastDescents = 1;

int64_t Height(absl::Span<const Buffer> buffers,
               absl::Span<const int64_t> offsets) {
  int64_t height = 0;
  for (size_t b = 0; b < buffers.size(); ++b) {
    height = std::max(height, offsets[b] + buffers[b].bytes);
  }
  return height;
}

// Buffers that share no step with any other ones.
struct Part {
  std::vector<int32_t> buffers;
  std::vector<int64_t> bytes;
  Sections sections;
  std::vector<int64_t> offsets;
  int64_t height = 0;
  int64_t proven_bound = 0;
  std::string name;
};

// Returns the parts, highest first.
std::vector<Part> SplitParts(absl::Span<const Buffer> buffers,
                             const Placement& placement) {
  std::vector<int32_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    if (buffers[a].life.begin != buffers[b].life.begin) {
      return buffers[a].life.begin < buffers[b].life.begin;
    }
    return a < b;
  });
  std::vector<Part> parts;
  int32_t end = std::numeric_limits<int32_t>::min();
  for (const int32_t b : order) {
    if (parts.empty() || buffers[b].life.begin >= end) parts.emplace_back();
    end = std::max(end, buffers[b].life.end);
    Part& part = parts.back();
    part.buffers.push_back(b);
    part.bytes.push_back(buffers[b].bytes);
    part.offsets.push_back(placement.offsets[b]);
    part.height =
        std::max(part.height, placement.offsets[b] + buffers[b].bytes);
  }
  for (Part& part : parts) part.name = placement.name;
  std::stable_sort(
      parts.begin(), parts.end(),
      [](const Part& a, const Part& b) { return a.height > b.height; });
  return parts;
}

class Portfolio {
 public:
  Portfolio(absl::Span<const Buffer> buffers, const PlacementOptions& options)
      : buffers_(buffers),
        options_(options),
        peak_(PeakLive(buffers)),
        goal_(std::max(peak_.bytes, options.capacity_bytes)),
        pairs_(options.max_pairs),
        search_work_(options.max_search_work) {
    best_.height = std::numeric_limits<int64_t>::max();
    best_.lower_bound = peak_.bytes;
    best_.proven_bound = peak_.bytes;
  }

  Placement Run() {
    TrySweeps();
    if (best_.height > goal_) ImproveParts();
    best_.proven = best_.height == best_.proven_bound;
    return std::move(best_);
  }

 private:
  bool Stopped() const {
    return options_.should_stop && options_.should_stop();
  }

  void TrySweeps() {
    for (const Fit fit : {Fit::kLowest, Fit::kTightest}) {
      for (const SweepDirection direction :
           {SweepDirection::kForward, SweepDirection::kBackward,
            SweepDirection::kOutward}) {
        if (best_.tried > 0 && Stopped()) return;
        std::vector<int64_t> offsets = Sweep(buffers_, peak_, direction, fit);
        ++best_.tried;
        const int64_t height = Height(buffers_, offsets);
        if (height >= best_.height) continue;
        best_.height = height;
        best_.offsets = std::move(offsets);
        best_.name = SweepName(direction, fit);
        if (height <= goal_) return;
      }
    }
  }

  void ImproveParts() {
    std::vector<Part> parts = SplitParts(buffers_, best_);
    for (Part& part : parts) {
      if (part.height > goal_) Improve(part);
    }
    best_.height = 0;
    for (const Part& part : parts) {
      for (size_t i = 0; i < part.buffers.size(); ++i) {
        best_.offsets[part.buffers[i]] = part.offsets[i];
      }
      if (part.height > best_.height) {
        best_.height = part.height;
        best_.name = part.name;
      }
      best_.proven_bound = std::max(best_.proven_bound, part.proven_bound);
    }
  }

  static void Offer(const std::vector<int64_t>& offsets, int64_t height,
                    const std::string& name, Part& part) {
    if (height >= part.height) return;
    part.height = height;
    part.offsets = offsets;
    part.name = name;
  }

  // Repacking and search take turns, each longer than the last: either may be
  // the one that is quick.
  void Improve(Part& part) {
    std::vector<Buffer> buffers;
    for (const int32_t b : part.buffers) buffers.push_back(buffers_[b]);
    part.sections = MakeSections(buffers);

    OffsetSearchOptions search_options;
    // That the whole cannot be lower is enough for its parts.
    search_options.lower_bound = peak_.bytes;
    search_options.capacity_bytes = options_.capacity_bytes;
    const int64_t descent_work = DescentWork(part.sections);
    std::unique_ptr<OffsetSearch> search;

    Repacking repacking(part.bytes, part.sections, goal_, pairs_);
    int32_t turn = 1;
    do {
      repacking.Continue(8 * turn, options_.should_stop);
      Offer(repacking.offsets(), repacking.height(), repacking.name(), part);
      if (part.height <= goal_) break;
      if (search == nullptr && search_work_ >= kLeastDescents * descent_work) {
        search = std::make_unique<OffsetSearch>(part.bytes, part.sections,
                                                part.height, search_options);
      }
      if (search != nullptr && search->work() < search_work_) {
        search->Continue(
            std::min(8 * turn * descent_work, search_work_ - search->work()),
            part.height, options_.should_stop);
        Offer(search->offsets(), search->height(),
              absl::StrCat("search, run ", search->runs()), part);
        if (search->done()) break;
      }
      turn = std::min(2 * turn, 1 << 20);
    } while (!Stopped() &&
             (!repacking.done() ||
              (search != nullptr && search->work() < search_work_)));
    best_.tried += repacking.tried();
    pairs_ -= repacking.work();
    if (search != nullptr) {
      part.proven_bound = search->proven_bound();
      best_.tried += search->runs();
      search_work_ -= search->work();
    }
  }

  const absl::Span<const Buffer> buffers_;
  const PlacementOptions& options_;
  const Peak peak_;
  const int64_t goal_;
  int64_t pairs_;        // that may still be looked at
  int64_t search_work_;  // that may still be done
  Placement best_;
};

}  // namespace

Placement PlaceBuffers(absl::Span<const Buffer> buffers,
                       const PlacementOptions& options) {
  if (buffers.empty()) {
    Placement none;
    none.proven = true;
    none.name = "nothing to place";
    return none;
  }
  return Portfolio(buffers, options).Run();
}

}  // namespace reprise
