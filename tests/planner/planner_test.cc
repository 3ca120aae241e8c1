#include "planner/planner.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "core/check_plan.h"
#include "gtest/gtest.h"
#include "tests/planner/lowered_builder.h"
#include "tests/planner/random_lowered.h"
#include "tests/planner/toy_net.h"
#include "tests/testing/instances.h"

namespace reprise {
namespace {

absl::StatusOr<PlanResult> PlanOf(const LoweredBuilder& b,
                                  const PlanOptions& options = {}) {
  return MakePlan(b.step(), b.graph(), PlanMode::kTrain,
                  PlacePersistent(b.step(), b.graph()), options);
}

Plan NaivePlanOf(const LoweredBuilder& b) {
  return MakeNaivePlan(b.graph(), PlanMode::kTrain, b.step(),
                       PlacePersistent(b.step(), b.graph()));
}

// x -> a -> b -> loss and the gradients of both, with an update of w.
//   forward  a = f(x, w)   b = relu(a)   loss = sum(b)
//   backward db (seed)     da = db * b   dw = x * da     w -= dw
LoweredBuilder SmallTraining() {
  LoweredBuilder b;
  const LoweredValueId x = b.Input("x", 128);
  const LoweredValueId w = b.Parameter("w", 256);
  const LoweredValueId a =
      b.Add(NodeSpec("a").Reads({x, w}).Writes({512}).Scratchpad(64));
  const LoweredValueId r =
      b.Add(NodeSpec("r").Reads({a}).Writes({512}).MayOverwrite({{0, 0}}));
  const LoweredValueId loss = b.Add(NodeSpec("loss").Reads({r}).Writes({4}));
  b.Result(loss);
  b.Loss(loss);
  b.Add(NodeSpec("guard").Reads({loss}).Writes({4}).Guards());
  const LoweredValueId dr =
      b.Add(NodeSpec("dr").Writes({512}).GradientOf(loss));
  const LoweredValueId da = b.Add(
      NodeSpec("da").Reads({dr, r}).Writes({512}).GradientOf(r).MayOverwrite(
          {{0, 0}}));
  const LoweredValueId dw =
      b.Add(NodeSpec("dw").Reads({x, da}).Writes({256}).GradientOf(a));
  b.Add(NodeSpec("update").Reads({w, dw}).Writes({256}).Updates(0));
  return b;
}

TEST(MakePlanTest, APlanPassesTheChecker) {
  const LoweredBuilder b = SmallTraining();
  const absl::StatusOr<PlanResult> result = PlanOf(b);
  ASSERT_TRUE(result.ok()) << result.status();
  const absl::StatusOr<PlanFacts> facts = CheckPlan(b.graph(), result->plan);
  EXPECT_TRUE(facts.ok()) << facts.status();
}

// Persistent 256. Most lives when da runs in place of dr: x 128, r 512, dr 512,
// and loss, which is 4 bytes in 64: 1216. Nothing else has three of them.
TEST(MakePlanTest, ThePeakIsWhatTheArithmeticSays) {
  const LoweredBuilder b = SmallTraining();
  const absl::StatusOr<PlanResult> result = PlanOf(b);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->plan.persistent_bytes, 256);
  EXPECT_EQ(result->plan.peak_live_bytes, 256 + 128 + 512 + 512 + 64);
  EXPECT_EQ(result->plan.end_bytes, result->plan.peak_live_bytes);
  EXPECT_TRUE(result->report.placement_optimal);
}

// The largest step is da: dr and r, 1024, as da takes over dr.
TEST(MakePlanTest, TheWorkingSetIsTheLargestStepWithWhatPersists) {
  const LoweredBuilder b = SmallTraining();
  const absl::StatusOr<PlanResult> result = PlanOf(b);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->plan.working_set_bytes, 256 + 1024);
}

TEST(MakePlanTest, BytesByClassSumToThePeak) {
  const LoweredBuilder b = SmallTraining();
  const absl::StatusOr<PlanResult> result = PlanOf(b);
  ASSERT_TRUE(result.ok()) << result.status();
  const BytesByClass& c = result->report.bytes_by_class;
  EXPECT_EQ(c.parameters, 256);
  EXPECT_EQ(c.inputs, 128);
  EXPECT_EQ(c.residuals, 512);  // r
  EXPECT_EQ(c.parameters + c.gradients + c.optimizer_state + c.state +
                c.inputs + c.residuals + c.temporaries + c.workspaces +
                c.scratchpads,
            result->plan.peak_live_bytes);
}

