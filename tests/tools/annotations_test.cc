// Plans written back as annotations: the graph asks for what the planner did,
// and computes the same bits.

#include "tools/commands/annotations.h"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/tools/command_line.h"
#include "tests/tools/examples.h"
#include "tools/commands/report.h"

namespace reprise {
namespace {

TrainerOptions Small(int64_t batch) {
  TrainerOptions options;
  options.threads = 1;
  options.evaluate = false;
  options.symbols["batch"] = batch;
  // Any search will do here.
  options.plan.work_limit = 20'000;
  return options;
}

PlannedTrainer PlanOf(const proto::Graph& graph,
                      const TrainerOptions& options) {
  absl::StatusOr<PlannedTrainer> planned = PlanTrainer(graph, Adam(), options);
  EXPECT_TRUE(planned.ok()) << planned.status();
  return *std::move(planned);
}

// A budget part of the way from the smallest arena to that without a budget.
int64_t BudgetAt(const proto::Graph& graph, const TrainerOptions& options,
                 double part) {
  const PlannedTrainer free = PlanOf(graph, options);
  const int64_t least = free.smallest_arena_bytes();
  return least + static_cast<int64_t>(
                     part * static_cast<double>(free.plan.arena_bytes - least));
}

// Writes something into every input: counts, small enough for any table.
void FillInputs(Pass& pass) {
  const Graph& model = pass.planned().model;
  for (const ValueId v : model.inputs) {
    const Value& value = model.values[v];
    if (value.type.dtype == DType::kF32) {
      const absl::Span<float> elements = *pass.Input<float>(value.name);
      float x = 0;
      for (float& element : elements) {
        x = x > 1 ? x - 1.9f : x + 0.37f;
        element = x;
      }
    } else {
      ASSERT_EQ(value.type.dtype, DType::kI64) << value.name;
      const absl::Span<int64_t> elements = *pass.Input<int64_t>(value.name);
      int64_t k = 0;
      for (int64_t& element : elements) {
        element = k++ % 7;
      }
    }
  }
}

// The losses of some steps, which depend on all weights.
std::vector<float> Losses(const proto::Graph& graph,
                          const TrainerOptions& options) {
  std::vector<float> losses;
  absl::StatusOr<std::unique_ptr<Trainer>> trainer =
      MakeTrainer(graph, Adam(), options);
  EXPECT_TRUE(trainer.ok()) << trainer.status();
  if (!trainer.ok()) return losses;
  for (int step = 0; step < 3; ++step) {
    Pass& pass = (*trainer)->next();
    FillInputs(pass);
    const absl::Status status = (*trainer)->Step();
    EXPECT_TRUE(status.ok()) << status;
    losses.push_back(pass.loss());
  }
  return losses;
}

struct Case {
  const char* name;
  int64_t batch;
  double part;
};

class EmittedTest : public ::testing::TestWithParam<Case> {};

// The graph asks for the plan. It differs from it only in when a replay runs:
// annotated ones run as late as their first reader allows, the planner's own
// anywhere.
TEST_P(EmittedTest, AsksForThePlanAndComputesItsBits) {
  const proto::Graph graph = WithoutAnnotations(Read(GetParam().name));
  TrainerOptions options = Small(GetParam().batch);
  const TrainerOptions free = options;
  options.plan.budget_bytes = BudgetAt(graph, options, GetParam().part);
  const PlannedTrainer planned = PlanOf(graph, options);
  ASSERT_GT(planned.reports.front().recomputed_steps, 0);
  const absl::StatusOr<EmittedAnnotations> emitted =
      EmitAnnotations(graph, Adam(), options, planned.plan);
  ASSERT_TRUE(emitted.ok()) << emitted.status();
  const AnnotatedGraph& annotated = emitted->annotated;
  EXPECT_EQ(annotated.graph.region_size(), annotated.regions);
  EXPECT_EQ(annotated.graph.annotation_size(),
            annotated.must_save + annotated.must_recompute);
  EXPECT_GT(annotated.regions + annotated.must_recompute, 0);

  const PlannedTrainer again = PlanOf(annotated.graph, free);
  EXPECT_EQ(again.plan.arena_bytes, emitted->arena_bytes);
  const int64_t unplanned = PlanOf(graph, free).plan.arena_bytes;
  EXPECT_LT(emitted->arena_bytes, unplanned);
  const double excess =
      static_cast<double>(emitted->arena_bytes - planned.plan.arena_bytes) /
      static_cast<double>(unplanned - planned.plan.arena_bytes);
  RecordProperty("excess_percent", absl::StrCat(100 * excess));
  if (annotated.steps_left_out == 0) {
    // Copies in other layouts belong to no region: the orders of the two plans
    // may redo another number of them.
    const int steps = planned.reports.front().recomputed_steps;
    EXPECT_NEAR(again.reports.front().recomputed_steps, steps, 0.05 * steps);
    EXPECT_LE(excess, 0.02) << planned.plan.arena_bytes;
  } else {
    // What is left out is kept, or made once for several readers.
    EXPECT_LE(excess, 0.25) << planned.plan.arena_bytes;
  }
  for (const std::string& note : again.reports.front().notes) {
    EXPECT_FALSE(absl::StrContains(note, "changes nothing")) << note;
  }

  const std::vector<float> losses = Losses(graph, free);
  const std::vector<float> same = Losses(annotated.graph, free);
  ASSERT_EQ(losses.size(), same.size());
  EXPECT_EQ(
      std::memcmp(losses.data(), same.data(), losses.size() * sizeof(float)),
      0);
}

INSTANTIATE_TEST_SUITE_P(Examples, EmittedTest,
                         ::testing::Values(Case{"char_transformer", 4, 0.75},
                                           Case{"char_transformer", 4, 0.3},
                                           Case{"deep_mlp", 64, 0.75},
                                           Case{"deep_mlp", 64, 0.3}));

// Names of nodes are optional: what is repeated is found all the same.
TEST(AnnotationsTest, NodesMayHaveNoNames) {
  const proto::Graph named = WithoutAnnotations(Read("deep_mlp"));
  proto::Graph graph = named;
  for (proto::Node& node : *graph.mutable_node()) node.clear_name();
  TrainerOptions options = Small(64);
  options.plan.budget_bytes = BudgetAt(graph, options, 0.75);
  const PlannedTrainer planned = PlanOf(graph, options);
  ASSERT_GT(planned.reports.front().recomputed_steps, 0);
  const AnnotatedGraph annotated =
      Annotate(graph, *planned.plan.passes.front(), AnnotationStyle::kRegions);
  EXPECT_GT(annotated.regions + annotated.must_recompute, 0);
}

TEST(AnnotationsTest, NothingIsAddedWhereNothingIsRecomputed) {
  const proto::Graph graph = WithoutAnnotations(Read("digits_mlp"));
  const PlannedTrainer planned = PlanOf(graph, Small(8));
  for (const AnnotationStyle style :
       {AnnotationStyle::kRegions, AnnotationStyle::kValues}) {
    const AnnotatedGraph annotated =
        Annotate(graph, *planned.plan.passes.front(), style);
    EXPECT_EQ(annotated.graph.SerializeAsString(), graph.SerializeAsString());
    EXPECT_EQ(annotated.steps_left_out, 0);
  }
}

// A convolutional net, in which a plan makes the output of the first Relu again
// between two gradients that read it: no annotation says that, and one around
// the first layer costs time for no bytes.
TEST(AnnotationsTest, NothingIsAddedThatSavesNothing) {
  const std::string file =
      absl::StrCat(::testing::TempDir(), "/small_cnn.textproto");
  std::ofstream(file) << R"(
    format_version: 1
    symbol { name: "batch" default_value: 16 }
    input { name: "x" type { dtype: FLOAT32 dim { symbol: "batch" } dim { value: 3 } dim { value: 16 } dim { value: 16 } } }
    input { name: "label" type { dtype: INT64 dim { symbol: "batch" } } }
    parameter { name: "w1" type { dtype: FLOAT32 dim { value: 8 } dim { value: 3 } dim { value: 3 } dim { value: 3 } } }
    parameter { name: "b1" type { dtype: FLOAT32 dim { value: 8 } } }
    parameter { name: "w2" type { dtype: FLOAT32 dim { value: 16 } dim { value: 8 } dim { value: 3 } dim { value: 3 } } }
    parameter { name: "w3" type { dtype: FLOAT32 dim { value: 16 } dim { value: 4 } } }
    node { op: "Conv" input: "x" input: "w1" input: "b1" output: "c1" attribute { name: "pads" ints { v: [1, 1, 1, 1] } } }
    node { op: "Relu" input: "c1" output: "r1" }
    node { op: "Conv" input: "r1" input: "w2" output: "c2" attribute { name: "pads" ints { v: [1, 1, 1, 1] } } attribute { name: "strides" ints { v: [2, 2] } } }
    node { op: "Gelu" input: "c2" output: "g2" }
    node { op: "GlobalAveragePool" input: "g2" output: "pooled" }
    node { op: "Flatten" input: "pooled" output: "features" }
    node { op: "MatMul" input: "features" input: "w3" output: "scores" }
    node { op: "SoftmaxCrossEntropyLoss" input: "scores" input: "label" output: "loss" }
    loss { value: "loss" }
  )";
  const absl::StatusOr<proto::Graph> read = ReadGraphFile(file);
  ASSERT_TRUE(read.ok()) << read.status();
  const proto::Graph& graph = *read;
  TrainerOptions options = Small(16);
  const int64_t unplanned = PlanOf(graph, options).plan.arena_bytes;
  for (const double part : {0.9, 0.5, 0.1}) {
    TrainerOptions limited = options;
    limited.plan.budget_bytes = BudgetAt(graph, options, part);
    const PlannedTrainer planned = PlanOf(graph, limited);
    const absl::StatusOr<EmittedAnnotations> emitted =
        EmitAnnotations(graph, Adam(), options, planned.plan);
    ASSERT_TRUE(emitted.ok()) << emitted.status();
    const AnnotatedGraph& annotated = emitted->annotated;
    if (annotated.regions + annotated.must_recompute > 0) {
      EXPECT_LT(emitted->arena_bytes, unplanned) << part;
    } else {
      EXPECT_EQ(annotated.steps_left_out, annotated.steps_repeated) << part;
      EXPECT_EQ(annotated.must_save, 0);
    }
  }
}

// The example's regions bind the planner; what it adds lies outside.
TEST(AnnotationsTest, OwnRegionsStay) {
  const proto::Graph graph = Read("char_transformer");
  TrainerOptions options = Small(4);
  options.plan.budget_bytes = BudgetAt(graph, options, 0.1);
  const PlannedTrainer planned = PlanOf(graph, options);
  const AnnotatedGraph annotated =
      Annotate(graph, *planned.plan.passes.front(), AnnotationStyle::kRegions);
  ASSERT_GE(annotated.graph.region_size(), graph.region_size());
  for (int i = 0; i < graph.region_size(); ++i) {
    EXPECT_EQ(annotated.graph.region(i).SerializeAsString(),
              graph.region(i).SerializeAsString());
  }
  for (int i = 0; i < graph.annotation_size(); ++i) {
    EXPECT_EQ(annotated.graph.annotation(i).SerializeAsString(),
              graph.annotation(i).SerializeAsString());
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    if (graph.node(i).region().empty()) continue;
    EXPECT_EQ(annotated.graph.node(i).region(), graph.node(i).region());
  }
}

// On the command line, as text and as binary; a note compares the plans.
TEST(AnnotationsTest, TheFileIsAModel) {
  for (const char* suffix : {"textproto", "pb"}) {
    const std::string file =
        absl::StrCat(::testing::TempDir(), "/emitted.", suffix);
    const CommandResult emit =
        RunReprise({"plan", "examples/lesson_two_layers.textproto",
                    "--threads=1", absl::StrCat("--emit-annotations=", file)});
    ASSERT_EQ(emit.code, 0) << emit.err;
    EXPECT_TRUE(
        absl::StrContains(emit.out, absl::StrCat("note: ", file,
                                                 ": 0 regions, 0 must_save and "
                                                 "0 must_recompute added")))
        << emit.out;
    EXPECT_EQ(RunReprise({"check", file}).code, 0);
  }
}

}  // namespace
}  // namespace reprise
