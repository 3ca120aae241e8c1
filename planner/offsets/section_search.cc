// Complete search for offsets: is there a placement within the capacity?
//
// The arena is filled from below. Every section has a floor: what remains to be
// placed in it lies at the floor or higher. A valley is a run of sections with
// one floor and higher ones on either side; what rests on it must lie within
// it. The search takes one section of a valley and decides what rests on its
// floor: one of the buffers that live in it and within the valley, or nothing,
// which raises that floor to the next offset at which anything could rest.
//
//   capacity 12   sections 0 1 2    floors 0 0 0: all is one valley, and only
//   a  4 bytes    [0, 1)            c and a live in section 0. c first: floors
//   b  4 bytes    [1, 2)            4 4 0, then d in the valley of section 2,
//   c  4 bytes    [0, 2)            then a and b on 4.
//   d  4 bytes    [2, 3)
//
// Every placement can be pushed down until all buffers rest on something, so
// these decisions miss none, and no two branches hold the same placement. What
// makes it quick:
//
// * Sections that decide first are those with the fewest choices, relative to
//   how often their decisions have failed before.
// * A floor below every place where a remaining buffer could lie is raised, and
//   so on until nothing changes. A section whose floor and remaining bytes
//   exceed the capacity refutes the branch.
// * Where no remaining buffer crosses from one section to the next, the parts
//   are solved on their own, and the failure of one is the failure of the
//   decision that parted them, whatever the others came to.
// * What follows depends on the floors and on which buffers remain only. Parts
//   that failed are remembered by a hash of 128 bits of both, across runs.
// * In a part with a level floor, a buffer that lives in all of it may lie
//   lowest. Of equal buffers only the first is tried.
//
// If a capacity is refuted, the least excess among all that was cut off is how
// far the proven bound rises.
//
// Which section decides, and what it tries first, is in
// planner/offsets/section_choices.cc.
//
// Sources: the fill of valleys is the lowest-gap rule of strip packing, made
// complete; capacity checks of sections and canonical placements as in Moffitt
// (2023), doi:10.1145/3623278.3624752; decisions weighed by their failures
// after Boussemart et al. (2004), ECAI.
// Tested by tests/planner/offset_search_test.cc.

#include "planner/offsets/section_search.h"

#include <algorithm>
#include <numeric>

namespace reprise {

SectionSearch::SectionSearch(absl::Span<const int64_t> bytes,
                             const Sections& sections)
    : num_sections_(sections.num) {
  items_.reserve(bytes.size());
  for (size_t b = 0; b < bytes.size(); ++b) {
    items_.push_back({bytes[b], sections.life[b].begin, sections.life[b].end,
                      static_cast<int32_t>(b)});
    granularity_ = std::gcd(granularity_, bytes[b]);
  }
  std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    if (a.end != b.end) return a.end < b.end;
    if (a.bytes != b.bytes) return a.bytes < b.bytes;
    return a.id < b.id;
  });
  const int32_t num_items = static_cast<int32_t>(items_.size());
  first_item_.assign(num_sections_ + 1, num_items);
  items_in_begin_.assign(num_sections_ + 1, 0);
  for (int32_t i = num_items - 1; i >= 0; --i) {
    first_item_[items_[i].begin] = i;
    for (int32_t s = items_[i].begin; s < items_[i].end; ++s) {
      ++items_in_begin_[s + 1];
    }
  }
  for (int32_t s = num_sections_ - 1; s >= 0; --s) {
    first_item_[s] = std::min(first_item_[s], first_item_[s + 1]);
  }
  std::partial_sum(items_in_begin_.begin(), items_in_begin_.end(),
                   items_in_begin_.begin());
  items_in_.resize(items_in_begin_.back());
  std::vector<size_t> next(items_in_begin_.begin(), items_in_begin_.end() - 1);
  for (int32_t i = 0; i < num_items; ++i) {
    for (int32_t s = items_[i].begin; s < items_[i].end; ++s) {
      items_in_[next[s]++] = i;
    }
  }
}

void SectionSearch::Reset(const SearchRunOptions& options) {
  options_ = options;
  floor_.assign(num_sections_, 0);
  remaining_bytes_.assign(num_sections_, 0);
  remaining_items_.assign(num_sections_, 0);
  crossing_.assign(num_sections_, 0);
  support_.resize(num_sections_);
  offset_.assign(items_.size(), 0);
  remains_.assign(items_.size(), 1);
  weight_.assign(num_sections_, 1);
  for (const Item& item : items_) {
    for (int32_t s = item.begin; s < item.end; ++s) {
      remaining_bytes_[s] += item.bytes;
      ++remaining_items_[s];
      if (s > item.begin) ++crossing_[s];
    }
  }
  for (int32_t s = 0; s < num_sections_; ++s) {
    support_[s] = items_in_[items_in_begin_[s]];
  }
  undos_.clear();
  parts_.clear();
  parts_head_ = -1;
  decisions_.clear();
  choices_.clear();
  least_excess_ = kNoExcess;
  work_ = static_cast<int64_t>(items_in_.size());
}