// Without a budget 1472, as above. When da runs, x, r and dr are needed, 1152
// bytes besides the parameter's 256; the loss is not, and can be computed again
// behind it, before the update: 1408. The working set is that of da, without x.
TEST(MakePlanTest, ABudgetBelowTheSmallestArenaIsAnErrorThatNamesIt) {
  const LoweredBuilder b = SmallTraining();
  PlanOptions options;
  options.budget_bytes = 1408;
  const absl::StatusOr<PlanResult> result = PlanOf(b, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->plan.end_bytes, 1408);
  EXPECT_EQ(result->report.recomputed_steps, 3) << "a, r and loss";
  options.budget_bytes -= 1;
  const absl::Status status = PlanOf(b, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(absl::StrContains(status.message(), "found has 1408")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "working set of 1280"))
      << status;
}

TEST(MakePlanTest, StrictRefusesAKernelThatTakesHeap) {
  LoweredBuilder b;
  NodeSpec spec("greedy");
  spec.library_heap_bytes = 4096;
  b.Result(b.Add(spec));
  EXPECT_EQ(PlanOf(b)->report.library_heap_bytes, 4096);
  PlanOptions options;
  options.strict = true;
  const absl::Status status = PlanOf(b, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(status.message(), "greedy")) << status;
}

TEST(MakePlanTest, APersistentValueMustHaveAPlace) {
  const LoweredBuilder b = SmallTraining();
  const absl::Status status =
      MakePlan(b.step(), b.graph(), PlanMode::kTrain, {}, PlanOptions())
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(absl::StrContains(status.message(), "'w'")) << status;
}

// The segment may hold more than this graph has (an optimizer's slots, when
// evaluating): transient bytes begin behind it.
TEST(MakePlanTest, TheTransientSegmentBeginsBehindEverythingThatPersists) {
  const LoweredBuilder b = SmallTraining();
  std::vector<PersistentValue> persistent =
      PlacePersistent(b.step(), b.graph());
  PersistentValue slot;
  slot.name = "slot";
  slot.offset = 256;
  slot.bytes = 100;
  persistent.push_back(slot);
  const absl::StatusOr<PlanResult> result = MakePlan(
      b.step(), b.graph(), PlanMode::kTrain, persistent, PlanOptions());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->plan.persistent_bytes, 256 + 128);
  EXPECT_TRUE(CheckPlan(b.graph(), result->plan).ok());
}

TEST(MakePlanTest, AGraphWithoutNodesHasAnEmptyPlan) {
  LoweredBuilder b;
  b.Result(b.Input("x", 64));
  const absl::StatusOr<PlanResult> result = PlanOf(b);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->plan.steps.empty());
  EXPECT_EQ(result->plan.end_bytes, 64);
  const absl::StatusOr<PlanFacts> facts = CheckPlan(b.graph(), result->plan);
  EXPECT_TRUE(facts.ok()) << facts.status();
}

TEST(NaivePlanTest, SharesNoByteAndPassesTheChecker) {
  const LoweredBuilder b = SmallTraining();
  const Plan plan = NaivePlanOf(b);
  const absl::StatusOr<PlanFacts> facts = CheckPlan(b.graph(), plan);
  ASSERT_TRUE(facts.ok()) << facts.status();
  // w 256; x 128; a, r, dr, da 512 each; dw 256; loss and guard 64 each; the
  // scratchpad of a 64.
  EXPECT_EQ(plan.end_bytes, 256 + 128 + 4 * 512 + 256 + 2 * 64 + 64);
  EXPECT_EQ(PlanOf(b)->report.naive_bytes, plan.end_bytes);
}

class RandomPlanTest : public ::testing::TestWithParam<bool> {};

TEST_P(RandomPlanTest, PassesTheCheckerAndSumsUp) {
  int replays = 0;
  for (uint64_t seed = 1; seed <= Instances(400u); ++seed) {
    RandomLoweredOptions random;
    random.num_forward = 4 + static_cast<int>(seed % 30);
    const LoweredBuilder b = RandomLowered(seed, random);
    PlanOptions options;
    options.in_place = GetParam();
    const absl::StatusOr<PlanResult> result = PlanOf(b, options);
    if (!result.ok()) {
      // must_save and must_recompute may have met.
      ASSERT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument)
          << "seed " << seed << ": " << result.status();
      continue;
    }
    const absl::StatusOr<PlanFacts> facts = CheckPlan(b.graph(), result->plan);
    ASSERT_TRUE(facts.ok()) << "seed " << seed << ": " << facts.status();
    int64_t sum = 0;
    for (const LiveAtPeak& live : result->report.live_at_peak) {
      sum += live.bytes;
    }
    EXPECT_EQ(sum, result->plan.peak_live_bytes) << "seed " << seed;
    EXPECT_GE(result->plan.peak_live_bytes, result->plan.working_set_bytes)
        << "seed " << seed;
    EXPECT_GE(result->plan.end_bytes, result->plan.peak_live_bytes);
    EXPECT_TRUE(CheckPlan(b.graph(), NaivePlanOf(b)).ok()) << "seed " << seed;
    replays += result->report.recomputed_steps;
  }
  EXPECT_GT(replays,
            Instances(400));  // the generator does make regions that replay
}

