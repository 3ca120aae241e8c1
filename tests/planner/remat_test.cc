#include "planner/remat/remat.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/plan.h"
#include "gtest/gtest.h"
#include "planner/liveness.h"
#include "planner/remat/remat_chain.h"
#include "planner/remat/remat_edit.h"
#include "planner/remat/remat_exact.h"
#include "planner/remat/remat_insertion.h"
#include "planner/remat/remat_model.h"
#include "planner/remat/remat_timeline.h"
#include "planner/task_graph.h"
#include "tests/planner/lowered_builder.h"
#include "tests/planner/random_lowered.h"

namespace reprise {
namespace {

using Runs = std::vector<int32_t>;

// Makes graphs whose nodes write one value each, with the number of the node.
class Net {
 public:
  // Adds a node that reads the values of `in`; returns its number.
  int32_t Add(int64_t cost, int64_t bytes, std::vector<int32_t> in) {
    const int32_t n = static_cast<int32_t>(graph_.nodes.size());
    RematNode node;
    node.cost = cost;
    node.may_repeat = true;
    node.in = std::move(in);
    node.out = {n};
    graph_.nodes.push_back(node);
    RematValue value;
    value.bytes = bytes;
    value.producer = n;
    graph_.values.push_back(value);
    return n;
  }
  // Lets every node overwrite any operand.
  Net& InPlace() {
    for (RematNode& node : graph_.nodes) {
      for (size_t i = 0; i < node.in.size(); ++i) {
        node.may_overwrite.push_back({static_cast<int>(i), 0});
      }
    }
    return *this;
  }
  Net& Result(int32_t v) {
    graph_.values[v].is_result = true;
    return *this;
  }
  RematGraph& graph() { return graph_; }

