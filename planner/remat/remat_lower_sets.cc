// A lower set of the forward part has with each node those it reads from. A
// plan is a growing sequence of them: what a set adds to the one before is a
// segment. Of a segment the forward part keeps what nodes outside of the set
// read; when the backward part first reads something else of it, the segment
// runs again, as far as that is needed. The last segment is kept as it is.
//
//   sets        {} = L0 < L1 < L2 < L3 = all
//   kept        boundary of L1, of L2; of the last segment everything
//   backward    .. reads of L3 - L2 | L2 - L1 again | reads of it | L1 again ..
//
// Least(L, m): the least cost of runs again with m units of boundaries kept for
// the segments of L. A step from L to L' needs room for m, the segment and the
// gradients of its readers.
//
// Looked at are the nodes that each single node needs, and all nodes up to each
// place of the order; where that is too many, of those of like size the ones
// with the smallest boundaries. In difference to planner/remat/remat_chain.h
// many values may cross a boundary, and a node runs twice at most. From
// Kusumoto et al. (2019), arXiv:1905.11722.
//
// Cost: O(sets^2 * (operands + units)). Tested by
// tests/planner/remat_lower_sets_test.cc.

#include "planner/remat/remat_lower_sets.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace reprise {
namespace {

constexpr int64_t kNever = INT64_MAX / 4;  // more than any cost

// A set of nodes [0, n) of the forward part.
class NodeSet {
 public:
  explicit NodeSet(int32_t n) : words_((n + 63) / 64, 0) {}

  void Add(int32_t n) { words_[n / 64] |= uint64_t{1} << (n % 64); }
  bool Has(int32_t n) const { return words_[n / 64] >> (n % 64) & 1; }
  void AddAll(const NodeSet& other) {
    for (size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
  }
  bool Contains(const NodeSet& other) const {
    for (size_t w = 0; w < words_.size(); ++w) {
      if (other.words_[w] & ~words_[w]) return false;
    }
    return true;
  }
  friend bool operator==(const NodeSet& a, const NodeSet& b) {
    return a.words_ == b.words_;
  }

 private:
  std::vector<uint64_t> words_;
};

struct LowerSet {
  NodeSet nodes;
  int32_t size = 0;
  int64_t boundary_bytes = 0;
  std::vector<char> at_boundary;  // per value: a node outside reads it
};

// From one set to a larger one.
struct Step {
  int32_t from = 0;
  int32_t to = 0;
  int32_t kept = 0;   // slots that the boundary of `to` adds
  int32_t needs = 0;  // slots in the phase of the segment, beside what is kept
  int64_t cost = 0;   // of running it again
};

}  // namespace

class LowerSetProgram::Impl {
 public:
  Impl(const RematModel& model, const LowerSetOptions& options)
      : model_(model), max_slots_(options.max_slots) {
    unit_ = std::max<int64_t>(
        1, (options.budget_bytes + max_slots_ - 1) / max_slots_);
    end_ = ForwardEnd(model);
    if (end_ < 2) return;
    // Finding sets looks at all operands for each node, a step at all nodes.
    const int64_t left =
        options.work_limit - model.num_operands * (int64_t{end_} + 1);
    const double most =
        std::sqrt(2 * static_cast<double>(std::max<int64_t>(left, 0)) / end_);
    const int32_t max_sets =
        static_cast<int32_t>(std::min<double>(most, options.max_sets));
    if (max_sets < 3) return;
    FindSets(max_sets);
    FindOtherBytes();
    // In the order of `to`: a table is filled when it is first read.
    for (int32_t to = 1; to < static_cast<int32_t>(sets_.size()); ++to) {
      for (int32_t from = 0; from < to; ++from) {
        if (sets_[to].nodes.Contains(sets_[from].nodes)) Measure(from, to);
      }
    }
  }

  bool has_sets() const { return sets_.size() > 2; }

  std::vector<int32_t> Runs(int32_t slots) const {
    if (!has_sets()) return {};
    slots = std::min(slots, max_slots_);
    struct Entry {
      int64_t cost = kNever;
      const Step* step = nullptr;  // into the set
      int32_t before = 0;          // slots kept before it
    };
    std::vector<std::vector<Entry>> table(sets_.size(),
                                          std::vector<Entry>(slots + 1));
    table[0][0].cost = 0;
    for (const Step& step : steps_) {
      for (int32_t m = 0; m + std::max(step.needs, step.kept) <= slots; ++m) {
        const int64_t cost = table[step.from][m].cost + step.cost;
        Entry& entry = table[step.to][m + step.kept];
        if (cost < entry.cost) entry = {cost, &step, m};
      }
    }
    const Entry* best = &table.back()[0];
    for (const Entry& entry : table.back()) {
      if (entry.cost < best->cost) best = &entry;
    }
    if (best->cost >= kNever) return {};
    std::vector<const Step*> steps;
    while (best->step != nullptr) {
      steps.push_back(best->step);
      best = &table[best->step->from][best->before];
    }
    std::reverse(steps.begin(), steps.end());
    return Emit(steps);
  }

