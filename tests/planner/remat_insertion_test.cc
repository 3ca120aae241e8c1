#include "planner/remat/remat_insertion.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "planner/remat/remat_model.h"
#include "tests/planner/lowered_builder.h"
#include "tests/planner/random_lowered.h"
#include "tests/planner/remat_nets.h"

namespace reprise {
namespace {

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

}  // namespace
}  // namespace reprise
