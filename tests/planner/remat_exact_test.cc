#include "planner/remat/remat_exact.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "gtest/gtest.h"
#include "planner/remat/remat_model.h"
#include "tests/planner/remat_nets.h"

namespace reprise {
namespace {

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

}  // namespace
}  // namespace reprise