INSTANTIATE_TEST_SUITE_P(InPlaceAndNot, RandomPlanTest,
                         ::testing::Values(true, false));

std::string Dump(const Plan& plan) {
  std::string text;
  const auto add = [&text](const Operand& o) {
    text += std::to_string(o.value) + "@" + std::to_string(o.offset) + " ";
  };
  for (const Step& step : plan.steps) {
    text += std::to_string(step.node) + ":" + std::to_string(step.run) + " ";
    for (const Operand& o : step.in) add(o);
    for (const Operand& o : step.out) add(o);
    add(step.scratchpad);
  }
  return text;
}

TEST(MakePlanTest, TheSameGraphGivesTheSamePlan) {
  int annotated = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const LoweredBuilder graph = RandomLowered(seed, RandomLoweredOptions());
    const absl::StatusOr<PlanResult> a = PlanOf(graph);
    const absl::StatusOr<PlanResult> b =
        PlanOf(RandomLowered(seed, RandomLoweredOptions()));
    ASSERT_EQ(a.status(), b.status()) << "seed " << seed;
    if (!a.ok()) continue;  // must_save and must_recompute may have met
    EXPECT_EQ(Dump(a->plan), Dump(b->plan)) << "seed " << seed;
    if (!graph.step().annotations.empty()) ++annotated;
  }
  EXPECT_GT(annotated, 50);
}

// A forward graph in a region, with an annotated value, and the same bare.
TEST(MakePlanTest, AnnotationIsFreeWhenNothingIsDifferentiated) {
  std::vector<std::string> plans;
  for (const bool annotated : {true, false}) {
    ToyNet net;
    const RegionId r = annotated ? net.Region("r") : kNoRegion;
    const LoweredValueId a = net.S("a", net.Input(), r);
    net.builder().Result(net.D("b", a, r));
    if (annotated) net.builder().Annotate(a, Keep::kMustRecompute);
    const absl::StatusOr<PlanResult> result = PlanOf(net.builder());
    ASSERT_TRUE(result.ok()) << result.status();
    plans.push_back(Dump(result->plan));
    EXPECT_TRUE(result->report.residuals.empty());
  }
  EXPECT_EQ(plans[0], plans[1]);
}

// A lifetime one step short: an operand is moved to bytes that another content
// takes while it is still needed. The checker must see each such plan.
TEST(MakePlanTest, APlantedLifetimeBugIsCaught) {
  int planted = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    RandomLoweredOptions random;
    random.annotate = false;
    const LoweredBuilder b = RandomLowered(seed, random);
    const absl::StatusOr<PlanResult> result = PlanOf(b);
    ASSERT_TRUE(result.ok()) << result.status();
    const absl::StatusOr<PlanFacts> facts = CheckPlan(b.graph(), result->plan);
    ASSERT_TRUE(facts.ok()) << facts.status();
    // At each step, write each result over something that lives across it.
    for (size_t s = 0; s < result->plan.steps.size(); ++s) {
      for (const LiveRange& range : facts->ranges) {
        const int32_t step = static_cast<int32_t>(s);
        Plan bad = result->plan;
        Operand& out = bad.steps[s].out[0];
        // A replay may be written over the same value: the bits are equal.
        const bool across = range.begin < step && step + 1 < range.end &&
                            range.offset >= result->plan.persistent_bytes &&
                            range.value != out.value;
        if (!across || out.bytes == 0 || out.bytes > range.bytes ||
            out.offset < bad.persistent_bytes) {
          continue;
        }
        const int64_t from = out.offset;
        // Every later use of the content follows it.
        for (size_t t = s; t < bad.steps.size(); ++t) {
          for (Operand& in : bad.steps[t].in) {
            if (in.value == out.value && in.offset == from && t > s) {
              in.offset = range.offset;
            }
          }
        }
        out.offset = range.offset;
        EXPECT_FALSE(CheckPlan(b.graph(), bad).ok())
            << "seed " << seed << ", step " << s;
        ++planted;
      }
    }
  }
  EXPECT_GT(planted, 500);
}

}  // namespace
}  // namespace reprise