 private:
  RematGraph graph_;
};

// A forward chain of `length` and its gradients: the gradient of i reads the
// one after it, the output of i and its input.
RematGraph TrainingChain(int length, int64_t forward_cost) {
  Net net;
  for (int i = 0; i < length; ++i) {
    net.Add(forward_cost, 1, i == 0 ? Runs{} : Runs{i - 1});
  }
  int32_t grad = net.Add(0, 1, {length - 1});
  for (int i = length - 1; i >= 0; --i) {
    Runs in = {grad, i};
    if (i > 0) in.push_back(i - 1);
    grad = net.Add(2 * forward_cost, 1, in);
  }
  return net.Result(grad).graph();
}

// Random layers, each node reading a few before it; some values are read again
// much later, as a gradient would.
RematGraph RandomNet(uint64_t seed, int num_nodes, bool in_place) {
  std::mt19937_64 random(seed);
  const auto draw = [&random](int n) {
    return static_cast<int32_t>(random() % static_cast<uint64_t>(n));
  };
  Net net;
  for (int32_t n = 0; n < num_nodes; ++n) {
    std::set<int32_t> in;
    if (n > 0) in.insert(n - 1 - draw(std::min(n, 2)));
    if (n > 1 && draw(2) == 0) in.insert(n - 1 - draw(std::min(n, 4)));
    if (n > num_nodes / 2) in.insert(num_nodes - 1 - n);
    net.Add(draw(6), 1 + draw(5), {in.begin(), in.end()});
  }
  net.Result(num_nodes - 1);
  if (in_place) net.InPlace();
  return net.graph();
}

// The sequence with `repeats` random legal repeats.
Runs WithRandomRepeats(const RematGraph& graph, int repeats,
                       std::mt19937_64& random) {
  const RematModel model(graph);
  Runs runs = FirstRunsOnly(model);
  for (int r = 0; r < repeats; ++r) {
    const size_t at = random() % runs.size();
    const int32_t node =
        static_cast<int32_t>(random() % static_cast<size_t>(model.num_nodes));
    if (!model.can_repeat[node]) continue;
    const auto begin = runs.begin() + static_cast<std::ptrdiff_t>(at);
    if (std::find(runs.begin(), begin, node) == begin) continue;
    if (std::find(runs.begin(), begin, model.deadline[node]) != begin) continue;
    runs.insert(begin, node);
  }
  return runs;
}

// Plays the runs one by one, by the definition, and returns what is wrong; ""
// if nothing. Quadratic on purpose.
std::string WhatIsWrong(const RematGraph& graph, const RematSchedule& schedule,
                        bool fixed_order) {
  const Runs& runs = schedule.runs;
  std::map<int32_t, int> times;
  int32_t last_first = -1;
  int64_t added = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    const int32_t n = runs[i];
    if (n < 0 || n >= static_cast<int32_t>(graph.nodes.size())) return "number";
    const bool first = times[n]++ == 0;
    if (first && fixed_order && n != last_first + 1) return "order";
    if (first) last_first = n;
    if (!first) added += graph.nodes[n].cost;
    if (!first && !graph.nodes[n].may_repeat) return "repeats";
    for (const int32_t v : graph.nodes[n].in) {
      if (v < 0) continue;
      const int32_t producer = graph.values[v].producer;
      if (producer >= 0 && times[producer] == 0) return "not there";
      const int32_t by = graph.values[v].overwritten_by;
      if (by >= 0 && by != n && times[by] > 0) return "overwritten";
    }
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (times[static_cast<int32_t>(n)] == 0) return "does not run";
  }
  if (added != schedule.added_cost) return "cost";
  const RematSchedule again = EvaluateRuns(graph, runs);
  if (again.peak_bytes != schedule.peak_bytes) return "peak";
  return "";
}

// ---------------------------------------------------------------------------
// The memory model.

// The remat graph of a lowered graph in file order, before any alignment.
RematGraph FromLowered(const LoweredGraph& lowered) {
  RematGraph graph;
  graph.alignment = kArenaAlignment;
  graph.values.resize(lowered.values.size());
  for (size_t v = 0; v < lowered.values.size(); ++v) {
    RematValue& value = graph.values[v];
    value.producer = lowered.values[v].producer;
    value.bytes =
        IsPersistent(lowered.values[v].kind) ? 0 : lowered.values[v].bytes;
  }
  for (const LoweredValueId r : lowered.results) {
    graph.values[r].is_result = true;
  }
  for (size_t n = 0; n < lowered.nodes.size(); ++n) {
    const LoweredNodeId id = static_cast<LoweredNodeId>(n);
    RematNode node;
    node.cost = lowered.cost_nanoseconds(id);
    node.scratchpad_bytes = lowered.description(id).scratchpad_bytes;
    node.may_repeat = lowered.nodes[n].effect == Effect::kPure;
    node.in = lowered.nodes[n].in;
    node.out = lowered.nodes[n].out;
    node.may_overwrite = lowered.description(id).may_overwrite;
    node.must_overwrite = lowered.MustOverwrite(id);
    for (const Overwrite& o : node.must_overwrite) {
      graph.values[node.in[o.in]].overwritten_by = id;
      graph.values[node.out[o.out]].bytes = 0;
    }
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

// The peak as planner/liveness.h has it.
int64_t PeakOfTasks(const LoweredGraph& lowered, const Runs& runs) {
  TaskGraph tasks = FirstRuns(lowered);
  std::vector<InstanceId> latest;
  for (size_t v = 0; v < lowered.values.size(); ++v) {
    latest.push_back(static_cast<InstanceId>(v));
  }
  std::vector<TaskId> order;
  std::set<int32_t> seen;
  for (const int32_t n : runs) {
    TaskId id = n;
    if (!seen.insert(n).second) id = AppendReplay(lowered, n, kNoRegion, tasks);
    const LoweredNode& node = lowered.nodes[n];
    for (size_t i = 0; i < node.in.size(); ++i) {
      if (node.in[i] >= 0) tasks.tasks[id].in[i] = latest[node.in[i]];
    }
    for (size_t o = 0; o < node.out.size(); ++o) {
      if (node.out[o] >= 0) latest[node.out[o]] = tasks.tasks[id].out[o];
    }
    order.push_back(id);
  }
  for (InstanceId& r : tasks.results) r = latest[r];
  return ComputeLiveness(lowered, tasks, order, LivenessOptions()).peak.bytes;
}

TEST(EvaluateRunsTest, HasThePeakOfPlannerLiveness) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const LoweredBuilder b = RandomLowered(seed, RandomLoweredOptions());
    const RematGraph graph = FromLowered(b.graph());
    std::mt19937_64 random(seed);
    for (int repeats : {0, 3, 30}) {
      const Runs runs = WithRandomRepeats(graph, repeats, random);
      ASSERT_EQ(EvaluateRuns(graph, runs).peak_bytes,
                PeakOfTasks(b.graph(), runs))
          << "seed " << seed << ", " << repeats << " repeats";
    }
  }
}

// a (2) -> b (3), c reads both: 2, 5, 5 + 1; with a again before c:
// a 2, b 5, a 5, c 6; cost 7 of a once more.
TEST(EvaluateRunsTest, CountsRepeatsOnly) {
  Net net;
  const int32_t a = net.Add(7, 2, {});
  const int32_t b = net.Add(1, 3, {a});
  const int32_t c = net.Add(1, 1, {a, b});
  net.Result(c);
  EXPECT_EQ(EvaluateRuns(net.graph(), {a, b, c}).added_cost, 0);
  const RematSchedule twice = EvaluateRuns(net.graph(), {a, b, a, c});
  EXPECT_EQ(twice.added_cost, 7);
  EXPECT_EQ(twice.peak_bytes, 6);
}

// b may overwrite a, but d reads a afterwards, so a stays: 4, 8, 8 (c takes
// over b), 9. Where a is repeated for d, b and c overwrite the first: 4, 4, 4,
// 8, 9.
TEST(EvaluateRunsTest, NothingOverwritesWhatIsReadLater) {
  Net net;
  const int32_t a = net.Add(1, 4, {});
  const int32_t b = net.Add(1, 4, {a});
  const int32_t c = net.Add(1, 4, {b});
  const int32_t d = net.Add(1, 1, {a, c});
  net.Result(d);
  net.graph().nodes[b].may_overwrite = {{0, 0}};
  net.graph().nodes[c].may_overwrite = {{0, 0}};
  const RematModel model(net.graph());
  RunEvaluator evaluator(model);
  EXPECT_EQ(evaluator.PeakBytes({a, b, c, d}), 9);
  EXPECT_EQ(Runs(evaluator.live().begin(), evaluator.live().end()),
            (Runs{4, 8, 8, 9}));
  EXPECT_EQ(evaluator.PeakBytes({a, b, c, a, d}), 9);
  EXPECT_EQ(Runs(evaluator.live().begin(), evaluator.live().end()),
            (Runs{4, 4, 4, 8, 9}));
}

// ---------------------------------------------------------------------------
// The timeline.

TEST(TimelineTest, EqualsTheEvaluationWhileRunsComeAndGo) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    RandomLoweredOptions options;
    options.num_forward = 4 + static_cast<int>(seed % 20);
    const LoweredBuilder b = RandomLowered(seed, options);
    const RematGraph graph = FromLowered(b.graph());
    const RematModel model(graph);
    RunEvaluator evaluator(model);
    const int64_t budget =
        EvaluateRuns(graph, FirstRunsOnly(model)).peak_bytes * 3 / 4;
    Timeline timeline(model, FirstRunsOnly(model), budget);
    RematRandom random(seed);
    RematEdit edit(timeline);
    edit.surprise = 0.3;
    edit.random = &random;
    for (int change = 0; change < 200; ++change) {
      const double excess = timeline.Excess();
      const Runs before = timeline.Runs();
      const int32_t slot = random.Below(timeline.num_slots());
      if (timeline.node_at(slot) < 0) continue;
      if (timeline.is_repeat(slot)) {
        edit.Remove(slot);
      } else {
        const auto in = model.in[timeline.node_at(slot)];
        if (in.empty()) continue;
        const int32_t value = in[random.Below(static_cast<int32_t>(in.size()))];
        const int32_t producer = model.producer[value];
        if (producer < 0) continue;
        if (edit.Repeat(producer, slot, 20)) edit.RemoveReplaced();
      }
      if (random.Below(2) == 0) {
        edit.Undo();
        ASSERT_EQ(timeline.Excess(), excess) << "seed " << seed;
        ASSERT_EQ(timeline.Runs(), before) << "seed " << seed;
      }
      edit.Keep();
      edit.MakeRoom();
      const RematSchedule now = evaluator.Schedule(timeline.Runs());
      double sum = 0;
      for (const int64_t live : evaluator.live()) {
        sum += static_cast<double>(std::max<int64_t>(live - budget, 0));
      }
      ASSERT_EQ(timeline.Excess(), sum) << "seed " << seed;
      ASSERT_EQ(timeline.added_cost(), now.added_cost) << "seed " << seed;
      ASSERT_EQ(timeline.MaxLive(0, timeline.num_slots() - 1), now.peak_bytes)
          << "seed " << seed;
      ASSERT_EQ(WhatIsWrong(graph, now, true), "") << "seed " << seed;
    }
  }
}

