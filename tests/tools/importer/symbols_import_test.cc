// Which named dims stay symbols: those at whose other values the model means
// the same.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "core/load.h"
#include "gtest/gtest.h"
#include "tests/tools/importer/onnx_builder.h"

namespace reprise {
namespace {

std::string OutputType(const ImportedModel& imported, const Bindings& symbols) {
  const std::unique_ptr<OpTable> ops = MakeOpTable();
  const absl::StatusOr<Graph> graph =
      LoadGraph(imported.graph, *ops, symbols, "m");
  if (!graph.ok()) return std::string(graph.status().message());
  return ToString(graph->values[graph->outputs[0]].type);
}

// Adds the value `to` = [dim `axis` of x].
void AddDim(OnnxBuilder& builder, const std::string& axis,
            const std::string& to) {
  builder.Node("Shape", {"x"}, {"shape_of_" + to});
  builder.Node("Gather", {"shape_of_" + to, axis}, {to});
}

// y = x[0:rows] * columns: the number of columns is a constant.
TEST(ImportedSymbolsTest, StayOpenBesideADimThatIsFixed) {
  OnnxBuilder builder;
  builder.Input("x", {"n", "t"}).Ints("zero", {1}, {0}).Ints("one", {1}, {1});
  builder.Output("y");
  AddDim(builder, "zero", "rows");
  AddDim(builder, "one", "columns");
  builder.Node("Slice", {"x", "zero", "rows"}, {"a"});
  OnnxBuilder::Int(builder.Node("Cast", {"columns"}, {"factor"}), "to",
                   onnx::TensorProto::FLOAT);
  builder.Node("Mul", {"a", "factor"}, {"y"});
  ImportOptions options;
  options.symbols = {{"t", 6}};
  const absl::StatusOr<ImportedModel> imported = builder.Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_EQ(imported->graph.symbol_size(), 1);
  EXPECT_EQ(OutputType(*imported, {{"n", 4}}), "f32[4,6]");
  EXPECT_EQ(OutputType(*imported, {{"n", 9}}), "f32[9,6]");
}

// Two shapes with an open entry each, at three values of the dim.
TEST(ImportedSymbolsTest, OpenReshapesStayOpen) {
  OnnxBuilder builder;
  builder.Input("x", {"n", "6"}).Ints("zero", {1}, {0}).Output("y");
  builder.Ints("pairs", {2}, {3, 2}).Ints("flat", {1}, {6});
  AddDim(builder, "zero", "rows");
  OnnxBuilder::Int(builder.Node("Concat", {"rows", "pairs"}, {"t"}), "axis", 0);
  builder.Node("Reshape", {"x", "t"}, {"a"});
  OnnxBuilder::Int(builder.Node("Concat", {"rows", "flat"}, {"u"}), "axis", 0);
  builder.Node("Reshape", {"a", "u"}, {"y"});
  const absl::StatusOr<ImportedModel> imported = builder.Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(OutputType(*imported, {{"n", 1000}}), "f32[1000,6]");
}

// y = x[begin:end] of x [n, 4], where one of both is a function of n.
struct Bounded {
  const char* name;
  void (*add)(OnnxBuilder& builder);
  std::string type;  // of y at n = 200
};

class BoundedDimTest : public ::testing::TestWithParam<Bounded> {};

// Each function is n, or a constant, at n = 1 and n = 3.
TEST_P(BoundedDimTest, WantsAValue) {
  OnnxBuilder builder;
  builder.Input("x", {"n", "4"}).Ints("zero", {1}, {0}).Output("y");
  AddDim(builder, "zero", "rows");
  GetParam().add(builder);
  const absl::Status refused = builder.Import().status();
  EXPECT_TRUE(absl::StrContains(refused.message(), "--set n=N")) << refused;
  ImportOptions options;
  options.symbols = {{"n", 200}};
  const absl::StatusOr<ImportedModel> imported = builder.Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(OutputType(*imported, {}), GetParam().type);

  // The data tell the value too.
  ImportOptions with_data;
  with_data.inputs = {{"x", {DType::kF32, {200, 4}}}};
  const absl::StatusOr<ImportedModel> same = builder.Import(with_data);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(OutputType(*same, {}), GetParam().type);
}

const Bounded kBounded[] = {
    {"Minimum",
     [](OnnxBuilder& builder) {
       builder.Ints("k", {1}, {128});
       builder.Node("Min", {"rows", "k"}, {"end"});
       builder.Node("Slice", {"x", "zero", "end"}, {"y"});
     },
     "f32[128,4]"},
    {"Maximum",
     [](OnnxBuilder& builder) {
       builder.Ints("k", {1}, {3});
       builder.Node("Max", {"rows", "k"}, {"end"});
       builder.Node("Slice", {"x", "zero", "end"}, {"y"});
     },
     "f32[200,4]"},
    {"Quotient",
     [](OnnxBuilder& builder) {
       builder.Ints("k", {1}, {100});
       builder.Node("Div", {"rows", "k"}, {"begin"});
       builder.Node("Slice", {"x", "begin", "rows"}, {"y"});
     },
     "f32[198,4]"},
    {"Choice",
     [](OnnxBuilder& builder) {
       builder.Ints("k", {1}, {10}).Ints("five", {1}, {5});
       builder.Node("Greater", {"rows", "k"}, {"many"});
       builder.Node("Where", {"many", "five", "zero"}, {"begin"});
       builder.Node("Slice", {"x", "begin", "rows"}, {"y"});
     },
     "f32[195,4]"},
    {"Parity",
     [](OnnxBuilder& builder) {
       builder.Ints("k", {1}, {2});
       builder.Node("Mod", {"rows", "k"}, {"begin"});
       builder.Node("Slice", {"x", "begin", "rows"}, {"y"});
     },
     "f32[200,4]"},
    {"Factor",
     [](OnnxBuilder& builder) {
       builder.Ints("k", {1}, {10});
       builder.Node("Greater", {"rows", "k"}, {"many"});
       OnnxBuilder::Int(builder.Node("Cast", {"many"}, {"factor"}), "to",
                        onnx::TensorProto::FLOAT);
       builder.Node("Mul", {"x", "factor"}, {"y"});
     },
     "f32[200,4]"},
};

INSTANTIATE_TEST_SUITE_P(Functions, BoundedDimTest,
                         ::testing::ValuesIn(kBounded),
                         [](const ::testing::TestParamInfo<Bounded>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace reprise
