// Replays a plan over a map of the arena: which bytes hold which value. A read
// must find exactly the expected value there; a write replaces what it covers,
// so reading something that was overwritten finds the wrong value or none.
//
// Replays of one node write the same bits, hence a value's identity is its
// lowered id; an update's result has an id of its own, hence reading old
// content after its update is found like any other wrong read.
//
// Tested by tests/flow/check_plan_test.cc and, on every plan made in a test,
// by the planner's tests.

#include "core/check_plan.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

// Beyond this many ranges the pairwise comparison is left out: the replay has
// proven the same thing by then.
constexpr size_t kMaxPairwise = 3000;

class Checker {
 public:
  Checker(const LoweredGraph& graph, const Plan& plan)
      : graph_(graph),
        plan_(plan),
        num_steps_(static_cast<int32_t>(plan.steps.size())),
        runs_(graph.nodes.size(), 0) {}

  absl::StatusOr<PlanFacts> Check() {
    RETURN_IF_ERROR(PlaceSources());
    for (step_ = 0; step_ < num_steps_; ++step_) {
      const absl::Status status = CheckStep(plan_.steps[step_]);
      if (!status.ok()) {
        const int32_t node = plan_.steps[step_].node;
        const bool known =
            node >= 0 && node < static_cast<int32_t>(graph_.nodes.size());
        return absl::InternalError(
            absl::StrCat("plan: step ", step_, " (",
                         known ? graph_.nodes[node].name : "unknown node",
                         "): ", status.message()));
      }
    }
    RETURN_IF_ERROR(CheckResults());
    RETURN_IF_ERROR(CheckRuns());
    RETURN_IF_ERROR(CompareRanges());
    RETURN_IF_ERROR(CheckEnd());
    SumUp();
    RETURN_IF_ERROR(CompareFacts());
    return std::move(facts_);
  }

 private:
  // Bytes holding a value, keyed by offset in `cells_`.
  struct Cell {
    int64_t bytes = 0;
    LoweredValueId value = -1;
    size_t range = 0;  // index into facts_.ranges
  };

  static absl::Status Error(absl::string_view text) {
    return absl::InternalError(text);
  }

  std::string Name(LoweredValueId v) const {
    if (v < 0) return "no value";
    if (v >= static_cast<LoweredValueId>(graph_.values.size())) {
      return absl::StrCat("unknown value ", v);
    }
    const LoweredValue& value = graph_.values[v];
    const std::string id = absl::StrCat("value ", v);
    if (value.producer < 0) return id;
    return absl::StrCat(id, " of '", graph_.nodes[value.producer].name, "'");
  }

  std::string Place(const Operand& operand) const {
    return absl::StrCat(Name(operand.value), " at byte ", operand.offset,
                        " of ", operand.bytes, " bytes");
  }

  absl::Status CheckBounds(const Operand& operand, int64_t low,
                           int64_t high) const {
    if (operand.offset % kArenaAlignment != 0) {
      return Error(
          absl::StrCat(Place(operand), " is not aligned to ", kArenaAlignment));
    }
    if (operand.offset < low || operand.bytes < 0 ||
        operand.bytes > high - operand.offset) {
      return Error(
          absl::StrCat(Place(operand), " is outside [", low, ", ", high, ")"));
    }
    return absl::OkStatus();
  }

  // The operand that must stand for `want`: same value, same bytes.
  absl::Status CheckOperand(const Operand& operand, LoweredValueId want) const {
    if (operand.value != want) {
      return Error(absl::StrCat("operand is ", Name(operand.value), ", wanted ",
                                Name(want)));
    }
    if (want >= 0 && operand.bytes != graph_.values[want].bytes) {
      return Error(absl::StrCat(Place(operand), " has ", operand.bytes,
                                " bytes, wanted ", graph_.values[want].bytes));
    }
    return absl::OkStatus();
  }

