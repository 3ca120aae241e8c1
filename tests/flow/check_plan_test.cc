// The checker of plans: every rule it states, broken once.

#include "core/check_plan.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "core/graph_builder.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tests/testing/plan_oracle.h"

namespace reprise {
namespace {

class CheckPlanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    GraphBuilder b("net");
    const auto x = b.Input("x", DType::kF32, {16, 32});
    const auto w1 = b.Parameter("w1", {32, 64});
    const auto w2 = b.Parameter("w2", {64, 8});
    GraphBuilder::Scope region = b.Region("r");
    const auto h = b.Add("Gelu", {b.Add("MatMul", {x, w1})});
    region.End();
    const auto y = b.Add("MatMul", {h, w2}, {}, "y");
    b.Output(y);
    b.Loss(b.Add("ReduceMean", {b.Add("Square", {y})}, {{"keepdims", 0}}));
    TrainerOptions options;
    options.threads = 1;
    absl::StatusOr<PlannedTrainer> planned =
        PlanTrainer(b.graph(), ConfigOf("adam", 0.1f), options);
    ASSERT_TRUE(planned.ok()) << planned.status();
    planned_ = *std::move(planned);
    ASSERT_TRUE(Check([](Plan&) {}).empty());
  }

  const LoweredGraph& lowered() const {
    return planned_.plan.passes[0]->lowered;
  }

  // What the checker says of a plan changed so; empty if nothing.
  std::string Check(const std::function<void(Plan&)>& change) const {
    Plan plan = planned_.plan.passes[0]->plan;
    change(plan);
    return std::string(CheckPlan(lowered(), plan).status().message());
  }

  // Index of the first step whose node's operator has this name.
  size_t StepOf(const std::string& op) const {
    const Plan& plan = planned_.plan.passes[0]->plan;
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      if (lowered().op(plan.steps[s].node).name == op) return s;
    }
    ADD_FAILURE() << "no step of " << op;
    return 0;
  }

  PlannedTrainer planned_;
};

#define EXPECT_SAYS(text, part) \
  EXPECT_TRUE(absl::StrContains(text, part)) << "got: " << (text)

TEST_F(CheckPlanTest, ReadingBytesThatHoldAnotherValueIsFound) {
  const size_t gelu = StepOf("Gelu");
  const std::string said =
      Check([&](Plan& p) { p.steps[gelu].in[0].offset += 64; });
  EXPECT_SAYS(said, "is read, but");
}

TEST_F(CheckPlanTest, AnUnalignedOffsetIsFound) {
  const size_t gelu = StepOf("Gelu");
  EXPECT_SAYS(Check([&](Plan& p) { p.steps[gelu].out[0].offset += 4; }),
              "not aligned to 64");
}

TEST_F(CheckPlanTest, AnOffsetOutsideTheArenaIsFound) {
  const size_t gelu = StepOf("Gelu");
  EXPECT_SAYS(
      Check([&](Plan& p) { p.steps[gelu].out[0].offset = p.end_bytes; }),
      "is outside");
}

TEST_F(CheckPlanTest, AResultOverAParameterIsFound) {
  const size_t gelu = StepOf("Gelu");
  EXPECT_SAYS(Check([&](Plan& p) { p.steps[gelu].out[0].offset = 0; }),
              "is outside");
}

TEST_F(CheckPlanTest, InPlaceWithoutPermissionIsFound) {
  // A matmul may not write over its operand.
  const size_t matmul = StepOf("MatMul");
  EXPECT_SAYS(Check([&](Plan& p) {
                p.steps[matmul].out[0].offset = p.steps[matmul].in[0].offset;
              }),
              "is written over the operand");
}

TEST_F(CheckPlanTest, AMissingUpdateIsFound) {
  const size_t update = StepOf("AdamUpdate");
  EXPECT_SAYS(Check([&](Plan& p) { p.steps.erase(p.steps.begin() + update); }),
              "runs 0 times");
}

TEST_F(CheckPlanTest, AnUpdateRunTwiceIsFound) {
  const size_t update = StepOf("AdamUpdate");
  const std::string said = Check([&](Plan& p) {
    Step again = p.steps[update];
    again.run = 1;
    p.steps.push_back(again);
  });
  EXPECT_FALSE(said.empty());
}

TEST_F(CheckPlanTest, ReadingOldContentAfterItsUpdateIsFound) {
  // The last update moved to the front of the backward pass: its parameter's
  // gradient is not there yet, or its old content is read later.
  const size_t update = StepOf("AdamUpdate");
  EXPECT_FALSE(Check([&](Plan& p) {
                 std::rotate(p.steps.begin() + 1, p.steps.begin() + update,
                             p.steps.begin() + update + 1);
               }).empty());
}

TEST_F(CheckPlanTest, AGuardThatIsNotWhereThePlanSaysIsFound) {
  EXPECT_SAYS(Check([](Plan& p) { p.guard_step += 1; }), "guard_step is");
}

TEST_F(CheckPlanTest, WrongByteCountsAreFound) {
  EXPECT_SAYS(Check([](Plan& p) { p.peak_live_bytes -= 64; }), "says peak");
  EXPECT_SAYS(Check([](Plan& p) { p.working_set_bytes += 64; }),
              "says working set");
  EXPECT_SAYS(Check([](Plan& p) { p.end_bytes += 64; }), "ends at");
}

TEST_F(CheckPlanTest, AScratchpadOverAnOperandIsFound) {
  Plan plan = planned_.plan.passes[0]->plan;
  size_t step = plan.steps.size();
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.steps[s].scratchpad.bytes > 0) step = s;
  }
  if (step == plan.steps.size()) GTEST_SKIP() << "no kernel has a scratchpad";
  EXPECT_FALSE(Check([&](Plan& p) {
                 p.steps[step].scratchpad.offset = p.steps[step].out[0].offset;
               }).empty());
}

TEST_F(CheckPlanTest, AResultThatIsOverwrittenIsFound) {
  const std::string said = Check([](Plan& p) {
    // The output y, said to lie where the last step left something else.
    p.results[0].offset = p.steps.back().in[1].offset;
  });
  EXPECT_SAYS(said, "result 0");
}

TEST_F(CheckPlanTest, AnOperandLeftOutIsFound) {
  EXPECT_SAYS(Check([](Plan& p) { p.steps[0].in.pop_back(); }), "operands");
}

}  // namespace
}  // namespace reprise