std::vector<int64_t> SectionSearch::Offsets() const {
  std::vector<int64_t> result(items_.size());
  for (size_t i = 0; i < items_.size(); ++i) result[items_[i].id] = offset_[i];
  return result;
}

void SectionSearch::SetFloor(int32_t section, int64_t floor) {
  undos_.push_back({Change::kFloor, section, floor_[section]});
  floor_[section] = floor;
}

// False: the section's floor leaves too little for what remains.
bool SectionSearch::Fits(int32_t section) {
  if (remaining_items_[section] == 0) return true;
  const int64_t excess =
      floor_[section] + remaining_bytes_[section] - options_.capacity;
  if (excess <= 0) return true;
  least_excess_ = std::min(least_excess_, excess);
  weight_[section] += 1;
  return false;
}

// Raises the least offset of an item to the floors in [begin, end), the highest
// of which is `highest`; false: it was there.
bool SectionSearch::RaiseOffset(int32_t item, int32_t begin, int32_t end,
                                int64_t highest, bool level) {
  if (!remains_[item] || offset_[item] >= highest) return false;
  int64_t floor = highest;
  if (!level) {
    begin = std::max(begin, items_[item].begin);
    end = std::min(end, items_[item].end);
    work_ += end - begin;
    floor = *std::max_element(floor_.begin() + begin, floor_.begin() + end);
    if (floor <= offset_[item]) return false;
  }
  undos_.push_back({Change::kOffset, item, offset_[item]});
  offset_[item] = floor;
  return true;
}

// Finds an item that can lie lowest in a section; returns how low.
int64_t SectionSearch::FindSupport(int32_t section) {
  int64_t least = kNone;
  int32_t support = -1;
  for (const int32_t item : ItemsIn(section)) {
    ++work_;
    if (!remains_[item] || offset_[item] >= least) continue;
    least = offset_[item];
    support = item;
    if (least <= floor_[section]) break;
  }
  undos_.push_back({Change::kSupport, section, support_[section]});
  support_[section] = support;
  return least;
}

// Draws conclusions from floors that rose in [begin, end); false: the
// branch is refuted.
bool SectionSearch::Propagate(int32_t begin, int32_t end) {
  raised_.assign(1, {begin, end});
  while (!raised_.empty()) {
    // No structured binding: a lambda of C++17 may not capture one.
    const int32_t first = raised_.back().first;
    const int32_t last = raised_.back().second;
    raised_.pop_back();
    int64_t highest = floor_[first];
    bool level = true;
    for (int32_t s = first; s < last; ++s) {
      if (!Fits(s)) return false;
      if (floor_[s] != highest) level = false;
      highest = std::max(highest, floor_[s]);
    }
    int32_t changed_begin = first;
    int32_t changed_end = last;
    const auto raise = [&](int32_t item) {
      if (!RaiseOffset(item, first, last, highest, level)) return;
      changed_begin = std::min(changed_begin, items_[item].begin);
      changed_end = std::max(changed_end, items_[item].end);
    };
    for (const int32_t item : ItemsIn(first)) raise(item);
    for (int32_t i = first_item_[first + 1]; i < first_item_[last]; ++i) {
      raise(i);
    }
    work_ += static_cast<int64_t>(ItemsIn(first).size()) +
             (first_item_[last] - first_item_[first + 1]) +
             (changed_end - changed_begin) + (last - first);
    int32_t run_begin = -1;
    for (int32_t s = changed_begin; s <= changed_end; ++s) {
      bool rose = false;
      if (s < changed_end && remaining_items_[s] > 0) {
        const int32_t support = support_[s];
        if (!remains_[support] || offset_[support] > floor_[s]) {
          const int64_t least = FindSupport(s);
          if (least > floor_[s]) {
            SetFloor(s, least);
            rose = true;
            if (!Fits(s)) return false;
          }
        }
      }
      if (rose && run_begin < 0) run_begin = s;
      if (!rose && run_begin >= 0) {
        raised_.push_back({run_begin, s});
        run_begin = -1;
      }
    }
  }
  return true;
}

void SectionSearch::Place(int32_t item) {
  const Item& placed = items_[item];
  undos_.push_back({Change::kPlaced, item, 0});
  remains_[item] = 0;
  for (int32_t s = placed.begin; s < placed.end; ++s) {
    remaining_bytes_[s] -= placed.bytes;
    --remaining_items_[s];
    if (s > placed.begin) --crossing_[s];
    SetFloor(s, offset_[item] + placed.bytes);
  }
  work_ += placed.end - placed.begin;
}