// ---------------------------------------------------------------------------
// Schedules.

TEST(RematerializeTest, IsLegalWithinTheBudgetAndNoDearerThanWhatIsKnown) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const RematGraph graph = RandomNet(seed, 30, seed % 2 == 0);
    const RematModel model(graph);
    RematOptions options;
    options.work_limit = 200'000;
    const int64_t kept = EvaluateRuns(graph, FirstRunsOnly(model)).peak_bytes;
    for (int64_t budget = kept; budget >= model.working_set_bytes; --budget) {
      options.budget_bytes = budget;
      const absl::optional<RematResult> result = Rematerialize(graph, options);
      if (!result.has_value()) break;
      ASSERT_LE(result->schedule.peak_bytes, budget);
      ASSERT_EQ(WhatIsWrong(graph, result->schedule, true), "")
          << "seed " << seed << " budget " << budget;
      for (const RematSchedule& known : options.known) {
        if (known.peak_bytes <= budget) {
          ASSERT_LE(result->schedule.added_cost, known.added_cost);
        }
      }
      options.known = {result->schedule};
    }
  }
}

TEST(RematerializeTest, FindsTheSameAgain) {
  const RematGraph graph = RandomNet(7, 60, false);
  RematOptions options;
  options.budget_bytes = RematModel(graph).working_set_bytes * 3 / 2;
  const absl::optional<RematResult> once = Rematerialize(graph, options);
  const absl::optional<RematResult> again = Rematerialize(graph, options);
  ASSERT_EQ(once.has_value(), again.has_value());
  ASSERT_TRUE(once.has_value());
  EXPECT_EQ(once->schedule.runs, again->schedule.runs);
}

