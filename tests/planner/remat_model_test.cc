#include "planner/remat/remat_model.h"

#include <cstdint>
#include <random>

#include "gtest/gtest.h"
#include "tests/planner/lowered_builder.h"
#include "tests/planner/random_lowered.h"
#include "tests/planner/remat_nets.h"

namespace reprise {
namespace {

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

}  // namespace
}  // namespace reprise
