// Planning over budgets and symbols: the curve, and the largest value.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tests/tools/examples.h"

namespace reprise {
namespace {

TrainerOptions OneThread() {
  TrainerOptions options;
  options.threads = 1;
  // Any search will do here.
  options.plan.work_limit = 20'000;
  return options;
}

double Added(const PlanReport& report) {
  return static_cast<double>(report.recompute_cost_nanoseconds) /
         static_cast<double>(report.cost_nanoseconds);
}

void ExpectPareto(const std::vector<TradeOff>& curve) {
  ASSERT_FALSE(curve.empty());
  for (size_t i = 1; i < curve.size(); ++i) {
    EXPECT_LT(curve[i].arena_bytes, curve[i - 1].arena_bytes);
    EXPECT_GT(curve[i].added_cost_nanoseconds,
              curve[i - 1].added_cost_nanoseconds);
  }
}

// Every point of the curve is the plan that its arena as a budget gets.
TEST(SweepTest, PointsAreThePlansOfTheirBudgets) {
  const proto::Graph graph = Read("char_transformer");
  const TrainerOptions options = OneThread();
  const absl::StatusOr<Sweep> sweep = SweepTrainer(graph, Adam(), options);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  ExpectPareto(sweep->curve);
  EXPECT_EQ(sweep->curve.front().arena_bytes,
            sweep->save_everything.arena_bytes);
  EXPECT_EQ(sweep->save_everything.recomputed_steps, 0);
  EXPECT_GT(sweep->annotated.recomputed_steps, 0);
  EXPECT_LE(sweep->working_set_bytes, sweep->curve.back().arena_bytes);
  const proto::Graph bare = WithoutAnnotations(graph);
  for (const TradeOff* point :
       {&sweep->curve[sweep->curve.size() / 2], &sweep->curve.back()}) {
    TrainerOptions within = options;
    within.plan.budget_bytes = point->arena_bytes;
    const absl::StatusOr<PlannedTrainer> planned =
        PlanTrainer(bare, Adam(), within);
    ASSERT_TRUE(planned.ok()) << planned.status();
    EXPECT_EQ(planned->plan.arena_bytes, point->arena_bytes);
    const PlanReport& report = planned->reports.front();
    EXPECT_EQ(report.recompute_cost_nanoseconds, point->added_cost_nanoseconds);
    EXPECT_EQ(report.cost_nanoseconds, point->cost_nanoseconds);
    EXPECT_EQ(report.recomputed_steps, point->recomputed_steps);
  }
  TrainerOptions below = options;
  below.plan.budget_bytes = sweep->curve.back().arena_bytes - 1;
  EXPECT_TRUE(
      absl::IsResourceExhausted(PlanTrainer(bare, Adam(), below).status()));
}

// With binding annotations the curve begins at the graph as annotated.
TEST(SweepTest, AnnotationsMayBind) {
  const proto::Graph graph = Read("char_transformer");
  const absl::StatusOr<Sweep> sweep =
      SweepTrainer(graph, Adam(), OneThread(), SweepAnnotations::kBinding);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  ExpectPareto(sweep->curve);
  const TradeOff& first = sweep->curve.front();
  EXPECT_EQ(first.arena_bytes, sweep->annotated.arena_bytes);
  EXPECT_EQ(first.added_cost_nanoseconds,
            sweep->annotated.added_cost_nanoseconds);
  EXPECT_EQ(first.recomputed_steps, sweep->annotated.recomputed_steps);
  EXPECT_EQ(sweep->save_everything.recomputed_steps, 0);
}

// Tries every batch up to 40. What fits must be the batches from 1 to some
// largest one, and that is the answer.
void ExpectBruteForceAgrees(const proto::Graph& graph, int64_t budget_bytes,
                            double max_added) {
  constexpr int64_t kTried = 40;
  TrainerOptions options = OneThread();
  options.plan.budget_bytes = budget_bytes;
  int64_t largest = 0;
  for (int64_t batch = 1; batch <= kTried; ++batch) {
    options.symbols["batch"] = batch;
    const absl::StatusOr<PlannedTrainer> planned =
        PlanTrainer(graph, Adam(), options);
    if (!planned.ok() || Added(planned->reports.front()) > max_added) continue;
    ASSERT_EQ(largest, batch - 1) << "not monotone at " << batch;
    largest = batch;
  }
  ASSERT_GE(largest, 1);
  ASSERT_LT(largest, kTried);
  const absl::StatusOr<LargestValue> found =
      MaximizeSymbol(graph, Adam(), options, "batch", max_added);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->value, largest);
  EXPECT_LE(found->planned.plan.arena_bytes, budget_bytes);
  EXPECT_EQ(found->planned.plan.passes.front()->model.symbols.at("batch"),
            largest);
}

TEST(MaximizeTest, EqualsBruteForce) {
  const proto::Graph graph = WithoutAnnotations(Read("digits_mlp"));
  for (const int64_t batch : {1, 7, 20}) {
    TrainerOptions options = OneThread();
    options.symbols["batch"] = batch;
    const absl::StatusOr<PlannedTrainer> planned =
        PlanTrainer(graph, Adam(), options);
    ASSERT_TRUE(planned.ok()) << planned.status();
    for (const double added : {0.0, 0.5}) {
      ExpectBruteForceAgrees(graph, planned->plan.arena_bytes, added);
    }
  }
}

TEST(MaximizeTest, MoreTimeBuysALargerBatch) {
  const proto::Graph graph = WithoutAnnotations(Read("deep_mlp"));
  TrainerOptions options = OneThread();
  options.plan.work_limit = 5'000;  // for each of some twenty plans
  options.evaluate = false;
  const absl::StatusOr<PlannedTrainer> planned =
      PlanTrainer(graph, Adam(), options);
  ASSERT_TRUE(planned.ok()) << planned.status();
  options.plan.budget_bytes = planned->plan.arena_bytes;
  const int64_t given = planned->plan.passes[0]->model.symbols.at("batch");
  const absl::StatusOr<LargestValue> free =
      MaximizeSymbol(graph, Adam(), options, "batch", 0);
  const absl::StatusOr<LargestValue> paid =
      MaximizeSymbol(graph, Adam(), options, "batch", 0.5);
  ASSERT_TRUE(free.ok()) << free.status();
  ASSERT_TRUE(paid.ok()) << paid.status();
  EXPECT_GE(free->value, given);
  EXPECT_GT(paid->value, free->value);
}

TEST(MaximizeTest, ErrorsSayWhatIsWrong) {
  const proto::Graph graph = Read("digits_mlp");
  TrainerOptions options = OneThread();
  options.plan.budget_bytes = 1000;
  const absl::Status unknown =
      MaximizeSymbol(graph, Adam(), options, "bath", 0.5).status();
  EXPECT_TRUE(absl::IsInvalidArgument(unknown)) << unknown;
  EXPECT_TRUE(absl::StrContains(unknown.message(),
                                "no symbol 'bath'; there are 'batch'"))
      << unknown;
  const absl::Status small =
      MaximizeSymbol(graph, Adam(), options, "batch", 0.5).status();
  EXPECT_TRUE(absl::IsResourceExhausted(small)) << small;
  EXPECT_TRUE(absl::StrContains(small.message(),
                                "with batch = 1: budget of 1000 bytes"))
      << small;
}

}  // namespace
}  // namespace reprise