TEST(RematerializeTest, FindsNothingBelowTheLargestRun) {
  const RematGraph graph = TrainingChain(8, 1);
  RematOptions options;
  options.budget_bytes = RematModel(graph).working_set_bytes - 1;
  EXPECT_FALSE(Rematerialize(graph, options).has_value());
}

// Whatever reads the parameter comes before the update, repeats too.
TEST(RematerializeTest, RepeatsComeBeforeWhatOverwritesTheirOperands) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const LoweredBuilder b = RandomLowered(seed, RandomLoweredOptions());
    const RematGraph graph = FromLowered(b.graph());
    const RematModel model(graph);
    const int64_t kept = EvaluateRuns(graph, FirstRunsOnly(model)).peak_bytes;
    RematOptions options;
    options.work_limit = 500'000;
    for (const double part : {0.95, 0.85, 0.7}) {
      options.budget_bytes =
          static_cast<int64_t>(static_cast<double>(kept) * part);
      const absl::optional<RematResult> result = Rematerialize(graph, options);
      if (!result.has_value()) break;
      ASSERT_EQ(WhatIsWrong(graph, result->schedule, true), "")
          << "seed " << seed;
      ASSERT_LE(PeakOfTasks(b.graph(), result->schedule.runs),
                options.budget_bytes);
    }
  }
}

// The least added cost of all sequences with at most `repeats` repeats, first
// runs in order; -1: none fits.
int64_t LeastAddedCost(const RematGraph& graph, int64_t budget, int repeats) {
  const RematModel model(graph);
  RunEvaluator evaluator(model);
  std::set<Runs> level = {FirstRunsOnly(model)};
  int64_t least = -1;
  for (int r = 0; r <= repeats; ++r) {
    std::set<Runs> next;
    for (const Runs& runs : level) {
      const RematSchedule schedule = evaluator.Schedule(runs);
      if (schedule.peak_bytes <= budget &&
          (least < 0 || schedule.added_cost < least)) {
        least = schedule.added_cost;
      }
      if (r == repeats) continue;
      std::set<int32_t> there;
      for (size_t at = 0; at < runs.size(); ++at) {
        for (const int32_t n : there) {
          Runs more = runs;
          more.insert(more.begin() + static_cast<std::ptrdiff_t>(at), n);
          next.insert(more);
        }
        there.insert(runs[at]);
      }
    }
    level = std::move(next);
  }
  return least;
}

