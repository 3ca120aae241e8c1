// Failures that planners elsewhere were reported for, each as small as it gets.
// Those that need bits, or real operators, are in tests/flow.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/check_plan.h"
#include "gtest/gtest.h"
#include "planner/liveness.h"
#include "planner/offsets/offsets.h"
#include "planner/order/order.h"
#include "planner/planner.h"
#include "planner/regions.h"
#include "tests/planner/lowered_builder.h"
#include "tests/planner/random_lowered.h"
#include "tests/planner/toy_net.h"

namespace reprise {
namespace {

Buffer BufferOf(int64_t bytes, int32_t begin, int32_t end) {
  Buffer buffer;
  buffer.bytes = bytes;
  buffer.life = {begin, end};
  return buffer;
}

Plan PlanOf(const LoweredBuilder& b) {
  const absl::StatusOr<PlanResult> result =
      MakePlan(b.step(), b.graph(), PlanMode::kTrain,
               PlacePersistent(b.step(), b.graph()), PlanOptions());
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->plan : Plan();
}

// A gap below the first buffer that is never used again: first fit that looks
// only behind what it has placed puts C on top of B.
//
//   inclusive steps   A 100 [0, 1]   B 80 [1, 2]   C 60 [2, 3]
//   A and B live together at step 1, B and C at step 2: 180, with C below B in
//   A's place; 240 if the place is lost.
TEST(PublicFailuresTest, AGapBelowTheFirstBufferIsUsedAgain) {
  const Placement placement =
      PlaceBuffers({BufferOf(100 * 64, 0, 2), BufferOf(80 * 64, 1, 3),
                    BufferOf(60 * 64, 2, 4)},
                   PlacementOptions());
  EXPECT_EQ(placement.height, 180 * 64);
  EXPECT_TRUE(placement.proven);
}

// A pool that gives a dead buffer only to a request of the same size keeps it
// for that request, and everything between pays.
//
//   A 4 [0, 1)   B 8 [1, 2)   C 4 [2, 3)   D 8 [3, 4)
//   pool: A and C share, B and D share: 12. Never more than one lives: 8.
TEST(PublicFailuresTest, ReuseByEqualSizeDoesNotRaiseThePeak) {
  LoweredBuilder b;
  LoweredValueId v = b.Input("x", 64);
  // Each node's result is dead before the next but one begins.
  for (int i = 0; i < 8; ++i) {
    const int64_t bytes = i % 2 == 0 ? 256 : 512;
    v = b.Add(NodeSpec(absl::StrCat("n", i)).Reads({v}).Writes({bytes}));
  }
  b.Result(v);
  const Plan plan = PlanOf(b);
  // Two neighbours live at each step: 256 + 512, wherever they lie.
  EXPECT_EQ(plan.peak_live_bytes, 256 + 512);
  EXPECT_EQ(plan.end_bytes, 256 + 512);
  const Placement placement =
      PlaceBuffers({BufferOf(256, 0, 1), BufferOf(512, 1, 2),
                    BufferOf(256, 2, 3), BufferOf(512, 3, 4)},
                   PlacementOptions());
  EXPECT_EQ(placement.height, 512);
}

// An operation in place on a value that another one still has to read: r may
// write over a, but g reads a after it. Whichever runs first, what the later
// one reads is not overwritten; where nobody follows, the bytes are shared.
TEST(PublicFailuresTest, NothingRunsInPlaceBeforeAnotherReader) {
  LoweredBuilder b;
  const LoweredValueId x = b.Input("x", 64);
  const LoweredValueId a = b.Add(NodeSpec("a").Reads({x}).Writes({512}));
  const LoweredValueId r =
      b.Add(NodeSpec("r").Reads({a}).Writes({512}).MayOverwrite({{0, 0}}));
  const LoweredValueId g = b.Add(
      NodeSpec("g").Reads({r, a}).Writes({512}).MayOverwrite({{0, 0}, {1, 0}}));
  b.Result(g);
  const Plan plan = PlanOf(b);
  ASSERT_EQ(plan.steps.size(), 3u);
  // r reads a, and g reads a behind it.
  EXPECT_NE(plan.steps[1].out[0].offset, plan.steps[1].in[0].offset);
  // g is the last reader of both and takes over one of them.
  EXPECT_EQ(plan.peak_live_bytes, 2 * 512);
  EXPECT_TRUE(CheckPlan(b.graph(), plan).ok());
}

// Solvers that treat a budget as a wish return plans beyond it, and a smaller
// budget may then get a larger plan.
TEST(PublicFailuresTest, NoBudgetIsExceededAndASmallerOneGetsNoMore) {
  int plans = 0;
  PlanOptions options;
  options.work_limit = 20'000;  // a quick search is as bound by it
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    RandomLoweredOptions random;
    random.num_forward = 12;
    random.regions = seed % 2 == 0;
    random.annotate = false;
    const LoweredBuilder b = RandomLowered(seed, random);
    const absl::StatusOr<std::unique_ptr<PassPlanner>> planner =
        PassPlanner::Create(b.step(), b.graph(), PlanMode::kTrain,
                            PlacePersistent(b.step(), b.graph()), options);
    ASSERT_TRUE(planner.ok()) << planner.status();
    const int64_t smallest = (*planner)->SmallestArenaBytes();
    const int64_t largest = (*planner)->FitPlan(INT64_MAX)->end_bytes;
    int64_t last_arena = INT64_MAX;
    int64_t last_peak = INT64_MAX;
    for (int64_t budget = largest; budget >= smallest; budget -= 64) {
      const absl::StatusOr<Plan> plan = (*planner)->FitPlan(budget);
      ASSERT_TRUE(plan.ok()) << "seed " << seed << ": " << plan.status();
      EXPECT_LE(plan->end_bytes, budget) << "seed " << seed;
      EXPECT_LE(plan->end_bytes, last_arena) << "seed " << seed;
      EXPECT_LE(plan->peak_live_bytes, last_peak)
          << "seed " << seed << ": the peak rose as the budget fell to "
          << budget;
      last_arena = plan->end_bytes;
      last_peak = plan->peak_live_bytes;
      const absl::StatusOr<PlanFacts> facts = CheckPlan(b.graph(), *plan);
      EXPECT_TRUE(facts.ok()) << "seed " << seed << ": " << facts.status();
      ++plans;
    }
    EXPECT_FALSE((*planner)->FitPlan(smallest - 1).ok()) << "seed " << seed;
  }
  EXPECT_GT(plans, 40);
}

// A block that is run twice with the same weights, each time in a region of its
// own: both traversals must not be replayed at once. With blocks of n values,
// the replay of the second is used up before that of the first begins.
TEST(PublicFailuresTest, OfABlockTraversedTwiceOneReplayLivesAtATime) {
  constexpr int kValues = 6;
  LoweredBuilder b;
  const LoweredValueId w = b.Parameter("w", 64);
  LoweredValueId v = b.Input("x", 640);
  std::vector<LoweredValueId> inputs;
  std::vector<LoweredValueId> made;
  for (int block = 0; block < 2; ++block) {
    const RegionId region =
        b.AddRegion(absl::StrCat("pass", block), kNoRegion, SaveNothing());
    for (int i = 0; i < kValues; ++i) {
      inputs.push_back(v);
      v = b.Add(NodeSpec(absl::StrCat("f", block, ".", i))
                    .Reads({v, w})
                    .Writes({640})
                    .In(region));
      made.push_back(v);
    }
  }
  const LoweredValueId loss = b.Add(NodeSpec("loss").Reads({v}).Writes({4}));
  b.Result(loss);
  b.Loss(loss);
  LoweredValueId grad = b.Add(NodeSpec("seed").Writes({640}).GradientOf(loss));
  LoweredValueId sum = -1;
  for (size_t i = made.size(); i-- > 0;) {
    const LoweredValueId dw = b.Add(NodeSpec(absl::StrCat("dw", i))
                                        .Reads({inputs[i], grad})
                                        .GradientOf(made[i]));
    sum = sum < 0 ? dw
                  : b.Add(NodeSpec(absl::StrCat("sum", i))
                              .Reads({sum, dw})
                              .Backward()
                              .MayOverwrite({{0, 0}}));
    if (i == 0) break;
    grad = b.Add(NodeSpec(absl::StrCat("dx", i))
                     .Reads({w, grad})
                     .Writes({640})
                     .GradientOf(made[i]));
  }
  b.Add(NodeSpec("update").Reads({w, sum}).Updates(0));

  const TaskGraph tasks = Regions::Create(b.step(), b.graph())->Resolve().tasks;
  const absl::StatusOr<Order> order =
      LeastPeakOrder(b.graph(), tasks, OrderOptions());
  ASSERT_TRUE(order.ok()) << order.status();
  const Liveness liveness =
      ComputeLiveness(b.graph(), tasks, order->tasks, LivenessOptions());
  // Steps at which a replayed value of each block lives.
  Lifetime replayed[2] = {{INT32_MAX, 0}, {INT32_MAX, 0}};
  int values[2] = {0, 0};
  for (size_t i = 0; i < tasks.instances.size(); ++i) {
    const TaskId producer = tasks.instances[i].producer;
    if (producer < 0 || !tasks.tasks[producer].replay) continue;
    Lifetime& all = replayed[tasks.tasks[producer].region];
    all.begin = std::min(all.begin, liveness.life[i].begin);
    all.end = std::max(all.end, liveness.life[i].end);
    ++values[tasks.tasks[producer].region];
  }
  // The last value of a block is read by no gradient.
  EXPECT_EQ(values[0], kValues - 1);
  EXPECT_EQ(values[1], kValues - 1);
  EXPECT_LE(replayed[1].end, replayed[0].begin);
  // While the second block's first gradient dw is made: the input of each
  // block, five replayed values, the gradient that came in, dw. The loss, which
  // no gradient reads here, is made later.
  EXPECT_EQ(order->peak.bytes, (2 + 5 + 1) * 640 + 64);
}

}  // namespace
}  // namespace reprise
