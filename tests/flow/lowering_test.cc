// Lowering with the real operators: layouts and their reorders, fusion, views,
// shared signatures.

#include "core/lowering.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/graph_builder.h"
#include "core/machine.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tests/testing/plan_oracle.h"

namespace reprise {
namespace {

class LoweringTest : public ::testing::Test {
 protected:
  // Lowers the training step of a graph.
  LoweredGraph LowerTraining(const proto::Graph& graph, bool fusion = true) {
    absl::StatusOr<Graph> model = LoadGraph(graph, *ops_, {}, "test");
    EXPECT_TRUE(model.ok()) << model.status();
    StepOptions options;
    options.config = ConfigOf("sgd", 0.1f);
    absl::StatusOr<StepGraph> step = BuildStepGraph(*model, *ops_, options);
    EXPECT_TRUE(step.ok()) << step.status();
    step_ = *std::move(step);
    LoweringOptions lowering;
    lowering.fusion = fusion;
    lowering.machine = DefaultMachine();
    absl::StatusOr<LoweredGraph> lowered = Lower(step_, *ops_, lowering);
    EXPECT_TRUE(lowered.ok()) << lowered.status();
    return *std::move(lowered);
  }

  static int Count(const LoweredGraph& lowered, const std::string& op) {
    return static_cast<int>(std::count_if(
        lowered.nodes.begin(), lowered.nodes.end(),
        [&](const LoweredNode& node) {
          return lowered.signatures[node.signature].signature.op->name == op;
        }));
  }

  std::unique_ptr<OpTable> ops_ = MakeOpTable();
  StepGraph step_;
};

proto::Graph TwoLayers() {
  GraphBuilder b("two");
  const auto x = b.Input("x", DType::kF32, {8, 16});
  const auto w1 = b.Parameter("w1", {16, 32});
  const auto w2 = b.Parameter("w2", {32, 4});
  const auto h =
      b.Add("Relu", {b.Add("MatMul", {x, w1}, {}, "product")}, {}, "h");
  const auto y = b.Add("MatMul", {h, w2}, {}, "y");
  b.Loss(
      b.Add("ReduceMean", {b.Add("Square", {y})}, {{"keepdims", 0}}, "loss"));
  return b.graph();
}

TEST_F(LoweringTest, ReluJoinsTheMatMulWhoseResultNobodyElseReads) {
  const LoweredGraph fused = LowerTraining(TwoLayers());
  EXPECT_EQ(Count(fused, "Relu"), 0);
  const auto node =
      std::find_if(fused.nodes.begin(), fused.nodes.end(),
                   [](const LoweredNode& n) { return n.logical.size() == 2; });
  ASSERT_NE(node, fused.nodes.end());
  const LoweredValue& value = fused.values[node->out[0]];
  EXPECT_EQ(step_.graph.values[value.logical[0]].name, "h");
  EXPECT_EQ(step_.graph.values[value.swallowed[0]].name, "product");

  const LoweredGraph plain = LowerTraining(TwoLayers(), /*fusion=*/false);
  EXPECT_EQ(Count(plain, "Relu"), 1);
  EXPECT_EQ(plain.nodes.size(), fused.nodes.size() + 1);
}

TEST_F(LoweringTest, MustSaveOnASwallowedValueLeavesThatFusionOut) {
  proto::Graph graph = TwoLayers();
  proto::ValueAnnotation& annotation = *graph.add_annotation();
  annotation.set_value("product");
  annotation.set_keep(proto::ValueAnnotation::MUST_SAVE);
  EXPECT_EQ(Count(LowerTraining(graph), "Relu"), 1);
}

TEST_F(LoweringTest, ReluStaysApartWhereTheProductIsReadTwiceOrIsAnOutput) {
  proto::Graph output = TwoLayers();
  output.add_output("product");
  EXPECT_EQ(Count(LowerTraining(output), "Relu"), 1);
}

// Fusing is no license to change bits: the issue asks it of must_save.
TEST_F(LoweringTest, FusedAndUnfusedTrainingAgreeBitForBit) {
  std::vector<std::vector<float>> weights;
  for (const bool fusion : {true, false}) {
    TrainerOptions options;
    options.threads = 1;
    options.fusion = fusion;
    absl::StatusOr<std::unique_ptr<Trainer>> trainer =
        MakeTrainer(TwoLayers(), ConfigOf("sgd", 0.1f), options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    for (int step = 0; step < 3; ++step) {
      FillInputs((*trainer)->next(), step, 1);
      ASSERT_TRUE((*trainer)->Step().ok());
    }
    const absl::Span<const float> w = *(*trainer)->Persistent("w1");
    weights.emplace_back(w.begin(), w.end());
  }
  EXPECT_EQ(weights[0], weights[1]);
}

proto::Graph ConvNet() {
  GraphBuilder b("conv");
  GraphBuilder::Value x = b.Input("x", DType::kF32, {2, 16, 8, 8});
  for (int i = 0; i < 3; ++i) {
    const auto w = b.Parameter("w" + std::to_string(i), {16, 16, 3, 3});
    x = b.Add("Relu", {b.Add("Conv", {x, w}, {{"pads", Ints{1, 1, 1, 1}}})});
  }
  b.Loss(b.Add("ReduceMean", {b.Add("Square", {x})}, {{"keepdims", 0}}));
  return b.graph();
}

TEST_F(LoweringTest, ActivationsStayChannelsLastBetweenConvolutions) {
  const LoweredGraph lowered = LowerTraining(ConvNet());
  // In the forward pass one reorder brings x into channels-last; every other
  // one is of a weight.
  int activations = 0;
  for (const LoweredNode& node : lowered.nodes) {
    if (!node.is_reorder || node.role != Role::kForward) continue;
    const Signature& signature = lowered.signatures[node.signature].signature;
    activations += signature.in[0].dims[0] == 2;
  }
  EXPECT_EQ(activations, 1);
}

TEST_F(LoweringTest, ReordersAreNodesWithBytesAndCopiesAreMadeOnce) {
  const LoweredGraph lowered = LowerTraining(ConvNet());
  EXPECT_GT(Count(lowered, "Reorder"), 0);
  std::vector<std::pair<LoweredValueId, std::string>> seen;
  for (const LoweredNode& node : lowered.nodes) {
    if (!node.is_reorder) continue;
    const LoweredValue& copy = lowered.values[node.out[0]];
    EXPECT_GT(copy.bytes, 0);
    EXPECT_EQ(lowered.values[copy.copy_of].copy_of, copy.copy_of);
    const auto key = std::make_pair(copy.copy_of, copy.layout.format);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), key), 0)
        << node.name << " is made twice";
    seen.push_back(key);
  }
}

