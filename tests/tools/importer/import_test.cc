// What a model becomes: names, parameters, constants, symbols and functions.

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
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

TEST(ImportTest, InitializersAreTrainedUnlessFrozen) {
  OnnxBuilder builder = TwoLayers();
  ImportOptions options;
  options.freeze = {"w*"};
  options.trainable = {"w2"};
  const absl::StatusOr<ImportedModel> imported = builder.Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_FALSE(IsTrained(*FindParameter(imported->graph, "w1")));
  EXPECT_TRUE(IsTrained(*FindParameter(imported->graph, "w2")));
  EXPECT_TRUE(IsTrained(*FindParameter(imported->graph, "b1")));
  EXPECT_EQ(imported->weights.size(), 4u);
}

TEST(ImportTest, StatisticsOfBatchNormalizationAreNotTrained) {
  OnnxBuilder builder;
  builder.Input("x", {"1", "2", "3", "3"})
      .Floats("scale", {2}, {1, 1})
      .Floats("bias", {2}, {0, 0})
      .Floats("mean", {2}, {0, 0})
      .Floats("var", {2}, {1, 1})
      .Output("y");
  builder.Node("BatchNormalization", {"x", "scale", "bias", "mean", "var"},
               {"y"});
  const absl::StatusOr<ImportedModel> imported = builder.Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_TRUE(IsTrained(*FindParameter(imported->graph, "scale")));
  EXPECT_FALSE(IsTrained(*FindParameter(imported->graph, "mean")));
  EXPECT_FALSE(IsTrained(*FindParameter(imported->graph, "var")));
}

TEST(ImportTest, NamesAreMappedInjectively) {
  OnnxBuilder builder;
  builder.Input("a b", {"2"}).Input("a_b", {"2"}).Input("__c", {"2"});
  builder.Input(std::string(300, 'd'), {"2"}).Output("y y");
  builder.Node("Add", {"a b", "a_b"}, {"a?b"});
  builder.Node("Add", {"a?b", "__c"}, {"e"});
  builder.Node("Add", {"e", std::string(300, 'd')}, {"y y"});
  const absl::StatusOr<ImportedModel> imported = builder.Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->inputs[1], "a_b");
  const std::set<std::string> inputs(imported->inputs.begin(),
                                     imported->inputs.end());
  EXPECT_EQ(inputs.size(), 4u);
  // Five of six names changed: that of a_b and e did not.
  EXPECT_EQ(imported->names.size(), 5u);
  EXPECT_EQ(imported->names.at(imported->inputs[0]), "a b");
  EXPECT_EQ(imported->names.at(imported->outputs[0]), "y y");
}

TEST(ImportTest, ShapeArithmeticIsFolded) {
  // y = reshape(x, [size(x) / 2, 2]), by seven nodes.
  OnnxBuilder builder;
  builder.Input("x", {"2", "3", "4"}).Ints("two", {1}, {2}).Output("y");
  builder.Node("Shape", {"x"}, {"s"});
  OnnxBuilder::Int(builder.Node("ReduceProd", {"s"}, {"p"}), "keepdims", 1);
  builder.Node("Div", {"p", "two"}, {"h"});
  OnnxBuilder::Int(builder.Node("Concat", {"h", "two"}, {"t"}), "axis", 0);
  builder.Node("Reshape", {"x", "t"}, {"y"});
  const absl::StatusOr<ImportedModel> imported = builder.Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_EQ(Ops(imported->graph), std::vector<std::string>{"Reshape"});
  const proto::Attribute& shape = imported->graph.node(0).attribute(0);
  EXPECT_EQ(shape.ints().v(0), 12);
  EXPECT_EQ(shape.ints().v(1), 2);
  EXPECT_EQ(imported->graph.parameter_size(), 0);
}

TEST(ImportTest, ANamedDimIsASymbol) {
  OnnxBuilder builder = TwoLayers("n");
  const absl::StatusOr<ImportedModel> imported = builder.Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_EQ(imported->graph.symbol_size(), 1);
  EXPECT_EQ(imported->graph.symbol(0).name(), "n");
  EXPECT_EQ(imported->graph.input(0).type().dim(0).symbol(), "n");
}

// Exporters write flatten(x) as reshape(x, [shape(x)[0], -1]).
OnnxBuilder Flattened(bool open) {
  OnnxBuilder builder;
  builder.Input("x", {"n", "3", "4"})
      .Ints("zero", {1}, {0})
      .Ints("rest", {1}, {open ? -1 : 12})
      .Output("y");
  builder.Node("Shape", {"x"}, {"s"});
  builder.Node("Gather", {"s", "zero"}, {"rows"});
  OnnxBuilder::Int(builder.Node("Concat", {"rows", "rest"}, {"t"}), "axis", 0);
  builder.Node("Reshape", {"x", "t"}, {"y"});
  return builder;
}

TEST(ImportTest, AShapeWithOneSymbolStaysOpen) {
  OnnxBuilder builder = Flattened(/*open=*/false);
  const absl::StatusOr<ImportedModel> imported = builder.Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_EQ(imported->graph.symbol_size(), 1);
  const std::unique_ptr<OpTable> ops = MakeOpTable();
  const absl::StatusOr<Graph> graph =
      LoadGraph(imported->graph, *ops, {{"n", 7}}, "m");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(ToString(graph->values[graph->outputs[0]].type), "f32[7,12]");
}