void SectionSearch::Return(size_t num_undos) {
  work_ += static_cast<int64_t>(undos_.size() - num_undos);
  while (undos_.size() > num_undos) {
    const Undo undo = undos_.back();
    undos_.pop_back();
    switch (undo.change) {
      case Change::kFloor:
        floor_[undo.index] = undo.old;
        break;
      case Change::kOffset:
        offset_[undo.index] = undo.old;
        break;
      case Change::kSupport:
        support_[undo.index] = static_cast<int32_t>(undo.old);
        break;
      case Change::kPlaced: {
        const Item& item = items_[undo.index];
        remains_[undo.index] = 1;
        for (int32_t s = item.begin; s < item.end; ++s) {
          remaining_bytes_[s] += item.bytes;
          ++remaining_items_[s];
          if (s > item.begin) ++crossing_[s];
        }
        break;
      }
    }
  }
}

// Lists what remains in [begin, end) as parts; the smallest is solved first, as
// it is quickest to refute.
void SectionSearch::Split(int32_t begin, int32_t end, int32_t parent) {
  new_parts_.clear();
  int32_t first = begin;
  int64_t size = 0;
  for (int32_t s = begin; s <= end; ++s) {
    if (s == end || (s > first && crossing_[s] == 0)) {
      if (size > 0) new_parts_.push_back({size, {first, s, parent, -1}});
      first = s;
      size = 0;
    }
    if (s < end) size += remaining_items_[s];
  }
  work_ += end - begin;
  std::sort(new_parts_.begin(), new_parts_.end(),
            [](const auto& a, const auto& b) {
              if (a.first != b.first) return a.first > b.first;
              return a.second.begin < b.second.begin;
            });
  for (auto& [unused, part] : new_parts_) {
    part.next = parts_head_;
    parts_head_ = static_cast<int32_t>(parts_.size());
    parts_.push_back(part);
  }
}

PartHash SectionSearch::Hash(int32_t begin, int32_t end) {
  PartHash hash;
  for (int32_t s = begin; s < end; ++s) {
    hash.Add(MixBits(static_cast<uint64_t>(floor_[s])) +
             static_cast<uint64_t>(s));
  }
  for (int32_t i = first_item_[begin]; i < first_item_[end]; ++i) {
    if (remains_[i]) hash.Add(~static_cast<uint64_t>(i));
  }
  work_ += 2 * (end - begin) + first_item_[end] - first_item_[begin];
  return hash;
}

// Adds a decision about the part; false: the part is known to fail.
bool SectionSearch::Decide(const Part& part, const FailedParts& failed) {
  Decision decision;
  decision.hash = Hash(part.begin, part.end);
  if (failed.Contains(decision.hash)) return false;
  decision.begin = part.begin;
  decision.end = part.end;
  decision.parent = part.parent;
  decision.section = SectionToDecide(part);
  decision.raised_floor = 0;
  decision.parts_head = parts_head_;
  decision.num_parts = parts_.size();
  decision.num_undos = undos_.size();
  decision.choices_begin = choices_.size();
  decision.next_choice = choices_.size();
  ListChoices(part, decision);
  decision.choices_end = choices_.size();
  decisions_.push_back(decision);
  return true;
}

// Makes a choice and draws its conclusions; false: it is refuted.
bool SectionSearch::Apply(const Decision& decision, int32_t choice) {
  if (choice == kNothing) {
    SetFloor(decision.section, decision.raised_floor);
    return Propagate(decision.section, decision.section + 1);
  }
  Place(choice);
  return Propagate(items_[choice].begin, items_[choice].end);
}

SearchOutcome SectionSearch::Run(const SearchRunOptions& options,
                                 FailedParts& failed) {
  constexpr int64_t kWorkBetweenQuestions = 1 << 20;
  Reset(options);
  if (!Propagate(0, num_sections_)) return SearchOutcome::kNoneExists;
  Split(0, num_sections_, /*parent=*/-1);
  int64_t next_question = work_ + kWorkBetweenQuestions;
  while (parts_head_ >= 0) {
    const Part part = parts_[parts_head_];
    parts_head_ = part.next;
    int32_t current = Decide(part, failed)
                          ? static_cast<int32_t>(decisions_.size()) - 1
                          : part.parent;
    // From `current` to the first decision that has a choice left that is not
    // refuted at once; decisions after it belong to parts that are solved, or
    // whose parent fails.
    while (true) {
      if (current < 0) return SearchOutcome::kNoneExists;
      if (work_ > options_.max_work) return SearchOutcome::kLimit;
      if (*options_.should_stop && work_ > next_question) {
        if ((*options_.should_stop)()) return SearchOutcome::kLimit;
        next_question = work_ + kWorkBetweenQuestions;
      }
      decisions_.resize(current + 1);
      Decision& decision = decisions_[current];
      choices_.resize(decision.choices_end);
      Return(decision.num_undos);
      parts_.resize(decision.num_parts);
      parts_head_ = decision.parts_head;
      if (decision.next_choice == decision.choices_end) {
        failed.Insert(decision.hash);
        weight_[decision.section] += 1;
        current = decision.parent;
        continue;
      }
      const int32_t choice = choices_[decision.next_choice++];
      if (!Apply(decision, choice)) continue;
      Split(decision.begin, decision.end, current);
      break;
    }
  }
  return SearchOutcome::kFound;
}

}  // namespace reprise
