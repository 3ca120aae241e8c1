// The same graph and options give the same plan, bit for bit; the order of
// nodes in a file changes neither what is kept nor what is replayed.

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/plan_file.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tests/testing/instances.h"
#include "tests/testing/plan_oracle.h"
#include "tests/testing/random_graph.h"

namespace reprise {
namespace {

absl::StatusOr<PlannedTrainer> PlanOf(const proto::Graph& graph, bool fusion) {
  TrainerOptions options;
  options.threads = 1;
  options.fusion = fusion;
  return PlanTrainer(graph, ConfigOf("adamw", 1e-3f), options);
}

// Without maps, whose order a serializer may choose.
std::string Bits(const TrainerPlan& plan) {
  proto::PlanSet set = ToProto(plan);
  for (proto::Plan& pass : *set.mutable_plan()) pass.clear_symbol();
  return set.SerializeAsString();
}

TEST(DeterminismTest, TheSameAnnotatedGraphGivesTheSamePlan) {
  int with_regions = 0;
  for (uint64_t seed = 0; seed < Instances(100u); ++seed) {
    const proto::Graph graph = RandomGraph(seed);
    const absl::StatusOr<PlannedTrainer> a = PlanOf(graph, seed % 2 == 0);
    const absl::StatusOr<PlannedTrainer> b = PlanOf(graph, seed % 2 == 0);
    ASSERT_TRUE(a.ok()) << "seed " << seed << ": " << a.status();
    ASSERT_TRUE(b.ok()) << "seed " << seed << ": " << b.status();
    EXPECT_EQ(Bits(a->plan), Bits(b->plan)) << "seed " << seed;
    if (graph.region_size() > 0) ++with_regions;
  }
  EXPECT_GT(with_regions, Instances(50));
}

// What is kept, and how often each region replays what.
std::set<std::string> KeptAndReplayed(const PlanReport& report) {
  std::set<std::string> text;
  for (const Residual& residual : report.residuals) {
    text.insert(absl::StrCat("kept ", residual.value, ", ", residual.bytes));
  }
  for (const RegionReport& region : report.regions) {
    text.insert(absl::StrCat(
        region.name, " replays ",
        absl::StrJoin(region.replayed, ", ",
                      [](std::string* out, const auto& entry) {
                        absl::StrAppend(out, entry.second, " ", entry.first);
                      })));
  }
  return text;
}

TEST(DeterminismTest, TheOrderOfNodesInAFileChangesNoAnnotation) {
  size_t kept = 0;
  for (uint64_t seed = 0; seed < Instances(200u); ++seed) {
    const proto::Graph graph = RandomGraph(seed);
    proto::Graph shuffled = graph;
    std::mt19937_64 random(seed);
    std::shuffle(shuffled.mutable_node()->pointer_begin(),
                 shuffled.mutable_node()->pointer_end(), random);
    const absl::StatusOr<PlannedTrainer> a = PlanOf(graph, /*fusion=*/false);
    const absl::StatusOr<PlannedTrainer> b = PlanOf(shuffled, /*fusion=*/false);
    ASSERT_TRUE(a.ok()) << "seed " << seed << ": " << a.status();
    ASSERT_TRUE(b.ok()) << "seed " << seed << ": " << b.status();
    EXPECT_EQ(KeptAndReplayed(a->reports[0]), KeptAndReplayed(b->reports[0]))
        << "seed " << seed;
    kept += a->reports[0].residuals.size();
  }
  EXPECT_GT(kept, 10 * Instances(200u));
}

}  // namespace
}  // namespace reprise
