#include "planner/remat/remat_lower_sets.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "planner/remat/remat_model.h"
#include "tests/planner/lowered_builder.h"
#include "tests/planner/random_lowered.h"
#include "tests/planner/remat_nets.h"

namespace reprise {
namespace {

TEST(LowerSetProgramTest, PlansAreLegalOnAnyGraph) {
  int plans = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const LoweredBuilder b = RandomLowered(seed, RandomLoweredOptions());
    const RematGraph graph = FromLowered(b.graph());
    const RematModel model(graph);
    LowerSetOptions options;
    options.budget_bytes = EvaluateRuns(graph, FirstRunsOnly(model)).peak_bytes;
    const LowerSetProgram program(model, options);
    for (int32_t slots = 0; slots <= options.max_slots; slots += 20) {
      const Runs runs = program.Runs(slots);
      if (runs.empty()) continue;
      ++plans;
      EXPECT_EQ(WhatIsWrong(graph, EvaluateRuns(graph, runs), true), "")
          << "seed " << seed;
      std::vector<int> times(model.num_nodes, 0);
      for (const int32_t n : runs) ++times[n];
      EXPECT_LE(*std::max_element(times.begin(), times.end()), 2);
    }
  }
  EXPECT_GT(plans, 100);
}

// Of n equal steps whose results the backward part reads, the i-th segment of a
// plan in M bytes may have M - i values beside the i boundaries before it. So
// n = M^2 / 2, and each step runs twice.
TEST(LowerSetProgramTest, AChainNeedsTheRootOfTwiceItsLength) {
  const int32_t length = 100;
  const RematGraph graph = TrainingChain(length, 1);
  const RematModel model(graph);
  const int64_t all = EvaluateRuns(graph, FirstRunsOnly(model)).peak_bytes;
  LowerSetOptions options;
  options.budget_bytes = all;
  options.max_sets = 1000;
  options.max_slots = static_cast<int32_t>(all);  // a slot a byte
  const LowerSetProgram program(model, options);
  ASSERT_TRUE(program.has_sets());
  int64_t least = all;
  for (int32_t slots = 1; slots <= options.max_slots; ++slots) {
    const Runs runs = program.Runs(slots);
    if (runs.empty()) continue;
    const RematSchedule schedule = EvaluateRuns(graph, runs);
    least = std::min(least, schedule.peak_bytes);
    EXPECT_LE(schedule.added_cost, length);
  }
  // 14.1, and up to 4 for a gradient, its successor, and rounding.
  EXPECT_GE(least, 14);
  EXPECT_LE(least, 18);
}

// A net whose early values are read far on, by the other side of a bottleneck:
// no place of it is crossed by one value alone.
TEST(LowerSetProgramTest, ManyValuesMayCrossABoundary) {
  const int depth = 12;
  Net net;
  std::vector<int32_t> down;
  for (int i = 0; i < depth; ++i) {
    const int32_t wide = net.Add(4, 4, i == 0 ? Runs{} : Runs{down.back()});
    down.push_back(net.Add(1, 1, {wide}));
  }
  std::vector<int32_t> up = {down.back()};
  for (int i = depth; i-- > 0;) {
    up.push_back(net.Add(4, 4, {up.back(), down[i]}));
  }
  const int32_t forward = static_cast<int32_t>(net.graph().nodes.size());
  int32_t gradient = net.Add(1, 1, {up.back()});
  for (int32_t n = forward; n-- > 0;) {
    gradient = net.Add(1, 1, {gradient, n});
  }
  net.Result(gradient);
  const RematModel model(net.graph());
  const int64_t all =
      EvaluateRuns(net.graph(), FirstRunsOnly(model)).peak_bytes;
  LowerSetOptions options;
  options.budget_bytes = all;
  options.max_slots = static_cast<int32_t>(all);
  const LowerSetProgram program(model, options);
  int64_t least = all;
  for (int32_t slots = 1; slots <= options.max_slots; ++slots) {
    const Runs runs = program.Runs(slots);
    if (runs.empty()) continue;
    const RematSchedule schedule = EvaluateRuns(net.graph(), runs);
    EXPECT_EQ(WhatIsWrong(net.graph(), schedule, true), "");
    least = std::min(least, schedule.peak_bytes);
  }
  // The 12 narrow values and what one segment has; all were 60 and 48.
  EXPECT_LT(least, all / 2);
}

TEST(LowerSetProgramTest, CostNeverRisesWithMemory) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const RematGraph graph = RandomNet(seed, 40, /*in_place=*/false);
    const RematModel model(graph);
    LowerSetOptions options;
    options.budget_bytes = EvaluateRuns(graph, FirstRunsOnly(model)).peak_bytes;
    const LowerSetProgram program(model, options);
    int64_t before = INT64_MAX;
    for (int32_t slots = 0; slots <= options.max_slots; slots += 10) {
      const Runs runs = program.Runs(slots);
      if (runs.empty()) continue;
      const int64_t cost = EvaluateRuns(graph, runs).added_cost;
      EXPECT_LE(cost, before) << "seed " << seed << ", slots " << slots;
      before = cost;
    }
  }
}

}  // namespace
}  // namespace reprise