 private:
  bool IsForward(int32_t value) const {
    return model_.producer[value] >= 0 && model_.producer[value] < end_;
  }
  bool IsReadBackward(int32_t value) const {
    const auto readers = model_.readers[value];
    return !readers.empty() && readers.back() >= end_;
  }
  int32_t Slots(int64_t bytes) const {
    // To the nearest, so that errors of many segments cancel out.
    return static_cast<int32_t>(std::min<int64_t>((bytes + unit_ / 2) / unit_,
                                                  int64_t{max_slots_} + 1));
  }

  void AddSet(const NodeSet& nodes) {
    LowerSet set{nodes, 0, 0, {}};
    for (int32_t n = 0; n < end_; ++n) set.size += nodes.Has(n);
    sets_.push_back(std::move(set));
  }

  void FindSets(int32_t max_sets) {
    std::vector<NodeSet> needed;  // by each node, with itself
    NodeSet prefix(end_);
    AddSet(prefix);
    for (int32_t n = 0; n < end_; ++n) {
      needed.emplace_back(end_);
      needed.back().Add(n);
      for (const int32_t v : model_.in[n]) {
        if (IsForward(v)) needed.back().AddAll(needed[model_.producer[v]]);
      }
      for (const int32_t p : model_.weightless_in[n]) {
        if (p < end_) needed.back().AddAll(needed[p]);
      }
      prefix.Add(n);
      AddSet(needed.back());
      AddSet(prefix);
    }
    std::stable_sort(
        sets_.begin(), sets_.end(),
        [](const LowerSet& a, const LowerSet& b) { return a.size < b.size; });
    std::vector<LowerSet> distinct;
    for (LowerSet& set : sets_) {
      bool fresh = true;
      for (size_t i = distinct.size(); i-- > 0 && fresh;) {
        if (distinct[i].size != set.size) break;
        fresh = !(distinct[i].nodes == set.nodes);
      }
      if (fresh) distinct.push_back(std::move(set));
    }
    sets_ = std::move(distinct);
    for (LowerSet& set : sets_) FindBoundary(&set);
    KeepSmallBoundaries(static_cast<size_t>(max_sets));
  }

  void FindBoundary(LowerSet* set) {
    set->at_boundary.assign(model_.num_values, 0);
    for (int32_t v = 0; v < model_.num_values; ++v) {
      if (!IsForward(v) || !set->nodes.Has(model_.producer[v])) continue;
      for (const int32_t reader : model_.readers[v]) {
        if (reader >= end_) break;
        if (set->nodes.Has(reader)) continue;
        set->at_boundary[v] = 1;
        set->boundary_bytes += model_.bytes[v];
        break;
      }
    }
  }

  // Of sets of like size the one with the smallest boundary; none and all stay.
  void KeepSmallBoundaries(size_t most) {
    if (sets_.size() <= most) return;
    std::vector<LowerSet> kept;
    for (size_t k = 0; k < most; ++k) {
      const size_t first = k * sets_.size() / most;
      const size_t last = (k + 1) * sets_.size() / most;
      size_t best = k == 0 ? 0 : last - 1;
      for (size_t i = first; i < last && k > 0 && k + 1 < most; ++i) {
        if (sets_[i].boundary_bytes < sets_[best].boundary_bytes) best = i;
      }
      kept.push_back(std::move(sets_[best]));
    }
    sets_ = std::move(kept);
  }

  // Bytes at each backward node that are no forward node's.
  void FindOtherBytes() {
    std::vector<int64_t> change(model_.num_nodes + 1, 0);
    for (int32_t v = 0; v < model_.num_values; ++v) {
      if (IsForward(v)) continue;
      const auto readers = model_.readers[v];
      int32_t last = readers.empty() ? model_.producer[v] : readers.back();
      if (model_.is_result[v]) last = model_.num_nodes - 1;
      const int32_t first = std::max(model_.producer[v], 0);
      if (last < first) continue;
      change[first] += model_.bytes[v];
      change[last + 1] -= model_.bytes[v];
    }
    int64_t live = 0;
    for (int32_t n = 0; n < model_.num_nodes; ++n) {
      live += change[n];
      const auto dies = [&](int32_t v) {
        return model_.readers[v].back() == n && !model_.is_result[v];
      };
      other_bytes_.push_back(live + model_.extra_bytes[n] -
                             TakenOverBytes(model_, model_.in_place[n], dies));
    }
  }

