// One run of the complete search for offsets, under one capacity.

#ifndef PLANNER_OFFSETS_SECTION_SEARCH_H_
#define PLANNER_OFFSETS_SECTION_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "planner/offsets/failed_parts.h"
#include "planner/offsets/sections.h"

namespace reprise {

// Which of the buffers that could rest on a floor is tried first.
enum class Preference : uint8_t {
  kBytes,
  kShortLife,
  kLongLife,
  kNoise,
  kLifeTimesRootOfBytes,
  kArea,
  kFlush,  // reaches the ends of the valley, or the height of its walls
};

struct SearchRunOptions {
  int64_t capacity = 0;  // bytes
  Preference preference = Preference::kBytes;

  // Keys of preference are multiplied by up to about e, or divided.
  bool noise = false;
  uint64_t seed = 0;

  int64_t max_work = 0;  // steps of a few nanoseconds each
  const std::function<bool()>* should_stop = nullptr;  // not null; may be empty
};

// More than any excess over a capacity.
constexpr int64_t kNoExcess = std::numeric_limits<int64_t>::max();

enum class SearchOutcome : uint8_t { kFound, kNoneExists, kLimit };

// Decides whether a placement within a capacity exists.
class SectionSearch {
 public:
  //   bytes:    > 0, one per buffer.
  //   sections: of the same buffers.
  //   cost:     O(sum of lifetimes in sections), time and memory.
  SectionSearch(absl::Span<const int64_t> bytes, const Sections& sections);

  // Begins anew, and ends with a placement, with the proof that none exists, or
  // at the limit.
  //
  //   failed: of earlier runs under the same capacity; more are added.
  SearchOutcome Run(const SearchRunOptions& options, FailedParts& failed);

  // In the order of the constructor's; after kFound.
  std::vector<int64_t> Offsets() const;

  // The least excess over the capacity that cut off a branch; kNoExcess: none
  // did.
  int64_t least_excess() const { return least_excess_; }
  int64_t work() const { return work_; }

 private:
  struct Item {
    int64_t bytes;
    int32_t begin;  // sections
    int32_t end;
    int32_t id;  // buffer
  };

  // What a decision changed, to be taken back.
  enum class Change : uint8_t { kFloor, kOffset, kSupport, kPlaced };
  struct Undo {
    Change change;
    int32_t index;
    int64_t old;
  };

  // A part to be solved. They form lists, as branches share their tails.
  struct Part {
    int32_t begin;  // sections
    int32_t end;
    int32_t parent;  // decision that made it a part; -1: none
    int32_t next;    // -1: last
  };

  // One section's decision. Choices are items, kNothing last.
  struct Decision {
    int32_t begin;  // the part's sections
    int32_t end;
    int32_t parent;
    int32_t section;
    int64_t raised_floor;  // what kNothing raises it to
    PartHash hash;
    // What to return to.
    int32_t parts_head;
    size_t num_parts;
    size_t num_undos;
    size_t choices_begin;
    size_t next_choice;
    size_t choices_end;
  };
  static constexpr int32_t kNothing = -1;
  // As an offset: nothing could lie anywhere.
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

  struct Valley {
    int32_t begin;
    int32_t end;
    int64_t floor;
  };

  void Reset(const SearchRunOptions& options);
  absl::Span<const int32_t> ItemsIn(int32_t section) const {
    return absl::MakeConstSpan(items_in_).subspan(
        items_in_begin_[section],
        items_in_begin_[section + 1] - items_in_begin_[section]);
  }
  void SetFloor(int32_t section, int64_t floor);
  bool Fits(int32_t section);
  bool Propagate(int32_t begin, int32_t end);
  bool RaiseOffset(int32_t item, int32_t begin, int32_t end, int64_t highest,
                   bool level);
  int64_t FindSupport(int32_t section);
  void Place(int32_t item);
  void Return(size_t num_undos);
  void Split(int32_t begin, int32_t end, int32_t parent);
  PartHash Hash(int32_t begin, int32_t end);
  bool Decide(const Part& part, const FailedParts& failed);
  bool Apply(const Decision& decision, int32_t choice);

  // In section_choices.cc.
  int32_t SectionToDecide(const Part& part);
  void ListChoices(const Part& part, Decision& decision);
  int64_t NextOffset(const Valley& valley, int32_t section);
  double Key(int32_t item, const Valley& valley) const;

  // Fixed.
  std::vector<Item> items_;  // by rising `begin`
  int32_t num_sections_;
  int64_t granularity_ = 0;          // divides all bytes
  std::vector<int32_t> first_item_;  // that begins at a section or later
  std::vector<size_t> items_in_begin_;
  std::vector<int32_t> items_in_;  // by section

  // State of a run.
  SearchRunOptions options_;
  std::vector<int64_t> floor_;
  std::vector<int64_t> remaining_bytes_;
  std::vector<int32_t> remaining_items_;
  std::vector<int32_t> crossing_;  // remaining items in this and the last one
  std::vector<int32_t> support_;   // an item that can lie on the floor
  std::vector<int64_t> offset_;    // of an item: least possible, or final
  std::vector<uint8_t> remains_;
  std::vector<double> weight_;  // grows with failures of a section
  std::vector<Undo> undos_;
  std::vector<Part> parts_;
  int32_t parts_head_ = -1;
  std::vector<Decision> decisions_;
  std::vector<int32_t> choices_;
  int64_t least_excess_ = kNoExcess;
  int64_t work_ = 0;

  // Kept for their memory.
  std::vector<std::pair<int32_t, int32_t>> raised_;
  std::vector<int64_t> valley_floor_;
  std::vector<int32_t> count_change_;
  std::vector<std::pair<double, int32_t>> keyed_;
  std::vector<std::pair<int64_t, Part>> new_parts_;
};

}  // namespace reprise

#endif  // PLANNER_OFFSETS_SECTION_SEARCH_H_
