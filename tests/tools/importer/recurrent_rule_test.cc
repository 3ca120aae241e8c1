// Recurrent layers as exporters write them: with initial states of zeros.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/tools/importer/onnx_builder.h"

namespace reprise {
namespace {

std::vector<float> Weights(int64_t n) {
  std::vector<float> weights(n);
  for (int64_t i = 0; i < n; ++i) weights[i] = 0.01f * static_cast<float>(i);
  return weights;
}

// y = LSTM(x) of x [3 steps, batch, 2], hidden size 2, with the operands given
// behind the weights: lengths, initial_h, initial_c.
OnnxBuilder Lstm(const std::string& batch,
                 const std::vector<std::string>& behind) {
  OnnxBuilder builder(17);
  builder.Input("x", {"3", batch, "2"})
      .Floats("w", {1, 8, 2}, Weights(16))
      .Floats("r", {1, 8, 2}, Weights(16))
      .Output("y");
  std::vector<std::string> in = {"x", "w", "r", ""};
  in.insert(in.end(), behind.begin(), behind.end());
  OnnxBuilder::Int(builder.Node("LSTM", in, {"y"}), "hidden_size", 2);
  return builder;
}

const proto::Node* FindLstm(const ImportedModel& imported) {
  for (const proto::Node& node : imported.graph.node()) {
    if (node.op() == "LSTM") return &node;
  }
  return nullptr;
}

// Adds `name` = [1, rows of x, 2] for an Expand or a ConstantOfShape.
void AddStateShape(OnnxBuilder& builder, const std::string& name) {
  builder.Ints("one", {1}, {1}).Ints("two", {1}, {2});
  builder.Node("Shape", {"x"}, {"dims"});
  builder.Node("Gather", {"dims", "one"}, {"rows"});
  OnnxBuilder::Int(builder.Node("Concat", {"one", "rows", "two"}, {name}),
                   "axis", 0);
}

void ExpectNoState(OnnxBuilder& builder) {
  const absl::StatusOr<ImportedModel> imported = builder.Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  const proto::Node* const lstm = FindLstm(*imported);
  ASSERT_NE(lstm, nullptr);
  EXPECT_EQ(lstm->input_size(), 3);
  EXPECT_EQ(imported->graph.parameter_size(), 2);  // w and r
  ASSERT_EQ(imported->graph.symbol_size(), 1);
  EXPECT_EQ(imported->graph.symbol(0).name(), "n");
}

TEST(RecurrentRuleTest, AnExpandedZeroIsNoStateAndLeavesTheBatchASymbol) {
  OnnxBuilder builder = Lstm("n", {"", "zeros", "zeros"});
  AddStateShape(builder, "shape");
  builder.Floats("zero", {}, {0});
  builder.Node("Expand", {"zero", "shape"}, {"zeros"});
  ExpectNoState(builder);
}

TEST(RecurrentRuleTest, SlicesOfAFillAreNoState) {
  OnnxBuilder builder = Lstm("n", {"", "first", "first"});
  AddStateShape(builder, "shape");
  builder.Node("ConstantOfShape", {"shape"}, {"zeros"});
  builder.Ints("from", {1}, {0}).Ints("to", {1}, {1});
  builder.Node("Slice", {"zeros", "from", "to", "from"}, {"first"});
  ExpectNoState(builder);
}

// A projected LSTM, whose projection an exporter lost.
TEST(RecurrentRuleTest, ZerosOfAnotherShapeAreNoStateOfThis) {
  OnnxBuilder builder = Lstm("2", {"", "h", "c"});
  builder.Floats("h", {1, 2, 2}, {0, 0, 0, 0})
      .Floats("c", {1, 2, 3}, {0, 0, 0, 0, 0, 0});
  EXPECT_TRUE(
      absl::StrContains(builder.Import().status().message(),
                        "initial_c must be f32[1,2,2], got f32[1,2,3]"));
}

TEST(RecurrentRuleTest, AStateThatIsNotZeroStays) {
  OnnxBuilder builder = Lstm("2", {"", "h", "c"});
  builder.Floats("h", {1, 2, 2}, {0, 0, 0, 0.5f})
      .Floats("c", {1, 2, 2}, {0, 0, 0, 0});
  const absl::StatusOr<ImportedModel> imported = builder.Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  const proto::Node* const lstm = FindLstm(*imported);
  ASSERT_NE(lstm, nullptr);
  ASSERT_EQ(lstm->input_size(), 6);
  EXPECT_EQ(lstm->input(5), "h");
}

TEST(RecurrentRuleTest, AStateOfZerosThatIsToBeTrainedStays) {
  OnnxBuilder builder = Lstm("2", {"", "h"});
  builder.Floats("h", {1, 2, 2}, {0, 0, 0, 0});
  ImportOptions options;
  options.trainable = {"h"};
  const absl::StatusOr<ImportedModel> imported = builder.Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->graph.parameter_size(), 3);
}

TEST(RecurrentRuleTest, LengthsThatAreAllOfXAreLeftOut) {
  for (const int32_t length : {3, 2}) {
    OnnxBuilder builder = Lstm("2", {"lengths"});
    onnx::TensorProto& lengths = *builder.graph().add_initializer();
    lengths.set_name("lengths");
    lengths.set_data_type(onnx::TensorProto::INT32);
    lengths.add_dims(2);
    lengths.add_int32_data(3);
    lengths.add_int32_data(length);
    const absl::StatusOr<ImportedModel> imported = builder.Import();
    EXPECT_EQ(imported.ok(), length == 3) << imported.status();
  }
}

// An attribute of another kind is an error, not a crash.
TEST(RecurrentRuleTest, ALayoutThatIsNoIntegerIsRefused) {
  OnnxBuilder builder = Lstm("2", {"lengths"});
  builder.Ints("lengths", {2}, {3, 3});
  OnnxBuilder::Float(*builder.graph().mutable_node(0), "layout", 1.0f);
  EXPECT_FALSE(builder.Import().ok());
}

}  // namespace
}  // namespace reprise