TEST(ImportTest, AShapeWithASymbolAndAnOpenDimTakesTheDimFromItsOperand) {
  OnnxBuilder builder = Flattened(/*open=*/true);
  const absl::StatusOr<ImportedModel> imported = builder.Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_EQ(imported->graph.symbol_size(), 1);
  const std::unique_ptr<OpTable> ops = MakeOpTable();
  const absl::StatusOr<Graph> graph =
      LoadGraph(imported->graph, *ops, {{"n", 7}}, "m");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(ToString(graph->values[graph->outputs[0]].type), "f32[7,12]");
}

// A token is put before each sample: y = concat(expand(token, [n, 1, 2]), x).
TEST(ImportTest, AShapeThatOnlyASymbolTellsHasTheSymbol) {
  OnnxBuilder builder;
  builder.Input("x", {"n", "3", "2"})
      .Floats("token", {1, 1, 2}, {5, 6})
      .Ints("zero", {1}, {0})
      .Ints("rest", {2}, {1, 2})
      .Output("y");
  builder.Node("Shape", {"x"}, {"s"});
  builder.Node("Gather", {"s", "zero"}, {"rows"});
  OnnxBuilder::Int(builder.Node("Concat", {"rows", "rest"}, {"t"}), "axis", 0);
  builder.Node("Expand", {"token", "t"}, {"tokens"});
  OnnxBuilder::Int(builder.Node("Concat", {"tokens", "x"}, {"y"}), "axis", 1);
  const absl::StatusOr<ImportedModel> imported = builder.Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_TRUE(IsTrained(*FindParameter(imported->graph, "token")));
  ASSERT_EQ(Ops(imported->graph),
            (std::vector<std::string>{"Expand", "Concat"}));
  const proto::Attribute& shape = imported->graph.node(0).attribute(0);
  ASSERT_EQ(shape.dims().v_size(), 3);
  EXPECT_EQ(shape.dims().v(0).symbol(), "n");
  EXPECT_EQ(shape.dims().v(1).value(), 1);
  const std::unique_ptr<OpTable> ops = MakeOpTable();
  const absl::StatusOr<Graph> graph =
      LoadGraph(imported->graph, *ops, {{"n", 7}}, "m");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(ToString(graph->values[graph->outputs[0]].type), "f32[7,4,2]");
}

// Two entries that no operand tells: both are symbols.
TEST(ImportTest, EachEntryGetsTheSymbolThatItFollows) {
  OnnxBuilder builder;
  builder.Input("x", {"n", "4"})
      .Input("z", {"m"})
      .Floats("w", {1, 1}, {1})
      .Output("y");
  builder.Ints("zero", {1}, {0});
  builder.Node("Shape", {"x"}, {"sx"});
  builder.Node("Gather", {"sx", "zero"}, {"n_dim"});
  builder.Node("Shape", {"z"}, {"sz"});
  OnnxBuilder::Int(builder.Node("Concat", {"n_dim", "sz"}, {"t"}), "axis", 0);
  builder.Node("Expand", {"w", "t"}, {"y"});
  const absl::StatusOr<ImportedModel> imported = builder.Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  const std::unique_ptr<OpTable> ops = MakeOpTable();
  const absl::StatusOr<Graph> graph =
      LoadGraph(imported->graph, *ops, {{"n", 7}, {"m", 5}}, "m");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(ToString(graph->values[graph->outputs[0]].type), "f32[7,5]");
}

TEST(ImportTest, ASymbolThatFixesShapesNeedsAValue) {
  // A weight has n elements.
  OnnxBuilder builder;
  builder.Input("x", {"n"}).Output("y");
  builder.Node("Shape", {"x"}, {"s"});
  builder.Node("ConstantOfShape", {"s"}, {"z"});
  builder.Node("Add", {"x", "z"}, {"y"});
  const absl::StatusOr<ImportedModel> refused = builder.Import();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("--set n=N"), std::string::npos)
      << refused.status();
  ImportOptions options;
  options.symbols = {{"n", 5}};
  const absl::StatusOr<ImportedModel> imported = builder.Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->graph.symbol_size(), 0);
  EXPECT_EQ(imported->graph.input(0).type().dim(0).value(), 5);
  EXPECT_EQ(imported->notes.size(), 1u);
}

TEST(ImportTest, ADimThatNoInputHasCannotBeSet) {
  OnnxBuilder builder = TwoLayers();
  ImportOptions options;
  options.symbols = {{"m", 5}};
  const absl::StatusOr<ImportedModel> imported = builder.Import(options);
  ASSERT_FALSE(imported.ok());
  EXPECT_NE(imported.status().message().find("'m'"), std::string::npos);
}

