#include "planner/remat/remat_chain.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "planner/remat/remat_model.h"
#include "tests/planner/lowered_builder.h"
#include "tests/planner/random_lowered.h"
#include "tests/planner/remat_nets.h"

namespace reprise {
namespace {

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

}  // namespace
}  // namespace reprise
