#include "planner/remat_insertion.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace reprise {
namespace {

constexpr size_t kMaxCandidates = 48;
// Fewer than the slots that MakeRoom makes.
constexpr size_t kMaxRepeats = 30;
constexpr double kKeepUpTo[] = {0, 0.75};

struct Candidate {
  int32_t node = -1;
  int32_t before = -1;  // slot of the next reader
  double keep_up_to = 0;
  double score = 0;
};

// The contents that lie over `slot`, neither written nor read there, that a
// repeat before their next reader could spare; the likeliest first.
std::vector<Candidate> ContentsOver(const Timeline& timeline, int32_t slot) {
  const RematModel& model = timeline.model();
  std::vector<Candidate> candidates;
  for (int32_t v = 0; v < model.num_values; ++v) {
    const int32_t producer = model.producer[v];
    if (producer < 0 || !model.can_repeat[producer]) continue;
    const int32_t write = timeline.PreviousRun(producer, slot + 1);
    if (write < 0 || write == slot) continue;
    const auto reads = timeline.reads_of(v);
    const auto next = std::lower_bound(reads.begin(), reads.end(), slot);
    if (next == reads.end() || *next == slot) continue;
    if (timeline.NextRun(producer, slot) < *next) continue;
    const int32_t last =
        next == reads.begin() ? write : std::max(write, *(next - 1));
    Candidate c;
    c.node = producer;
    c.before = *next;
    c.score = static_cast<double>(model.bytes[v]) * (*next - last) /
              static_cast<double>(model.cost[producer] + 1);
    candidates.push_back(c);
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) {
              return a.score != b.score ? a.score > b.score : a.node < b.node;
            });
  if (candidates.size() > kMaxCandidates) candidates.resize(kMaxCandidates);
  return candidates;
}

}  // namespace

bool InsertUntilFits(RematEdit& edit, double noise, int64_t work_limit) {
  Timeline& timeline = edit.timeline();
  while (timeline.Excess() > 0) {
    if (timeline.work() > work_limit) return false;
    const int32_t peak = timeline.PeakSlot();
    const double excess = timeline.Excess();
    const int64_t cost = timeline.added_cost();
    Candidate best;
    const auto judge = [&](Candidate c) {
      edit.keep_up_to = c.keep_up_to;
      if (edit.Repeat(c.node, c.before, kMaxRepeats)) {
        edit.RemoveReplaced();
        const double relief = excess - timeline.Excess();
        const double added = static_cast<double>(timeline.added_cost() - cost);
        c.score = relief <= 0 ? 0 : relief / std::max(added, 1e-3);
        if (noise > 0) c.score *= 1 + noise * edit.random->Unit();
        if (c.score > best.score) best = c;
      }
      edit.Undo();
    };
    for (Candidate& c : ContentsOver(timeline, peak)) {
      for (const double keep_up_to : kKeepUpTo) {
        c.keep_up_to = keep_up_to;
        judge(c);
      }
      if (edit.wants_room() >= 0) break;
    }
    if (edit.wants_room() >= 0) {
      edit.MakeRoom();  // slots change: look again
      continue;
    }
    if (best.node < 0) return false;
    edit.keep_up_to = best.keep_up_to;
    edit.Repeat(best.node, best.before, kMaxRepeats);
    edit.RemoveReplaced();
    edit.Keep();
    // Much room at many places makes every range longer.
    if (timeline.num_slots() > 16 * timeline.num_runs()) timeline.Spread(-1, 0);
  }
  return true;
}

void Prune(RematEdit& edit) {
  Timeline& timeline = edit.timeline();
  const RematModel& model = timeline.model();
  bool changed = true;
  while (changed) {
    changed = false;
    std::vector<std::pair<int64_t, int32_t>> repeats;  // (-cost, slot)
    for (int32_t s = 0; s < timeline.num_slots(); ++s) {
      if (timeline.node_at(s) >= 0 && timeline.is_repeat(s)) {
        repeats.emplace_back(-model.cost[timeline.node_at(s)], s);
      }
    }
    std::sort(repeats.begin(), repeats.end());
    for (const auto& [cost, slot] : repeats) {
      if (timeline.node_at(slot) < 0) continue;
      const double excess = timeline.Excess();
      edit.Remove(slot);
      if (timeline.Excess() <= excess) {
        edit.Keep();
        changed = true;
      } else {
        edit.Undo();
      }
    }
  }
}

}  // namespace reprise
