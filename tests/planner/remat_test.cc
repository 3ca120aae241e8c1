#include "planner/remat/remat.h"

#include <cstdint>

#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "planner/remat/remat_model.h"
#include "tests/planner/lowered_builder.h"
#include "tests/planner/random_lowered.h"
#include "tests/planner/remat_nets.h"

namespace reprise {
namespace {

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
