// The choices of planner/offsets/section_search.h: which section decides next,
// what could rest on its floor, and what of that is tried first.
//
// Tested by tests/planner/offset_search_test.cc.

#include <algorithm>
#include <cmath>
#include <limits>

#include "planner/offsets/section_search.h"

namespace reprise {

// Returns the section of the part that has the fewest choices for its weight.
int32_t SectionSearch::SectionToDecide(const Part& part) {
  const int32_t begin = part.begin;
  const int32_t end = part.end;
  valley_floor_.assign(end - begin, -1);
  count_change_.assign(end - begin + 1, 0);
  for (int32_t s = begin; s < end;) {
    int32_t run_end = s + 1;
    while (run_end < end && floor_[run_end] == floor_[s]) ++run_end;
    if ((s == begin || floor_[s - 1] > floor_[s]) &&
        (run_end == end || floor_[run_end] > floor_[s])) {
      std::fill(valley_floor_.begin() + (s - begin),
                valley_floor_.begin() + (run_end - begin), floor_[s]);
    }
    s = run_end;
  }
  // What can lie on the floor of a valley lies within it: beside it are walls.
  for (int32_t i = first_item_[begin]; i < first_item_[end]; ++i) {
    const Item& item = items_[i];
    if (!remains_[i] || offset_[i] != valley_floor_[item.begin - begin]) {
      continue;
    }
    ++count_change_[item.begin - begin];
    --count_change_[item.end - begin];
  }
  work_ += 3 * (end - begin) + first_item_[end] - first_item_[begin];
  int32_t count = 0;
  int32_t best = -1;
  double least = std::numeric_limits<double>::infinity();
  for (int32_t s = begin; s < end; ++s) {
    count += count_change_[s - begin];
    if (valley_floor_[s - begin] < 0) continue;
    const bool can_rise = floor_[s] + remaining_bytes_[s] < options_.capacity;
    const int32_t choices = count + (can_rise ? 1 : 0);
    const double value = choices <= 1 ? -1 : choices / weight_[s];
    if (value < least) {
      least = value;
      best = s;
    }
  }
  return best;
}

double SectionSearch::Key(int32_t item, const Valley& valley) const {
  const double bytes = static_cast<double>(items_[item].bytes);
  const double life = items_[item].end - items_[item].begin;
  const double noise =
      static_cast<double>(MixBits(options_.seed * 0x100000001b3 +
                                  static_cast<uint64_t>(item)) >>
                          11) *
      0x1p-53;
  double key = 0;
  switch (options_.preference) {
    case Preference::kBytes:
      key = bytes * (1 + life * 1e-9);
      break;
    case Preference::kShortLife:
      key = (1 + bytes * 1e-18) / life;
      break;
    case Preference::kLongLife:
      key = (1 + bytes * 1e-18) * life;
      break;
    case Preference::kNoise:
      return noise;
    case Preference::kLifeTimesRootOfBytes:
      key = life * std::sqrt(bytes);
      break;
    case Preference::kArea:
      key = life * bytes;
      break;
    case Preference::kFlush: {
      const int64_t top = valley.floor + items_[item].bytes;
      int32_t flush = 0;
      if (items_[item].begin == valley.begin) {
        ++flush;
        if (valley.begin > 0 && floor_[valley.begin - 1] == top) ++flush;
      }
      if (items_[item].end == valley.end) {
        ++flush;
        if (valley.end < num_sections_ && floor_[valley.end] == top) ++flush;
      }
      key = (flush + 0.1) * (1 + bytes * 1e-18);
      break;
    }
  }
  if (!options_.noise) return key;
  // Nearly an exponential; std::exp differs between libraries.
  const double root = 0.75 + 0.5 * noise;
  return key * root * root * root * root;
}

// Returns the least offset above the valley's floor at which anything that
// remains in `section` could lie; kNone: nothing could.
int64_t SectionSearch::NextOffset(const Valley& valley, int32_t section) {
  // What does not lie on the floor of the section, but could, rests on
  // something beside the section that reaches into the valley.
  int64_t least_top = kNone;
  const auto consider = [&](int32_t item) {
    if (!remains_[item]) return;
    if (items_[item].begin <= section && section < items_[item].end) return;
    least_top = std::min(least_top, offset_[item] + items_[item].bytes);
  };
  for (const int32_t item : ItemsIn(valley.begin)) consider(item);
  for (int32_t i = first_item_[valley.begin + 1]; i < first_item_[valley.end];
       ++i) {
    consider(i);
  }
  int64_t next = kNone;
  for (const int32_t item : ItemsIn(section)) {
    if (!remains_[item]) continue;
    if (offset_[item] > valley.floor) {
      next = std::min(next, offset_[item]);
    } else {
      next = std::min(next, least_top);
    }
  }
  work_ += static_cast<int64_t>(ItemsIn(section).size() +
                                ItemsIn(valley.begin).size()) +
           first_item_[valley.end] - first_item_[valley.begin];
  return next;
}

void SectionSearch::ListChoices(const Part& part, Decision& decision) {
  const int32_t section = decision.section;
  Valley valley = {section, section + 1, floor_[section]};
  const auto in_valley = [&](int32_t s) {
    return valley_floor_[s - part.begin] == valley.floor;
  };
  while (valley.begin > part.begin && in_valley(valley.begin - 1)) {
    --valley.begin;
  }
  while (valley.end < part.end && in_valley(valley.end)) ++valley.end;

  keyed_.clear();
  const bool level = valley.begin == part.begin && valley.end == part.end;
  for (const int32_t item : ItemsIn(section)) {
    if (!remains_[item] || offset_[item] != valley.floor) continue;
    if (level && items_[item].begin == part.begin &&
        items_[item].end == part.end) {
      // It meets all others, so it may as well lie below them.
      choices_.push_back(item);
      return;
    }
    keyed_.push_back({-Key(item, valley), item});
  }
  work_ += static_cast<int64_t>(ItemsIn(section).size());
  std::sort(keyed_.begin(), keyed_.end());
  for (const auto& [unused, item] : keyed_) {
    const auto equal = [&, id = item](int32_t other) {
      return items_[other].begin == items_[id].begin &&
             items_[other].end == items_[id].end &&
             items_[other].bytes == items_[id].bytes;
    };
    if (std::none_of(choices_.begin() + decision.choices_begin, choices_.end(),
                     equal)) {
      choices_.push_back(item);
    }
  }
  if (floor_[section] + remaining_bytes_[section] >= options_.capacity) {
    // Offsets are sums of bytes, so the floor would rise by this or more.
    least_excess_ =
        std::min(least_excess_, floor_[section] + remaining_bytes_[section] +
                                    granularity_ - options_.capacity);
    return;
  }
  decision.raised_floor = NextOffset(valley, section);
  if (decision.raised_floor == kNone) return;
  const int64_t excess =
      decision.raised_floor + remaining_bytes_[section] - options_.capacity;
  if (excess > 0) {
    least_excess_ = std::min(least_excess_, excess);
  } else {
    choices_.push_back(kNothing);
  }
}

}  // namespace reprise