  // The nodes of the segment that run again, in order. `wanted` has, per value,
  // what the backward part reads of it or they do.
  std::vector<int32_t> Again(const LowerSet& from, const LowerSet& to,
                             std::vector<char>* wanted) const {
    wanted->assign(model_.num_values, 0);
    std::vector<int32_t> nodes;
    for (int32_t n = end_; n-- > 0;) {
      if (!to.nodes.Has(n) || from.nodes.Has(n)) continue;
      bool runs = false;
      for (const int32_t v : model_.out[n]) {
        if (to.at_boundary[v]) continue;
        if (IsReadBackward(v)) (*wanted)[v] = 1;
        runs = runs || (*wanted)[v];
      }
      if (!runs) continue;
      nodes.push_back(n);
      for (const int32_t v : model_.in[n]) {
        if (IsForward(v) && !from.nodes.Has(model_.producer[v])) {
          (*wanted)[v] = 1;
        }
      }
    }
    std::reverse(nodes.begin(), nodes.end());
    return nodes;
  }

  void Measure(int32_t from, int32_t to) {
    std::vector<char> wanted;
    const std::vector<int32_t> nodes = Again(sets_[from], sets_[to], &wanted);
    Step step;
    step.from = from;
    step.to = to;
    const bool is_last = to + 1 == static_cast<int32_t>(sets_.size());
    if (!is_last) {
      for (const int32_t n : nodes) step.cost += model_.cost[n];
    }
    int64_t kept = 0;
    int64_t segment = 0;
    int64_t other = 0;
    for (int32_t n = 0; n < end_; ++n) {
      if (!sets_[to].nodes.Has(n) || sets_[from].nodes.Has(n)) continue;
      for (const int32_t v : model_.out[n]) {
        if (sets_[to].at_boundary[v]) {
          kept += model_.bytes[v];
        } else if (wanted[v]) {
          segment += model_.bytes[v];
        }
        const auto readers = model_.readers[v];
        for (size_t r = readers.size(); r-- > 0 && readers[r] >= end_;) {
          other = std::max(other, other_bytes_[readers[r]]);
        }
      }
    }
    step.kept = Slots(kept);
    step.needs = Slots(kept + segment + other);
    steps_.push_back(step);
  }

  std::vector<int32_t> Emit(const std::vector<const Step*>& steps) const {
    // Per value: the segment that must run again before it is read; -1: none.
    std::vector<int32_t> segment_of(model_.num_values, -1);
    std::vector<std::vector<int32_t>> again(steps.size());
    std::vector<char> wanted;
    for (size_t s = 0; s + 1 < steps.size(); ++s) {
      again[s] = Again(sets_[steps[s]->from], sets_[steps[s]->to], &wanted);
      for (int32_t v = 0; v < model_.num_values; ++v) {
        if (wanted[v] && !sets_[steps[s]->to].at_boundary[v]) {
          segment_of[v] = static_cast<int32_t>(s);
        }
      }
    }
    std::vector<int32_t> runs;
    for (int32_t n = 0; n < model_.num_nodes; ++n) {
      if (n >= end_) {
        for (const int32_t v : model_.in[n]) {
          if (segment_of[v] < 0) continue;
          std::vector<int32_t>& nodes = again[segment_of[v]];
          // What may not run again is left as it is.
          for (const int32_t node : nodes) {
            if (model_.can_repeat[node] && model_.deadline[node] >= n) {
              runs.push_back(node);
            }
          }
          nodes.clear();
        }
      }
      runs.push_back(n);
    }
    return runs;
  }

  const RematModel& model_;
  const int32_t max_slots_;
  int64_t unit_ = 1;
  int32_t end_ = 0;             // forward nodes are [0, end_)
  std::vector<LowerSet> sets_;  // by size: the first is empty, the last is all
  std::vector<Step> steps_;
  std::vector<int64_t> other_bytes_;
};

LowerSetProgram::LowerSetProgram(const RematModel& model,
                                 const LowerSetOptions& options)
    : impl_(std::make_unique<Impl>(model, options)) {}
LowerSetProgram::~LowerSetProgram() = default;
bool LowerSetProgram::has_sets() const { return impl_->has_sets(); }
std::vector<int32_t> LowerSetProgram::Runs(int32_t slots) const {
  return impl_->Runs(slots);
}

}  // namespace reprise
