// Runs of the search, each from the root in an order of its own. Luck with
// early choices varies a lot, and most instances have orders in which almost
// nothing is taken back; so runs end early and begin anew, and only their
// limits grow. Parts that failed are remembered across runs, so the last run
// has an end even where no placement exists.
//
// The runs take turns between two capacities: the proven bound, and one closer
// to the best height. If a capacity is refuted, the bound rises by the least
// excess among all that was cut off.
//
// Source: limits of runs after Luby et al. (1993),
// doi:10.1016/0020-0190(93)90029-9. The search:
// planner/offsets/section_search.cc. Tested by
// tests/planner/offset_search_test.cc against all orders of small instances,
// and on rectangles cut to pieces.

#include "planner/offsets/offset_search.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "planner/offsets/section_search.h"

namespace reprise {
namespace {

constexpr Preference kPreferences[] = {
    Preference::kBytes,
    Preference::kShortLife,
    Preference::kLongLife,
    Preference::kNoise,
    Preference::kLifeTimesRootOfBytes,
    Preference::kArea,
    Preference::kFlush,
};
constexpr int32_t kNumPreferences = 7;

// Returns the i-th of 1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8, ...: close
// to the best limits for runs of unknown luck.
int64_t LubyNumber(int32_t i) {
  int64_t power = 1;  // of 2, above i + 1
  while (power < i + 2) power *= 2;
  while (power != i + 2) {
    i -= static_cast<int32_t>(power / 2) - 1;
    power = 1;
    while (power < i + 2) power *= 2;
  }
  return power / 2;
}

int64_t Height(absl::Span<const int64_t> bytes,
               absl::Span<const int64_t> offsets) {
  int64_t height = 0;
  for (size_t b = 0; b < bytes.size(); ++b) {
    height = std::max(height, offsets[b] + bytes[b]);
  }
  return height;
}

// Runs under one capacity.
struct Lane {
  int64_t capacity = 0;
  int32_t runs = 0;
  int64_t least_excess = kNoExcess;  // over all runs
  FailedParts failed;

  void Aim(int64_t new_capacity) {
    if (new_capacity == capacity) return;
    capacity = new_capacity;
    runs = 0;
    least_excess = kNoExcess;
    failed.Clear();
  }
};

}  // namespace

// Alternates between two capacities: the proven bound, and one between it and
// the best height that is easier to reach.
class OffsetSearch::Driver {
 public:
  Driver(absl::Span<const int64_t> bytes, const Sections& sections,
         int64_t known_height, const OffsetSearchOptions& options)
      : bytes_(bytes),
        options_(options),
        search_(bytes, sections),
        run_work_(DescentWork(sections)),
        height_(known_height),
        proven_bound_(std::min(options.lower_bound, known_height)) {}

  void Continue(int64_t work, int64_t known_height,
                const std::function<bool()>& should_stop) {
    if (known_height < height_) {
      height_ = known_height;
      offsets_.clear();
    }
    const int64_t end = work_ + work;
    while (!done() && work_ < end) {
      if (should_stop && should_stop()) return;
      const int64_t easier = EasierCapacity();
      if (second_ && easier > proven_bound_) {
        lanes_[1].Aim(easier);
        RunOnce(lanes_[1], should_stop);
      } else {
        lanes_[0].Aim(proven_bound_);
        RunOnce(lanes_[0], should_stop);
      }
      second_ = !second_;
    }
  }

  bool done() const {
    return height_ <= proven_bound_ || height_ <= options_.capacity_bytes;
  }
  const std::vector<int64_t>& offsets() const { return offsets_; }
  int64_t height() const { return height_; }
  int64_t proven_bound() const { return proven_bound_; }
  int64_t work() const { return work_; }
  int32_t runs() const { return runs_; }

 private:
  // Nearer to the height the more runs have been in vain.
  int64_t EasierCapacity() const {
    if (options_.capacity_bytes >= proven_bound_) {
      return options_.capacity_bytes;
    }
    const int64_t drop =
        (height_ - proven_bound_) >> std::min(1 + vain_rounds_, 62);
    return height_ - std::max<int64_t>(drop, 1);
  }

  void RunOnce(Lane& lane, const std::function<bool()>& should_stop) {
    SearchRunOptions run;
    run.capacity = lane.capacity;
    run.preference = kPreferences[lane.runs % kNumPreferences];
    const int32_t round = lane.runs / kNumPreferences;
    run.noise = round > 0;
    run.seed = static_cast<uint64_t>(lane.runs);
    run.max_work = run_work_ * LubyNumber(round);
    run.should_stop = &should_stop;
    ++lane.runs;
    const SearchOutcome outcome = search_.Run(run, lane.failed);
    ++runs_;
    work_ += search_.work();
    lane.least_excess = std::min(lane.least_excess, search_.least_excess());
    switch (outcome) {
      case SearchOutcome::kFound:
        offsets_ = search_.Offsets();
        height_ = Height(bytes_, offsets_);
        vain_rounds_ = 0;
        break;
      case SearchOutcome::kNoneExists:
        // Without an excess no capacity would do, which cannot be.
        proven_bound_ =
            lane.least_excess == kNoExcess
                ? height_
                : std::min(height_, lane.capacity + lane.least_excess);
        vain_rounds_ = 0;
        break;
      case SearchOutcome::kLimit:
        if (&lane == &lanes_[1] && lane.runs % kNumPreferences == 0) {
          ++vain_rounds_;
        }
        break;
    }
  }

  const absl::Span<const int64_t> bytes_;
  const OffsetSearchOptions options_;
  SectionSearch search_;
  const int64_t run_work_;
  Lane lanes_[2];
  bool second_ = false;  // the lane that is next
  int32_t vain_rounds_ = 0;
  std::vector<int64_t> offsets_;
  int64_t height_;
  int64_t proven_bound_;
  int64_t work_ = 0;
  int32_t runs_ = 0;
};

OffsetSearch::OffsetSearch(absl::Span<const int64_t> bytes,
                           const Sections& sections, int64_t known_height,
                           const OffsetSearchOptions& options)
    : driver_(
          std::make_unique<Driver>(bytes, sections, known_height, options)) {}

OffsetSearch::~OffsetSearch() = default;

void OffsetSearch::Continue(int64_t work, int64_t known_height,
                            const std::function<bool()>& should_stop) {
  driver_->Continue(work, known_height, should_stop);
}

const std::vector<int64_t>& OffsetSearch::offsets() const {
  return driver_->offsets();
}
int64_t OffsetSearch::height() const { return driver_->height(); }
int64_t OffsetSearch::proven_bound() const { return driver_->proven_bound(); }
bool OffsetSearch::done() const { return driver_->done(); }
int64_t OffsetSearch::work() const { return driver_->work(); }
int32_t OffsetSearch::runs() const { return driver_->runs(); }

int64_t DescentWork(const Sections& sections) {
  int64_t lives = 0;
  for (const SectionRange& life : sections.life) lives += life.end - life.begin;
  return 1'000'000 + 250 * lives;
}

}  // namespace reprise
