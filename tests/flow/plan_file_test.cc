// Plans on disk: what was written is what runs, and nothing in a file is
// believed unchecked.

#include "core/plan_file.h"

#include <memory>
#include <random>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/file.h"
#include "core/proto_file.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tests/testing/plan_oracle.h"

namespace reprise {
namespace {

class PlanFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<proto::Graph> graph =
        ReadGraphFile("examples/digits_mlp.textproto");
    ASSERT_TRUE(graph.ok()) << graph.status();
    graph_ = *std::move(graph);
    options_.threads = 1;
    options_.symbols = {{"batch", 4}};
    absl::StatusOr<PlannedTrainer> planned =
        PlanTrainer(graph_, config_, options_);
    ASSERT_TRUE(planned.ok()) << planned.status();
    planned_ = *std::move(planned);
    path_ = absl::StrCat(::testing::TempDir(), "/plan.pb");
    const absl::Status written = WritePlan(planned_.plan, path_);
    ASSERT_TRUE(written.ok()) << written;
  }

  absl::Status Read() const {
    return ReadPlan(path_, graph_, config_, options_).status();
  }

  // Writes what `change` makes of the good file, and reads that.
  template <typename Change>
  absl::Status ReadChanged(const Change& change) {
    proto::PlanSet file = ToProto(planned_.plan);
    change(file);
    EXPECT_TRUE(WriteProtoFile(file, path_).ok());
    return Read();
  }

  proto::Graph graph_;
  proto::TrainConfig config_ = ConfigOf("adam", 0.01f);
  TrainerOptions options_;
  PlannedTrainer planned_;
  std::string path_;
};

TEST_F(PlanFileTest, ReadsBackThePlanThatWasWritten) {
  const absl::StatusOr<PlannedTrainer> read =
      ReadPlan(path_, graph_, config_, options_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ToProto(read->plan).SerializeAsString(),
            ToProto(planned_.plan).SerializeAsString());
}

TEST_F(PlanFileTest, RefusesAnotherGraphBatchThreadCountOrVersion) {
  TrainerOptions other = options_;
  other.symbols = {{"batch", 5}};
  absl::Status status = ReadPlan(path_, graph_, config_, other).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  other = options_;
  other.threads = 2;
  status = ReadPlan(path_, graph_, config_, other).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "1 in the file, 2 here"))
      << status;
  proto::Graph bare = graph_;
  bare.clear_region();
  for (proto::Node& node : *bare.mutable_node()) node.clear_region();
  status = ReadPlan(path_, bare, config_, options_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  status = ReadChanged([](proto::PlanSet& f) { f.set_format_version(2); });
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
}

TEST_F(PlanFileTest, RefusesAnotherLibraryAndOptionsItWasNotMadeWith) {
  absl::Status status =
      ReadChanged([](proto::PlanSet& f) { f.set_library("oneDNN 0.1"); });
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "'oneDNN 0.1' in the file"))
      << status;
  status = ReadChanged([](proto::PlanSet& f) {
    f.mutable_options()->set_budget_bytes(1 << 20);
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
}

TEST_F(PlanFileTest, AnArenaAboveTheReadersBudgetIsRefused) {
  TrainerOptions tight = options_;
  tight.plan.budget_bytes = planned_.plan.arena_bytes - 1;
  const absl::Status status = ReadPlan(path_, graph_, config_, tight).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  tight.plan.budget_bytes = planned_.plan.arena_bytes;
  EXPECT_TRUE(ReadPlan(path_, graph_, config_, tight).ok());
}

TEST_F(PlanFileTest, RefusesOffsetsThatOverlapLeaveTheArenaOrAreUnaligned) {
  for (const int64_t offset : {int64_t{0}, int64_t{-64}, int64_t{1} << 40,
                               int64_t{1}, INT64_MAX - 63}) {
    const absl::Status status = ReadChanged([&](proto::PlanSet& f) {
      f.mutable_plan(0)->mutable_step(3)->mutable_out(0)->set_offset(offset);
    });
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal)
        << offset << ": " << status;
  }
}

TEST_F(PlanFileTest, RefusesMissingDoubledAndUnknownSteps) {
  absl::Status status = ReadChanged([](proto::PlanSet& f) {
    f.mutable_plan(0)->mutable_step()->RemoveLast();
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  status = ReadChanged([](proto::PlanSet& f) {
    *f.mutable_plan(0)->add_step() = f.plan(0).step(f.plan(0).step_size() - 1);
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  status = ReadChanged([](proto::PlanSet& f) {
    f.mutable_plan(0)->mutable_step(0)->set_node(1 << 30);
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
}

TEST_F(PlanFileTest, RefusesAnArenaLargerThanItsContent) {
  const absl::Status status = ReadChanged([](proto::PlanSet& f) {
    f.mutable_plan(0)->set_end_bytes(int64_t{1} << 50);
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
}

// Whatever bits are flipped: a Status, or a plan that the checker accepts.
TEST_F(PlanFileTest, SurvivesFlippedBytesAndEveryPrefix) {
  const std::string good = ToProto(planned_.plan).SerializeAsString();
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    std::string bad = good;
    if (i % 3 == 0) {
      bad.resize(random() % good.size());
    } else {
      bad[random() % bad.size()] ^= static_cast<char>(1 << (random() % 8));
    }
    const absl::string_view view = bad;
    ASSERT_TRUE(ReplaceFile(path_, {view}).ok());
    Read().IgnoreError();
  }
}

}  // namespace
}  // namespace reprise