TEST(ExactRunsTest, EqualsAllSequencesOfSmallGraphs) {
  constexpr int kRepeats = 3;
  int num_equal = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const RematGraph graph = RandomNet(seed, 6, seed % 2 == 0);
    const RematModel model(graph);
    const int64_t kept = EvaluateRuns(graph, FirstRunsOnly(model)).peak_bytes;
    for (int64_t budget = model.working_set_bytes; budget <= kept; ++budget) {
      ExactOptions options;
      options.budget_bytes = budget;
      options.max_states = 100'000;
      options.work_limit = 100'000'000;
      const ExactResult exact = ExactRuns(model, options);
      ASSERT_TRUE(exact.complete);
      const int64_t least = LeastAddedCost(graph, budget, kRepeats);
      if (!exact.runs.has_value()) {
        ASSERT_EQ(least, -1) << "seed " << seed << " budget " << budget;
        continue;
      }
      const RematSchedule schedule = EvaluateRuns(graph, *exact.runs);
      ASSERT_EQ(WhatIsWrong(graph, schedule, true), "");
      ASSERT_LE(schedule.peak_bytes, budget);
      if (least >= 0) {
        ASSERT_LE(schedule.added_cost, least);
      }
      if (schedule.runs.size() <= graph.nodes.size() + kRepeats) {
        ASSERT_EQ(schedule.added_cost, least)
            << "seed " << seed << " budget " << budget;
        ++num_equal;
      }
    }
  }
  EXPECT_GT(num_equal, 100);
}

TEST(ExactRunsTest, AFreeOrderIsNoDearer) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const RematGraph graph = RandomNet(seed, 9, false);
    const RematModel model(graph);
    ExactOptions options;
    options.max_states = 200'000;
    options.work_limit = 200'000'000;
    options.budget_bytes = model.working_set_bytes + 2;
    const ExactResult fixed = ExactRuns(model, options);
    options.fixed_order = false;
    const ExactResult free = ExactRuns(model, options);
    ASSERT_TRUE(fixed.complete && free.complete);
    if (!fixed.runs.has_value()) continue;
    ASSERT_TRUE(free.runs.has_value());
    const RematSchedule schedule = EvaluateRuns(graph, *free.runs);
    EXPECT_EQ(WhatIsWrong(graph, schedule, false), "");
    EXPECT_LE(schedule.added_cost, EvaluateRuns(graph, *fixed.runs).added_cost);
  }
}

// A unit chain of `length` values, dear at the start, and as many weightless
// gradients, which read it backwards; every node may work in place.
RematGraph UnitChain(int length) {
  Net net;
  for (int i = 0; i < length; ++i) {
    net.Add(i == 0 ? 1'000'000 : 1, 1, i == 0 ? Runs{} : Runs{i - 1});
  }
  int32_t grad = net.Add(0, 0, {length - 1});
  for (int i = length - 2; i >= 0; --i) grad = net.Add(0, 0, {grad, i});
  return net.Result(grad).InPlace().graph();
}

// Runs of the chain's steps with s values held, by Griewank and Walther:
// t(l, s) = r l - C(s + r, r - 1) with the least r such that C(s + r, s) >= l.
int64_t RevolveCost(int l, int s) {
  const auto choose = [](int n, int k) {
    double c = 1;
    for (int i = 1; i <= k; ++i) c = c * (n - k + i) / i;
    return c < 1e15 ? static_cast<int64_t>(c + 0.5) : int64_t{1} << 50;
  };
  int r = 0;
  while (choose(s + r, s) < l) ++r;
  return int64_t{r} * l - choose(s + r, r - 1);
}