  static bool Overlap(const Operand& a, const Operand& b) {
    return a.bytes > 0 && b.bytes > 0 && a.offset < b.offset + b.bytes &&
           b.offset < a.offset + a.bytes;
  }

  // Writes `value` at the place of `operand` and starts its range.
  void Write(const Operand& operand, int32_t begin) {
    if (operand.bytes == 0) return;
    auto it = cells_.upper_bound(operand.offset);
    if (it != cells_.begin() &&
        std::prev(it)->first + std::prev(it)->second.bytes > operand.offset) {
      --it;
    }
    while (it != cells_.end() && it->first < operand.offset + operand.bytes) {
      it = cells_.erase(it);
    }
    cells_[operand.offset] = {operand.bytes, operand.value,
                              facts_.ranges.size()};
    facts_.ranges.push_back(
        {operand.value, operand.offset, operand.bytes, begin, begin + 1});
  }

  absl::Status PlaceSources() {
    if (plan_.persistent.size() != graph_.persistent.size() ||
        plan_.inputs.size() != graph_.inputs.size() ||
        plan_.results.size() != graph_.results.size()) {
      return Error(absl::StrCat(
          "plan: has ", plan_.persistent.size(), " persistent values, ",
          plan_.inputs.size(), " inputs and ", plan_.results.size(),
          " results, wanted ", graph_.persistent.size(), ", ",
          graph_.inputs.size(), " and ", graph_.results.size()));
    }
    if (plan_.persistent_bytes < 0 ||
        plan_.end_bytes < plan_.persistent_bytes) {
      return Error(absl::StrCat("plan: segments end at ",
                                plan_.persistent_bytes, " and ",
                                plan_.end_bytes));
    }
    const auto place = [this](const std::vector<Operand>& operands,
                              const std::vector<LoweredValueId>& values,
                              int64_t low, int64_t high) -> absl::Status {
      for (size_t i = 0; i < operands.size(); ++i) {
        RETURN_IF_ERROR(CheckOperand(operands[i], values[i]));
        RETURN_IF_ERROR(CheckBounds(operands[i], low, high));
        const size_t before = cells_.size();
        Write(operands[i], 0);
        if (operands[i].bytes > 0 && cells_.size() != before + 1) {
          return Error(absl::StrCat("plan: ", Place(operands[i]),
                                    " overlaps another input or persistent "
                                    "value"));
        }
      }
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(
        place(plan_.persistent, graph_.persistent, 0, plan_.persistent_bytes));
    for (LiveRange& range : facts_.ranges) {
      range.end = std::max(1, num_steps_);
    }
    return place(plan_.inputs, graph_.inputs, plan_.persistent_bytes,
                 plan_.end_bytes);
  }

  // Which operands of the step may share bytes: `in` with `out`.
  bool MayOverwrite(const Step& step, int in, int out) const {
    const auto has = [in, out](const std::vector<Overwrite>& pairs) {
      return std::any_of(pairs.begin(), pairs.end(), [&](const Overwrite& p) {
        return p.in == in && p.out == out;
      });
    };
    return has(graph_.description(step.node).may_overwrite) ||
           has(graph_.MustOverwrite(step.node));
  }

  bool MustOverwrite(const Step& step, int out, int* in) const {
    for (const Overwrite& pair : graph_.MustOverwrite(step.node)) {
      if (pair.out != out) continue;
      *in = pair.in;
      return true;
    }
    return false;
  }

  absl::Status CheckStep(const Step& step) {
    if (step.node < 0 ||
        step.node >= static_cast<LoweredNodeId>(graph_.nodes.size())) {
      return Error(absl::StrCat("node ", step.node, " does not exist"));
    }
    const LoweredNode& node = graph_.nodes[step.node];
    if (step.run != runs_[step.node]) {
      return Error(
          absl::StrCat("is run ", step.run, ", wanted run ", runs_[step.node]));
    }
    ++runs_[step.node];
    if (step.in.size() != node.in.size() ||
        step.out.size() != node.out.size()) {
      return Error(absl::StrCat("has ", step.in.size(), " and ",
                                step.out.size(), " operands, wanted ",
                                node.in.size(), " and ", node.out.size()));
    }
    if (node.effect == Effect::kGuard) guard_at_ = step_;
    if (node.effect == Effect::kUpdate) {
      first_update_ = std::min(first_update_, step_);
    }
    RETURN_IF_ERROR(CheckReads(step, node));
    RETURN_IF_ERROR(CheckWrites(step, node));
    MeasureWorkingSet(step);
    return absl::OkStatus();
  }

  absl::Status CheckReads(const Step& step, const LoweredNode& node) {
    for (size_t i = 0; i < step.in.size(); ++i) {
      RETURN_IF_ERROR(CheckOperand(step.in[i], node.in[i]));
      if (node.in[i] < 0 || step.in[i].bytes == 0) continue;
      RETURN_IF_ERROR(CheckHolds(step.in[i]));
      LiveRange& range = facts_.ranges[cells_[step.in[i].offset].range];
      range.end = std::max(range.end, step_ + 1);
    }
    return absl::OkStatus();
  }

  absl::Status CheckHolds(const Operand& operand) const {
    const auto it = cells_.find(operand.offset);
    if (it == cells_.end()) {
      return Error(absl::StrCat(Place(operand),
                                " is read, but nothing lies there whole"));
    }
    if (it->second.value != operand.value ||
        it->second.bytes != operand.bytes) {
      return Error(absl::StrCat(Place(operand), " is read, but ",
                                Name(it->second.value), " with ",
                                it->second.bytes, " bytes lies there"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckWrites(const Step& step, const LoweredNode& node) {
    std::vector<Operand> written;
    for (size_t o = 0; o < step.out.size(); ++o) {
      RETURN_IF_ERROR(CheckOperand(step.out[o], node.out[o]));
      if (node.out[o] < 0) continue;
      written.push_back(step.out[o]);
      int in = -1;
      if (MustOverwrite(step, static_cast<int>(o), &in)) {
        if (step.out[o].offset != step.in[in].offset) {
          return Error(absl::StrCat(Place(step.out[o]), " must overwrite ",
                                    Place(step.in[in])));
        }
      } else {
        RETURN_IF_ERROR(
            CheckBounds(step.out[o], plan_.persistent_bytes, plan_.end_bytes));
      }
      for (size_t i = 0; i < step.in.size(); ++i) {
        if (node.in[i] < 0 || !Overlap(step.in[i], step.out[o])) continue;
        const bool same_place = step.in[i].offset == step.out[o].offset &&
                                step.in[i].bytes == step.out[o].bytes;
        if (!same_place ||
            !MayOverwrite(step, static_cast<int>(i), static_cast<int>(o))) {
          return Error(absl::StrCat(Place(step.out[o]),
                                    " is written over the operand ",
                                    Place(step.in[i])));
        }
      }
    }
    const int64_t scratchpad = graph_.description(step.node).scratchpad_bytes;
    if (step.scratchpad.bytes != scratchpad) {
      return Error(absl::StrCat("scratchpad has ", step.scratchpad.bytes,
                                " bytes, wanted ", scratchpad));
    }
    if (scratchpad > 0) {
      RETURN_IF_ERROR(CheckBounds(step.scratchpad, plan_.persistent_bytes,
                                  plan_.end_bytes));
      for (const Operand& operand : step.in) {
        if (operand.value >= 0 && Overlap(operand, step.scratchpad)) {
          return Error(absl::StrCat("scratchpad overlaps ", Place(operand)));
        }
      }
      written.push_back(step.scratchpad);
    }
    for (size_t a = 0; a < written.size(); ++a) {
      for (size_t b = 0; b < a; ++b) {
        if (Overlap(written[a], written[b])) {
          return Error(
              absl::StrCat(Place(written[a]), " overlaps ", Place(written[b])));
        }
      }
    }
    for (const Operand& operand : written) {
      EndInPlace(step, operand);
      WriteResult(operand);
    }
    return absl::OkStatus();
  }

  // An operand whose bytes this step takes over is counted with the result.
  void EndInPlace(const Step& step, const Operand& out) {
    if (out.bytes == 0 || out.offset < plan_.persistent_bytes) return;
    for (const Operand& in : step.in) {
      if (in.value < 0 || !Overlap(in, out)) continue;
      const auto it = cells_.find(in.offset);
      if (it == cells_.end()) continue;
      LiveRange& range = facts_.ranges[it->second.range];
      range.end = std::min(range.end, step_);
    }
  }

  void WriteResult(const Operand& operand) {
    if (operand.bytes == 0) return;
    if (operand.offset < plan_.persistent_bytes) {
      // Same bytes, new content: the persistent range goes on.
      cells_[operand.offset].value = operand.value;
      return;
    }
    Write(operand, step_);
  }

  // Distinct transient bytes that one run cannot do without, wherever it
  // stands: an output counts with the operand whose place it may take.
  void MeasureWorkingSet(const Step& step) {
    std::vector<LoweredValueId> seen;
    std::vector<bool> taken(step.in.size(), false);
    int64_t bytes = AlignUp(step.scratchpad.bytes);
    for (const Operand& in : step.in) {
      if (in.value < 0 || IsPersistent(graph_.values[in.value].kind) ||
          std::find(seen.begin(), seen.end(), in.value) != seen.end()) {
        continue;
      }
      seen.push_back(in.value);
      bytes += AlignUp(in.bytes);
    }
    for (size_t o = 0; o < step.out.size(); ++o) {
      const Operand& out = step.out[o];
      if (out.value < 0 || IsPersistent(graph_.values[out.value].kind)) {
        continue;
      }
      bool merged = false;
      for (const Overwrite& pair :
           graph_.description(step.node).may_overwrite) {
        const bool fits =
            pair.out == static_cast<int>(o) && !taken[pair.in] &&
            step.in[pair.in].value >= 0 &&
            step.in[pair.in].bytes == out.bytes &&
            !IsPersistent(graph_.values[step.in[pair.in].value].kind);
        if (!fits) continue;
        for (size_t i = 0; i < step.in.size(); ++i) {
          taken[i] = taken[i] || step.in[i].value == step.in[pair.in].value;
        }
        merged = true;
        break;
      }
      if (!merged) bytes += AlignUp(out.bytes);
    }
    largest_step_bytes_ = std::max(largest_step_bytes_, bytes);
  }

  absl::Status CheckResults() {
    for (size_t i = 0; i < plan_.results.size(); ++i) {
      const Operand& result = plan_.results[i];
      RETURN_IF_ERROR(CheckOperand(result, graph_.results[i]));
      if (result.bytes == 0) continue;
      if (IsPersistent(graph_.values[result.value].kind)) {
        const auto it = cells_.find(result.offset);
        if (result.offset >= plan_.persistent_bytes || it == cells_.end() ||
            it->second.bytes != result.bytes) {
          return Error(absl::StrCat("plan: result ", i, ", ", Place(result),
                                    ", is no persistent value"));
        }
        continue;
      }
      const absl::Status holds = CheckHolds(result);
      if (!holds.ok()) {
        return Error(absl::StrCat("plan: result ", i, ": ", holds.message()));
      }
      LiveRange& range = facts_.ranges[cells_[result.offset].range];
      range.end = std::max(range.end, num_steps_);
    }
    return absl::OkStatus();
  }

  absl::Status CheckRuns() const {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const LoweredNode& node = graph_.nodes[n];
      if (runs_[n] == 0 || (runs_[n] > 1 && node.effect != Effect::kPure)) {
        return Error(absl::StrCat("plan: node '", node.name, "' runs ",
                                  runs_[n], " times"));
      }
    }
    if (plan_.guard_step != guard_at_) {
      return Error(absl::StrCat("plan: guard_step is ", plan_.guard_step,
                                ", the guard runs at step ", guard_at_));
    }
    if (guard_at_ >= 0 && first_update_ < guard_at_) {
      return Error(absl::StrCat("plan: step ", first_update_,
                                " updates before the guard at step ",
                                guard_at_));
    }
    return absl::OkStatus();
  }

  // No two ranges share a byte and a step, on the whole a second time and
  // without the map.
  absl::Status CompareRanges() const {
    const std::vector<LiveRange>& ranges = facts_.ranges;
    if (ranges.size() > kMaxPairwise) return absl::OkStatus();
    for (size_t a = 0; a < ranges.size(); ++a) {
      for (size_t b = 0; b < a; ++b) {
        const bool in_time =
            ranges[a].begin < ranges[b].end && ranges[b].begin < ranges[a].end;
        const bool in_bytes =
            ranges[a].offset < ranges[b].offset + ranges[b].bytes &&
            ranges[b].offset < ranges[a].offset + ranges[a].bytes;
        if (in_time && in_bytes) {
          return Error(absl::StrCat(
              "plan: ", Name(ranges[a].value), " in steps [", ranges[a].begin,
              ", ", ranges[a].end, ") and ", Name(ranges[b].value),
              " in steps [", ranges[b].begin, ", ", ranges[b].end,
              ") share bytes"));
        }
      }
    }
    return absl::OkStatus();
  }

  // The arena is no larger than what lies in it.
  absl::Status CheckEnd() const {
    int64_t end = plan_.persistent_bytes;
    for (const LiveRange& range : facts_.ranges) {
      end = std::max(end, AlignUp(range.offset + range.bytes));
    }
    if (plan_.end_bytes <= end) return absl::OkStatus();
    return Error(absl::StrCat("plan: ends at ", plan_.end_bytes,
                              ", the last value at ", end));
  }

  void SumUp() {
    std::vector<int64_t> change(num_steps_ + 2, 0);
    for (const LiveRange& range : facts_.ranges) {
      change[range.begin] += AlignUp(range.bytes);
      change[range.end] -= AlignUp(range.bytes);
    }
    int64_t live = 0;
    for (int32_t s = 0; s < std::max(1, num_steps_); ++s) {
      live += change[s];
      if (live > facts_.peak_live_bytes) {
        facts_.peak_live_bytes = live;
        facts_.peak_step = s;
      }
    }
    int64_t persistent = 0;
    for (const Operand& operand : plan_.persistent) {
      persistent += AlignUp(operand.bytes);
    }
    facts_.working_set_bytes = persistent + largest_step_bytes_;
  }

  absl::Status CompareFacts() const {
    if (plan_.peak_live_bytes != facts_.peak_live_bytes ||
        plan_.peak_step != facts_.peak_step) {
      return Error(absl::StrCat("plan: says peak ", plan_.peak_live_bytes,
                                " at step ", plan_.peak_step, ", found ",
                                facts_.peak_live_bytes, " at step ",
                                facts_.peak_step));
    }
    if (plan_.working_set_bytes != facts_.working_set_bytes) {
      return Error(absl::StrCat("plan: says working set ",
                                plan_.working_set_bytes, ", found ",
                                facts_.working_set_bytes));
    }
    return absl::OkStatus();
  }

  const LoweredGraph& graph_;
  const Plan& plan_;
  const int32_t num_steps_;
  int32_t step_ = 0;
  std::map<int64_t, Cell> cells_;
  std::vector<int32_t> runs_;  // by node
  PlanFacts facts_;
  int32_t guard_at_ = -1;
  int32_t first_update_ = INT32_MAX;
  int64_t largest_step_bytes_ = 0;
};

}  // namespace

absl::StatusOr<PlanFacts> CheckPlan(const LoweredGraph& graph,
                                    const Plan& plan) {
  return Checker(graph, plan).Check();
}

}  // namespace reprise