TEST(ImportTest, BoundInputsBecomeConstants) {
  OnnxBuilder builder;
  builder.Input("x", {"2", "3"})
      .Input("shape", {"2"}, onnx::TensorProto::INT64)
      .Output("y");
  builder.Node("Reshape", {"x", "shape"}, {"y"});
  Array shape;
  shape.type = {DType::kI64, {2}};
  const int64_t numbers[] = {3, 2};
  shape.data.assign(reinterpret_cast<const char*>(numbers), sizeof(numbers));
  ImportOptions options;
  options.bind = {{"shape", shape}};
  const absl::StatusOr<ImportedModel> imported = builder.Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->graph.input_size(), 1);
  EXPECT_EQ(imported->inputs, (std::vector<std::string>{"x", ""}));
  options.bind["nobody"] = shape;
  EXPECT_FALSE(builder.Import(options).ok());
}

// `shape` is i64[2] or, with a named dim, i64 of any length.
TEST(ImportTest, WhatIsBoundHasTheTypeOfTheInput) {
  const auto refused = [](const std::string& dim, const TensorType& bound) {
    OnnxBuilder builder;
    builder.Input("x", {"2", "3"})
        .Input("shape", {dim}, onnx::TensorProto::INT64)
        .Output("y");
    builder.Node("Reshape", {"x", "shape"}, {"y"});
    Array array;
    array.type = bound;
    array.data.assign(bound.bytes(), '\0');
    ImportOptions options;
    options.bind = {{"shape", array}};
    return std::string(builder.Import(options).status().message());
  };
  EXPECT_TRUE(absl::StrContains(
      refused("2", {DType::kF32, {2}}),
      "input 'shape': is i64[2] in the model, what is bound to it (--bind) is "
      "f32[2]"));
  EXPECT_TRUE(absl::StrContains(
      refused("2", {DType::kI64, {3}}),
      "is i64[2] in the model, what is bound to it (--bind) is i64[3]"));
  EXPECT_TRUE(absl::StrContains(
      refused("n", {DType::kI64, {1, 3}}),
      "is i64['n'] in the model, what is bound to it (--bind) is i64[1,3]"));
  // Of a length that is not 2 either, and refused by the Reshape alone.
  EXPECT_FALSE(absl::StrContains(refused("n", {DType::kI64, {3}}), "--bind"));
}

TEST(ImportTest, WhatNoOutputReadsIsLeftOut) {
  OnnxBuilder builder;
  builder.Input("x", {"2"}).Floats("w", {2}, {1, 2}).Output("y");
  builder.Node("Relu", {"x"}, {"y"});
  builder.Node("Add", {"x", "w"}, {"z"});
  const absl::StatusOr<ImportedModel> imported = builder.Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(Ops(imported->graph), std::vector<std::string>{"Relu"});
  EXPECT_TRUE(imported->weights.empty());
}

TEST(ImportTest, FunctionsAreInlined) {
  // twice(a; k) = leaky_relu(a; alpha = k) + a, called within a call.
  OnnxBuilder builder;
  builder.Input("x", {"2"}).Output("y");
  onnx::NodeProto& call = builder.Node("Outer", {"x"}, {"y"});
  call.set_domain("mine");
  OnnxBuilder::Float(call, "k", 0.5f);
  onnx::OperatorSetIdProto& set = *builder.model().add_opset_import();
  set.set_domain("mine");
  set.set_version(1);
  const auto refer = [](onnx::NodeProto& node, const char* name) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_ref_attr_name("k");
    attribute.set_type(onnx::AttributeProto::FLOAT);
  };
  onnx::FunctionProto& outer = *builder.model().add_functions();
  outer.set_name("Outer");
  outer.set_domain("mine");
  outer.add_input("a");
  outer.add_output("b");
  outer.add_attribute("k");
  onnx::NodeProto& inner_call = *outer.add_node();
  inner_call.set_op_type("Inner");
  inner_call.set_domain("mine");
  inner_call.add_input("a");
  inner_call.add_output("b");
  refer(inner_call, "k");
  onnx::FunctionProto& inner = *builder.model().add_functions();
  inner.set_name("Inner");
  inner.set_domain("mine");
  inner.add_input("a");
  inner.add_output("b");
  inner.add_attribute("k");
  onnx::NodeProto& relu = *inner.add_node();
  relu.set_op_type("LeakyRelu");
  relu.add_input("a");
  relu.add_output("t");
  refer(relu, "alpha");
  onnx::NodeProto& add = *inner.add_node();
  add.set_op_type("Add");
  add.add_input("t");
  add.add_input("a");
  add.add_output("b");
  const absl::StatusOr<ImportedModel> imported = builder.Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(Ops(imported->graph),
            (std::vector<std::string>{"LeakyRelu", "Add"}));
  EXPECT_EQ(imported->graph.node(0).attribute(0).f(), 0.5f);
}

TEST(ImportTest, APatternThatMeetsNothingIsNoted) {
  OnnxBuilder builder = TwoLayers();
  ImportOptions options;
  options.freeze = {"*", "nothing*"};
  const absl::StatusOr<ImportedModel> imported = builder.Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_EQ(imported->notes.size(), 1u);
  EXPECT_NE(imported->notes[0].find("'nothing*'"), std::string::npos);
}

}  // namespace
}  // namespace reprise