TEST(RevolveTest, TheClosedFormHasItsKnownValues) {
  EXPECT_EQ(RevolveCost(10, 1), 45);
  EXPECT_EQ(RevolveCost(10, 5), 13);
  EXPECT_EQ(RevolveCost(100, 1), 4950);
  EXPECT_EQ(RevolveCost(100, 5), 316);
}

// Each step runs at least once, so l - 1 runs are no addition.
TEST(RevolveTest, UnitChainsReachTheClosedForm) {
  for (const int length : {2, 3, 7, 10, 16, 31, 64, 100}) {
    const RematGraph graph = UnitChain(length);
    for (const int held : {1, 2, 3, 4, 5, 8, 13, 40}) {
      if (held > length) continue;
      RematOptions options;
      options.budget_bytes = held + 1;
      options.work_limit = 500'000;
      const absl::optional<RematResult> result = Rematerialize(graph, options);
      ASSERT_TRUE(result.has_value());
      EXPECT_EQ(result->schedule.added_cost + length - 1,
                RevolveCost(length, held))
          << "length " << length << ", " << held << " held";
      EXPECT_EQ(WhatIsWrong(graph, result->schedule, true), "");
    }
  }
}

// Equal blocks share their tables and change nothing else.
TEST(ChainProgramTest, EqualBlocksGiveTheSamePlan) {
  const RematGraph graph = TrainingChain(40, 3);
  const RematModel model(graph);
  ChainOptions options;
  options.budget_bytes = 14;
  const ChainProgram shared(model, options);
  options.recognise_equal_blocks = false;
  const ChainProgram apart(model, options);
  ASSERT_TRUE(shared.is_chain());
  EXPECT_LT(shared.num_tables(), shared.num_stretches() / 4);
  EXPECT_EQ(apart.num_tables(), apart.num_stretches());
  for (int32_t slots = 0; slots <= 14; ++slots) {
    EXPECT_EQ(shared.Runs(slots), apart.Runs(slots)) << slots << " slots";
  }
}

TEST(ChainProgramTest, PlansAreLegalOnAnyGraph) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const LoweredBuilder b = RandomLowered(seed, RandomLoweredOptions());
    const RematGraph graph = FromLowered(b.graph());
    const RematModel model(graph);
    ChainOptions options;
    options.budget_bytes = EvaluateRuns(graph, FirstRunsOnly(model)).peak_bytes;
    const ChainProgram program(model, options);
    for (int32_t slots = 0; slots <= options.max_slots; slots += 50) {
      const Runs runs = program.Runs(slots);
      if (runs.empty()) continue;
      EXPECT_EQ(WhatIsWrong(graph, EvaluateRuns(graph, runs), true), "")
          << "seed " << seed;
    }
  }
}

TEST(InsertInRoundsTest, FitsAndIsLegal) {
  int num_fitting = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const LoweredBuilder b = RandomLowered(seed, RandomLoweredOptions());
    const RematGraph graph = FromLowered(b.graph());
    const RematModel model(graph);
    const int64_t budget =
        EvaluateRuns(graph, FirstRunsOnly(model)).peak_bytes * 9 / 10;
    int64_t work = 0;
    const absl::optional<Runs> runs =
        InsertInRounds(model, FirstRunsOnly(model), budget, &work);
    if (!runs.has_value()) continue;
    const RematSchedule schedule = EvaluateRuns(graph, *runs);
    EXPECT_EQ(WhatIsWrong(graph, schedule, true), "") << "seed " << seed;
    EXPECT_LE(schedule.peak_bytes, budget);
    ++num_fitting;
  }
  EXPECT_GT(num_fitting, 10);
}

TEST(LeastPeakTest, IsNoHigherThanKeepingEverything) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const RematGraph graph = RandomNet(seed, 20, false);
    RematOptions options;
    options.work_limit = 200'000;
    const RematResult least = LeastPeak(graph, options);
    EXPECT_EQ(WhatIsWrong(graph, least.schedule, true), "");
    EXPECT_LE(least.schedule.peak_bytes,
              EvaluateRuns(graph, FirstRunsOnly(RematModel(graph))).peak_bytes);
    EXPECT_GE(least.schedule.peak_bytes, RematModel(graph).working_set_bytes);
  }
}

}  // namespace
}  // namespace reprise
