// What 8 regions of 8 layers do to the residuals of 64 equal ones.

#include <string>

#include "gtest/gtest.h"
#include "reprise.h"

namespace reprise {
namespace {

proto::Graph ReadModel() {
  absl::StatusOr<proto::Graph> graph =
      ReadGraphFile("examples/deep_mlp.textproto");
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

proto::Graph WithoutRegions(proto::Graph graph) {
  graph.clear_region();
  for (proto::Node& node : *graph.mutable_node()) node.clear_region();
  return graph;
}

PlannedTrainer Planned(const proto::Graph& graph) {
  proto::TrainConfig config;
  config.set_format_version(1);
  config.mutable_sgd();
  TrainerOptions options;
  options.threads = 1;
  options.evaluate = false;
  absl::StatusOr<PlannedTrainer> planned = PlanTrainer(graph, config, options);
  EXPECT_TRUE(planned.ok()) << planned.status();
  return *std::move(planned);
}

int64_t ResidualBytes(const PlannedTrainer& planned) {
  int64_t bytes = 0;
  for (const Residual& residual : planned.reports[0].residuals) {
    bytes += residual.bytes;
  }
  return bytes;
}

// T = 4 bytes x 256 rows x 64 columns = 65,536. Without regions a layer keeps
// its input and its relu's output: 128 T with the last layer's output. With
// regions 8 T, their outputs. The loss keeps the same in both, less than T.
TEST(DeepMlpTest, RegionsKeepASixteenthOfTheResiduals) {
  constexpr int64_t kT = 65536;
  const int64_t without = ResidualBytes(Planned(WithoutRegions(ReadModel())));
  const int64_t with = ResidualBytes(Planned(ReadModel()));
  EXPECT_EQ((without - with), 120 * kT);
  EXPECT_LE(with, 9 * kT);
  EXPECT_LE(4 * with, without);
}

// The arena follows: 128 T become the 8 T kept and what one region replays.
TEST(DeepMlpTest, RegionsShrinkTheArenaByMoreThanHalf) {
  const int64_t without = Planned(WithoutRegions(ReadModel())).plan.arena_bytes;
  const int64_t with = Planned(ReadModel()).plan.arena_bytes;
  EXPECT_LT(2 * with, without);
}

// Without its last sum, which nothing in its backward reads, a region replays
// eight layers: 8 Gemm, 7 sums, and the relus where they are no part of a Gemm.
TEST(DeepMlpTest, ARegionReplaysWhatItsBackwardReads) {
  const PlannedTrainer planned = Planned(ReadModel());
  ASSERT_EQ(planned.reports[0].regions.size(), 8u);
  for (const RegionReport& region : planned.reports[0].regions) {
    int adds = 0;
    int gemms = 0;
    for (const auto& [op, times] : region.replayed) {
      if (op == "Add") adds = times;
      if (op == "Gemm") gemms = times;
    }
    EXPECT_EQ(adds, 7) << region.name;
    EXPECT_EQ(gemms, 8) << region.name;
  }
}

}  // namespace
}  // namespace reprise
