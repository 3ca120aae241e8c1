// A loss behind an imported model's output, and a new last layer.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/tools/importer/two_layers.h"

namespace reprise {
namespace {

const proto::Parameter* FindParameter(const proto::Graph& graph,
                                      const std::string& name) {
  for (const proto::Parameter& parameter : graph.parameter()) {
    if (parameter.name() == name) return &parameter;
  }
  return nullptr;
}

bool IsTrained(const proto::Parameter& parameter) {
  if (parameter.has_trainable()) return parameter.trainable();
  return parameter.type().dtype() == proto::FLOAT32;
}

TEST(FineTuneTest, ACrossEntropyReadsWhatGoesIntoTheLastSoftmax) {
  OnnxBuilder builder = TwoLayers();
  ImportOptions options;
  options.loss = "softmax_cross_entropy";
  const absl::StatusOr<ImportedModel> imported = builder.Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  const proto::Graph& graph = imported->graph;
  const proto::Node& loss = graph.node(graph.node_size() - 1);
  EXPECT_EQ(loss.op(), "SoftmaxCrossEntropyLoss");
  EXPECT_EQ(loss.input(0), "s");
  EXPECT_EQ(graph.loss(0).value(), loss.output(0));
  EXPECT_EQ(graph.input(1).name(), "label");
  EXPECT_EQ(graph.input(1).type().dim(0).symbol(), "n");
}

// A language model: classes along the last axis.
TEST(FineTuneTest, ACrossEntropyFollowsTheAxisOfTheLastSoftmax) {
  OnnxBuilder builder;
  builder.Input("x", {"n", "t", "5"}).Output("y");
  OnnxBuilder::Int(builder.Node("Softmax", {"x"}, {"y"}), "axis", -1);
  ImportOptions options;
  options.loss = "softmax_cross_entropy";
  const absl::StatusOr<ImportedModel> imported = builder.Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  const proto::Graph& graph = imported->graph;
  EXPECT_EQ(Ops(graph), (std::vector<std::string>{"Softmax", "Transpose",
                                                  "SoftmaxCrossEntropyLoss"}));
  const proto::TensorType& label = graph.input(1).type();
  ASSERT_EQ(label.dim_size(), 2);
  EXPECT_EQ(label.dim(0).symbol(), "n");
  EXPECT_EQ(label.dim(1).symbol(), "t");
  const std::unique_ptr<OpTable> ops = MakeOpTable();
  const absl::StatusOr<Graph> loaded =
      LoadGraph(graph, *ops, {{"n", 3}, {"t", 7}}, "m");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
}

// As segmentation heads end: rows, places, classes become rows, classes,
// places.
TEST(FineTuneTest,
     ACrossEntropyFollowsTheAxisOfTheLastSoftmaxThroughATranspose) {
  OnnxBuilder builder;
  builder.Input("x", {"2", "3", "5"}).Output("y");
  OnnxBuilder::Int(builder.Node("Softmax", {"x"}, {"p"}), "axis", 2);
  OnnxBuilder::IntList(builder.Node("Transpose", {"p"}, {"y"}), "perm",
                       {0, 2, 1});
  ImportOptions options;
  options.loss = "softmax_cross_entropy";
  const absl::StatusOr<ImportedModel> imported = builder.Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  const proto::Graph& graph = imported->graph;
  const proto::Node& loss = graph.node(graph.node_size() - 1);
  ASSERT_EQ(loss.op(), "SoftmaxCrossEntropyLoss");
  const proto::Node& transpose = graph.node(graph.node_size() - 2);
  ASSERT_EQ(transpose.output(0), loss.input(0));
  EXPECT_EQ(transpose.input(0), "x");
  EXPECT_EQ(graph.input(1).type().dim(1).value(), 3);
}

// No class is along the axis of these: one of rows, and one that the Reshape
// puts together with another.
TEST(FineTuneTest, ASoftmaxThatACrossEntropyCannotFollowIsNoted) {
  for (const int64_t axis : {0, 2}) {
    OnnxBuilder builder;
    builder.Input("x", {"2", "3", "5"}).Output("y").Ints("s", {2}, {2, 15});
    OnnxBuilder::Int(builder.Node("Softmax", {"x"}, {"p"}), "axis", axis);
    builder.Node("Reshape", {"p", "s"}, {"y"});
    ImportOptions options;
    options.loss = "softmax_cross_entropy";
    const absl::StatusOr<ImportedModel> imported = builder.Import(options);
    ASSERT_TRUE(imported.ok()) << imported.status();
    const proto::Graph& graph = imported->graph;
    EXPECT_EQ(graph.node(graph.node_size() - 1).input(0), "y");
    ASSERT_EQ(imported->notes.size(), 1) << axis;
    EXPECT_EQ(imported->notes[0],
              absl::StrCat("the loss has a softmax of its own, along axis 1 of "
                           "output 'y': the model's last Softmax, along axis ",
                           axis, " of f32[2,3,5], stays ahead of it"));
  }
}

TEST(FineTuneTest, ALossIsOfFloatsAndOfMoreThanOne) {
  ImportOptions options;
  options.loss = "mse";
  OnnxBuilder scalar;
  scalar.Input("x", {"2"}).Output("y");
  OnnxBuilder::Int(scalar.Node("ReduceSum", {"x"}, {"y"}), "keepdims", 0);
  EXPECT_TRUE(absl::StrContains(
      scalar.Import(options).status().message(),
      "loss: output 'y' must be FLOAT and no scalar, got f32[]"));
}

TEST(FineTuneTest, AHeadThatNoMemoryHoldsIsRefused) {
  OnnxBuilder builder = TwoLayers();
  ImportOptions options;
  options.head = 2'000'000'000;
  EXPECT_TRUE(
      absl::StrContains(builder.Import(options).status().message(),
                        "head: new weights have at most 4294967296 bytes"));
}

TEST(FineTuneTest, AMeanSquaredErrorWantsATargetLikeTheOutput) {
  OnnxBuilder builder = TwoLayers("6");
  ImportOptions options;
  options.loss = "mse";
  const absl::StatusOr<ImportedModel> imported = builder.Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->graph.input(1).type().dim_size(), 2);
}

TEST(FineTuneTest, ANewHeadReplacesTheLastDenseLayer) {
  OnnxBuilder builder = TwoLayers("6");
  ImportOptions options;
  options.head = 2;
  options.freeze = {"*"};
  const absl::StatusOr<ImportedModel> imported = builder.Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  const proto::Parameter& w2 = *FindParameter(imported->graph, "w2");
  EXPECT_EQ(w2.type().dim(0).value(), 3);
  EXPECT_EQ(w2.type().dim(1).value(), 2);
  EXPECT_TRUE(IsTrained(w2));
  EXPECT_EQ(FindParameter(imported->graph, "b2")->type().dim(0).value(), 2);
  EXPECT_FALSE(IsTrained(*FindParameter(imported->graph, "w1")));
  for (const NamedArray& weight : imported->weights) {
    if (weight.name == "w2") {
      EXPECT_NE(ElementAsDouble(weight.array, 0), 0.25);
    } else if (weight.name == "w1") {
      EXPECT_EQ(ElementAsDouble(weight.array, 0), 0.5);
    }
  }
}

TEST(FineTuneTest, AModelWithoutADenseLayerHasNoHead) {
  OnnxBuilder builder;
  builder.Input("x", {"2"}).Output("y");
  builder.Node("Relu", {"x"}, {"y"});
  ImportOptions options;
  options.head = 2;
  EXPECT_FALSE(builder.Import(options).ok());
}
}  // namespace
}  // namespace reprise
