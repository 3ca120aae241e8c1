// First fit in many orders, each learning from the last.

#ifndef PLANNER_OFFSETS_REPACKING_H_
#define PLANNER_OFFSETS_REPACKING_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "planner/offsets/sections.h"

namespace reprise {

// Places buffers again and again: in orders of importance at first, then in the
// best of these with everything that ended above the goal made more important.
class Repacking {
 public:
  //   bytes:    > 0, one per buffer; borrowed, as `sections` of the same
  //             buffers are.
  //   goal:     height that ends it.
  //   max_work: in entries looked at by FirstFit, all calls together; a
  //             placement that exceeds it is given up.
  Repacking(absl::Span<const int64_t> bytes, const Sections& sections,
            int64_t goal, int64_t max_work);

  // Makes up to `num` more placements.
  //
  //   should_stop: asked between placements; null: never.
  void Continue(int32_t num, const std::function<bool()>& should_stop);

  // Of the best placement so far; no offsets before the first one.
  const std::vector<int64_t>& offsets() const { return offsets_; }
  int64_t height() const { return height_; }
  const std::string& name() const { return name_; }

  int32_t tried() const { return tried_; }
  int64_t work() const { return work_; }

  // True: at the goal, at the end of its work, or long without a better height.
  bool done() const {
    return height_ <= goal_ || work_ >= max_work_ ||
           rounds_since_best_ >= kMaxRoundsSinceBest;
  }

 private:
  static constexpr int32_t kMaxRoundsSinceBest = 300;

  void TryOrder(int32_t order);
  void Repack();
  bool Place(absl::Span<const int32_t> order);
  std::vector<double> Keys(int32_t order) const;

  const absl::Span<const int64_t> bytes_;
  const Sections& sections_;
  const int64_t goal_;
  const int64_t max_work_;
  std::vector<int64_t> most_live_;  // per buffer: bytes in its fullest section
  int32_t peak_section_ = 0;

  std::vector<int64_t> offsets_;
  int64_t height_ = INT64_MAX;
  std::string name_;
  int32_t tried_ = 0;
  int64_t work_ = 0;

  // Of repacking: larger keys are placed first.
  std::vector<double> keys_;
  std::vector<double> best_keys_;
  std::vector<int32_t> above_goal_;  // in the last placement
  std::vector<int32_t> best_above_goal_;
  int32_t vain_rounds_ = 0;        // since these keys were last set
  int32_t rounds_since_best_ = 0;  // in all
  uint64_t random_ = 1;
};

}  // namespace reprise

#endif  // PLANNER_OFFSETS_REPACKING_H_
