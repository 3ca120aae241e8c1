// What a model says about its batches, and how steps, epochs and partial
// batches are counted.

#include "tools/training/training.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "reprise.h"
#include "tools/training/batches.h"

namespace reprise {
namespace {

// A model as loaded; graphs point into the operator table.
struct Loaded {
  std::unique_ptr<OpTable> ops = MakeOpTable();
  proto::Graph proto;
  Graph graph;
};

Loaded Load(const std::string& path) {
  Loaded loaded;
  loaded.proto = *ReadGraphFile(path);
  absl::StatusOr<Graph> graph =
      LoadGraph(loaded.proto, *loaded.ops, /*bindings=*/{}, path);
  EXPECT_TRUE(graph.ok()) << graph.status();
  loaded.graph = *std::move(graph);
  return loaded;
}

BatchShape ShapeOf(const Loaded& loaded) {
  absl::StatusOr<BatchShape> shape = BatchShapeOf(loaded.proto, loaded.graph);
  EXPECT_TRUE(shape.ok()) << shape.status();
  return *std::move(shape);
}

TEST(BatchShapeTest, FindsBatchLabelsAndClasses) {
  const Loaded loaded = Load("examples/digits_mlp.textproto");
  const BatchShape shape = ShapeOf(loaded);
  EXPECT_EQ(shape.batch, 32);
  EXPECT_EQ(shape.symbol, "batch");
  ASSERT_EQ(shape.inputs.size(), 2u);
  EXPECT_FALSE(shape.inputs[0].is_label);
  EXPECT_TRUE(shape.inputs[1].is_label);
  EXPECT_EQ(shape.inputs[1].low, 0);
  EXPECT_EQ(shape.inputs[1].high, 10);
  EXPECT_EQ(shape.scores.output, 0);
  EXPECT_EQ(shape.scores.input, 1);
}

// Targets reach the loss through a Reshape; tokens reach a table of 256 rows.
TEST(BatchShapeTest, SeesThroughViewsAndLookups) {
  const Loaded loaded = Load("examples/char_transformer.textproto");
  const BatchShape shape = ShapeOf(loaded);
  EXPECT_FALSE(shape.inputs[0].is_label);
  EXPECT_EQ(shape.inputs[0].low, -256);
  EXPECT_EQ(shape.inputs[0].high, 256);
  EXPECT_TRUE(shape.inputs[1].is_label);
  EXPECT_EQ(shape.scores.input, 1);
}

TEST(BatchShapeTest, AModelWithoutScoresHasNoAccuracy) {
  const Loaded loaded = Load("examples/lesson.textproto");
  EXPECT_EQ(ShapeOf(loaded).scores.output, -1);
}

TEST(BatchesTest, PartialOnesCountWhereTheBatchIsASymbol) {
  BatchShape shape;
  shape.batch = 10;
  EXPECT_EQ(shape.NumBatches(25), 2);
  shape.symbol = "batch";
  EXPECT_EQ(shape.NumBatches(25), 3);
  EXPECT_EQ(shape.NumBatches(20), 2);
}

TEST(BatchesTest, EachSizeOfPartialBatchesIsBoundOnce) {
  BatchShape shape;
  shape.batch = 10;
  EXPECT_TRUE(PartialBatchBindings(shape, {25, 13}).empty());
  shape.symbol = "rows";
  const std::vector<Bindings> bindings =
      PartialBatchBindings(shape, {25, 13, 35, 20});
  ASSERT_EQ(bindings.size(), 2u);  // 3 and 5
  EXPECT_EQ(bindings[0].at("rows"), 3);
  EXPECT_EQ(bindings[1].at("rows"), 5);
}

// 25 rows are 3 batches of 10; 4 epochs 12 micro-steps; of 5 a step: 2 steps.
TEST(StepsTest, EpochsEndWithWholeSteps) {
  BatchShape shape;
  shape.batch = 10;
  shape.symbol = "batch";
  EXPECT_EQ(StepsInEpochs(shape, 25, 4, /*accumulate_steps=*/1), 12);
  EXPECT_EQ(StepsInEpochs(shape, 25, 4, /*accumulate_steps=*/5), 2);
}

TEST(StepsTest, ReportsAreAnEpochApartOrATwentiethOfTheRun) {
  EXPECT_EQ(ReportSteps(/*total_steps=*/2814, /*epoch_steps=*/938), 938);
  EXPECT_EQ(ReportSteps(/*total_steps=*/2000, /*epoch_steps=*/15), 100);
  EXPECT_EQ(ReportSteps(/*total_steps=*/3, /*epoch_steps=*/0), 1);
}

}  // namespace
}  // namespace reprise