TEST_F(LoweringTest, EqualLayersShareOneSignature) {
  GraphBuilder b("deep");
  GraphBuilder::Value x = b.Input("x", DType::kF32, {4, 8});
  for (int i = 0; i < 64; ++i) {
    const auto w = b.Parameter("w" + std::to_string(i), {8, 8});
    x = b.Add("Tanh", {b.Add("MatMul", {x, w})});
  }
  b.Loss(b.Add("ReduceMean", {b.Add("Square", {x})}, {{"keepdims", 0}}));
  const LoweredGraph lowered = LowerTraining(b.graph());
  EXPECT_GT(lowered.nodes.size(), 64u * 5u);
  EXPECT_LT(lowered.signatures.size(), 20u);
}

TEST_F(LoweringTest, ViewsAreNoNodesAndShareTheValueTheyView) {
  GraphBuilder b("views");
  const auto x = b.Input("x", DType::kF32, {4, 6});
  const auto w = b.Parameter("w", {12, 2});
  const auto flat = b.Add("Reshape", {x}, {{"shape", Ints{2, 12}}}, "flat");
  const auto same = b.Add("Identity", {flat}, {}, "same");
  const auto y = b.Add("MatMul", {same, w});
  b.Loss(b.Add("ReduceMean", {b.Add("Square", {y})}, {{"keepdims", 0}}));
  const LoweredGraph lowered = LowerTraining(b.graph());
  EXPECT_EQ(Count(lowered, "Reshape"), 0);
  EXPECT_EQ(Count(lowered, "Identity"), 0);
  const LoweredValue& input = lowered.values[lowered.inputs[0]];
  ASSERT_EQ(input.logical.size(), 3u);
  EXPECT_EQ(step_.graph.values[input.logical[2]].name, "same");
}

TEST_F(LoweringTest, DeadNodesAndEmptyValuesRunNoKernel) {
  GraphBuilder b("dead");
  const auto x = b.Input("x", DType::kF32, {4, 6});
  const auto empty = b.Input("empty", DType::kF32, {0, 6});
  const auto w = b.Parameter("w", {6, 2});
  b.Add("Exp", {x});  // nobody reads it
  b.Output(b.Add("Relu", {empty}, {}, "still_empty"));
  b.Loss(b.Add("ReduceMean", {b.Add("Square", {b.Add("MatMul", {x, w})})},
               {{"keepdims", 0}}));
  const LoweredGraph lowered = LowerTraining(b.graph());
  EXPECT_EQ(Count(lowered, "Exp"), 0);
  EXPECT_EQ(Count(lowered, "Relu"), 0);
}

TEST_F(LoweringTest, RegionsAndPoliciesAreNotSeen) {
  proto::Graph annotated = ConvNet();
  annotated.add_region()->set_name("all");
  for (proto::Node& node : *annotated.mutable_node()) node.set_region("all");
  const LoweredGraph bare = LowerTraining(ConvNet());
  const LoweredGraph with = LowerTraining(annotated);
  ASSERT_EQ(bare.nodes.size(), with.nodes.size());
  for (size_t n = 0; n < bare.nodes.size(); ++n) {
    EXPECT_EQ(bare.nodes[n].in, with.nodes[n].in);
    EXPECT_EQ(bare.nodes[n].out, with.nodes[n].out);
    EXPECT_EQ(bare.nodes[n].signature, with.nodes[n].signature);
  }
}

}  // namespace
}  // namespace reprise
