// ONNX files that break a rule, and the error each gets.

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/tools/importer/onnx_builder.h"

namespace reprise {
namespace {

// Expects the model to be refused with every one of `parts` in the error.
void ExpectRefused(OnnxBuilder& builder,
                   const std::vector<std::string>& parts) {
  const absl::StatusOr<ImportedModel> imported = builder.Import();
  ASSERT_FALSE(imported.ok());
  for (const std::string& part : parts) {
    EXPECT_NE(imported.status().message().find(part), std::string::npos)
        << "wanted: " << part << "\ngot: " << imported.status().message();
  }
}

// x [2, 3] through one operator.
OnnxBuilder OneNode(const std::string& op, const std::vector<std::string>& more,
                    int64_t version = 22) {
  OnnxBuilder builder(version);
  builder.Input("x", {"2", "3"}).Output("y");
  std::vector<std::string> in = {"x"};
  in.insert(in.end(), more.begin(), more.end());
  builder.Node(op, in, {"y"});
  return builder;
}

TEST(BadOnnxTest, CyclesAreNamed) {
  OnnxBuilder builder;
  builder.Input("x", {"2"}).Output("b");
  builder.Node("Add", {"x", "b"}, {"a"});
  builder.Node("Relu", {"a"}, {"b"});
  ExpectRefused(builder, {"cycle", "Add_node", "Relu_node"});
}

TEST(BadOnnxTest, ANodeThatReadsItselfIsACycle) {
  OnnxBuilder builder;
  builder.Input("x", {"2"}).Output("a");
  builder.Node("Add", {"x", "a"}, {"a"});
  ExpectRefused(builder, {"cycle", "Add_node"});
}

TEST(BadOnnxTest, TwoValuesOfOneNameAreRefused) {
  OnnxBuilder builder;
  builder.Input("x", {"2"}).Output("y");
  builder.Node("Relu", {"x"}, {"y"});
  builder.Node("Tanh", {"x"}, {"y"});
  ExpectRefused(builder, {"Tanh_node", "another value is named 'y'"});
}

TEST(BadOnnxTest, AResultNamedLikeAnInputIsRefused) {
  OnnxBuilder builder;
  builder.Input("x", {"2"}).Output("x");
  builder.Node("Relu", {"x"}, {"x"});
  ExpectRefused(builder, {"Relu_node", "another value is named 'x'"});
}

TEST(BadOnnxTest, InputsThatNothingMakesAreRefused) {
  OnnxBuilder builder;
  builder.Input("x", {"2"}).Output("y");
  builder.Node("Add", {"x", "nowhere"}, {"y"});
  ExpectRefused(builder, {"Add_node", "'nowhere', which nothing makes"});
}

TEST(BadOnnxTest, OutputsThatNothingMakesAreRefused) {
  OnnxBuilder builder;
  builder.Input("x", {"2"}).Output("y");
  ExpectRefused(builder, {"output 'y'", "nothing makes it"});
}

// Both slices would begin at the end of the axis, the second beyond it.
TEST(BadOnnxTest, AnAxisSlicedTwiceIsRefused) {
  OnnxBuilder builder;
  builder.Ints("c", {4}, {1, 2, 3, 4}).Output("y");
  builder.Ints("starts", {2}, {3, 3}).Ints("ends", {2}, {4, 4});
  builder.Ints("axes", {2}, {0, 0});
  builder.Node("Slice", {"c", "starts", "ends", "axes"}, {"y"});
  ExpectRefused(builder, {"Slice_node", "axes"});
}

// About -2^64 steps are none; no int64 holds their number.
TEST(BadOnnxTest, ARangeFarBelowItsStartIsEmpty) {
  OnnxBuilder builder;
  builder.Ints("start", {}, {INT64_MAX}).Ints("limit", {}, {INT64_MIN});
  builder.Ints("delta", {}, {1}).Input("x", {"2"}).Output("y");
  builder.Node("Range", {"start", "limit", "delta"}, {"none"});
  builder.Node("Size", {"none"}, {"size"});
  builder.Node("Expand", {"x", "size"}, {"y"});
  ExpectRefused(builder, {"Expand_node"});
}

TEST(BadOnnxTest, RanksAboveEightAreRefused) {
  OnnxBuilder builder;
  builder.Input("x", std::vector<std::string>(9, "1")).Output("y");
  builder.Node("Relu", {"x"}, {"y"});
  ExpectRefused(builder, {"input 'x'", "9"});
}

TEST(BadOnnxTest, DimsWhoseProductOverflowsAreRefused) {
  OnnxBuilder builder;
  builder.Floats("w", {int64_t{1} << 40, int64_t{1} << 40}, {}).Output("w");
  ExpectRefused(builder, {"initializer 'w'"});
}

TEST(BadOnnxTest, NegativeDimsAreRefused) {
  OnnxBuilder builder;
  builder.Input("x", {"-2"}).Output("y");
  builder.Node("Relu", {"x"}, {"y"});
  ExpectRefused(builder, {"input 'x'", "-2"});
}

TEST(BadOnnxTest, DimsLongerThanTheirDataAreRefused) {
  OnnxBuilder builder;
  builder.Floats("w", {4}, {1, 2, 3}).Output("w");
  ExpectRefused(builder, {"initializer 'w'", "f32[4] has 16 bytes, got 12"});
}

TEST(BadOnnxTest, DataLongerThanTheirDimsAreRefused) {
  OnnxBuilder builder;
  builder.Floats("w", {2}, {1, 2, 3}).Output("w");
  ExpectRefused(builder, {"initializer 'w'", "f32[2] has 8 bytes, got 12"});
}

TEST(BadOnnxTest, RawDataOfAnotherSizeAreRefused) {
  OnnxBuilder builder;
  builder.Floats("w", {2}, {}).Output("w");
  builder.graph().mutable_initializer(0)->set_raw_data("12345");
  ExpectRefused(builder, {"initializer 'w'", "8 bytes, got 5"});
}

TEST(BadOnnxTest, ReshapeWithTwoOpenDimsIsRefused) {
  OnnxBuilder builder = OneNode("Reshape", {"shape"});
  builder.Ints("shape", {2}, {-1, -1});
  ExpectRefused(builder, {"Reshape_node", "-1"});
}

TEST(BadOnnxTest, ReshapeToAnotherSizeIsRefused) {
  OnnxBuilder builder = OneNode("Reshape", {"shape"});
  builder.Ints("shape", {2}, {4, 2});
  ExpectRefused(builder, {"Reshape_node", "f32[2,3]"});
}

// Not the dim, at whose other values the model does not load either.
TEST(BadOnnxTest, AnAttributeThatIsNoNumberIsRefusedByName) {
  OnnxBuilder builder;
  builder.Input("x", {"n", "2"}).Output("y");
  OnnxBuilder::Float(builder.Node("LeakyRelu", {"x"}, {"y"}), "alpha",
                     std::numeric_limits<float>::quiet_NaN());
  ExpectRefused(builder,
                {"(LeakyRelu): attribute 'alpha' must be finite, got nan"});
}

TEST(BadOnnxTest, AShapeThatDependsOnDataIsRefusedByName) {
  OnnxBuilder builder;
  builder.Input("x", {"2", "3"})
      .Input("shape", {"2"}, onnx::TensorProto::INT64)
      .Output("y");
  builder.Node("Reshape", {"x", "shape"}, {"y"});
  ExpectRefused(builder, {"Reshape_node", "operand 'shape'", "must be constant",
                          "input 'shape'", "--bind"});
}

TEST(BadOnnxTest, AScalarWhereAVectorIsNeededIsRefused) {
  OnnxBuilder builder = OneNode("Reshape", {"shape"});
  builder.Ints("shape", {}, {6});
  ExpectRefused(builder, {"Reshape_node", "a vector of integers", "i64[]"});
}

TEST(BadOnnxTest, FloatsWhereIntegersAreNeededAreRefused) {
  OnnxBuilder builder = OneNode("Reshape", {"shape"});
  builder.Floats("shape", {1}, {6});
  ExpectRefused(builder, {"Reshape_node", "a vector of integers", "f32[1]"});
}

TEST(BadOnnxTest, AKernelOfHigherRankThanItsInputIsRefused) {
  OnnxBuilder builder;
  builder.Input("x", {"1", "1", "4"})
      .Floats("w", {1, 1, 2, 2}, {1, 2, 3, 4})
      .Output("y");
  builder.Node("Conv", {"x", "w"}, {"y"});
  ExpectRefused(builder, {"Conv_node", "f32[1,1,4]"});
}

TEST(BadOnnxTest, NegativePadsAreRefused) {
  OnnxBuilder builder;
  builder.Input("x", {"1", "1", "4", "4"})
      .Floats("w", {1, 1, 2, 2}, {1, 2, 3, 4})
      .Output("y");
  onnx::NodeProto& node = builder.Node("Conv", {"x", "w"}, {"y"});
  OnnxBuilder::IntList(node, "pads", {-1, 0, 0, 0});
  ExpectRefused(builder, {"Conv_node", "-1"});
}

TEST(BadOnnxTest, AxesOutOfRangeAreRefused) {
  for (const char* const op : {"Softmax", "Flatten", "Concat"}) {
    OnnxBuilder builder = OneNode(op, {});
    OnnxBuilder::Int(*builder.graph().mutable_node(0), "axis", 7);
    ExpectRefused(builder, {absl::StrCat(op, "_node"), "7"});
  }
}

TEST(BadOnnxTest, IndicesOfConstantsOutOfRangeAreRefused) {
  OnnxBuilder builder;
  builder.Input("x", {"2", "3"}).Ints("i", {}, {5}).Output("y");
  builder.Node("Shape", {"x"}, {"s"});
  builder.Node("Gather", {"s", "i"}, {"y"});
  ExpectRefused(builder, {"Gather_node", "index 5", "2 entries"});
}

TEST(BadOnnxTest, ConstantDivisionByZeroIsRefused) {
  OnnxBuilder builder;
  builder.Ints("a", {}, {5}).Ints("b", {}, {0}).Output("y");
  builder.Node("Div", {"a", "b"}, {"y"});
  ExpectRefused(builder, {"Div_node", "division by zero"});
}

TEST(BadOnnxTest, FillsBeyondMemoryAreRefused) {
  OnnxBuilder builder;
  builder.Ints("shape", {2}, {int64_t{1} << 19, int64_t{1} << 19}).Output("y");
  builder.Node("ConstantOfShape", {"shape"}, {"y"});
  ExpectRefused(builder, {"ConstantOfShape_node", "bytes"});
}

TEST(BadOnnxTest, NodesWithoutOperandsAreRefused) {
  for (const char* const op : {"Relu", "Softmax", "Shape", "Size", "Split",
                               "Concat", "Cast", "Reshape", "Slice", "Dropout",
                               "BatchNormalization", "Range", "Where"}) {
    OnnxBuilder builder;
    builder.Input("x", {"2"}).Output("y");
    builder.Node(op, {}, {"y"});
    ExpectRefused(builder, {absl::StrCat(op, "_node")});
  }
}

TEST(BadOnnxTest, NodesWithoutResultsAreRefused) {
  for (const char* const op : {"Relu", "Softmax", "Shape", "Constant",
                               "ConstantOfShape", "Cast", "Dropout"}) {
    OnnxBuilder builder;
    builder.Input("x", {"2"}).Output("x");
    builder.Node(op, {"x"}, {});
    ExpectRefused(builder, {absl::StrCat(op, "_node")});
  }
}

TEST(BadOnnxTest, EverythingUnsupportedIsListedAtOnce) {
  OnnxBuilder builder;
  builder.Input("x", {"2"})
      .Input("d", {"2"}, onnx::TensorProto::DOUBLE)
      .Output("y");
  builder.Node("NonMaxSuppression", {"x"}, {"a"});
  builder.Node("If", {"a"}, {"b"});
  OnnxBuilder::Int(builder.Node("Relu", {"x"}, {"y"}), "colour", 3);
  // What reads a result that is not there is judged as far as it can be.
  OnnxBuilder::Int(builder.Node("Tanh", {"b"}, {"t"}), "taste", 3);
  builder.Node("Cast", {"x"}, {"c"});
  OnnxBuilder::Int(*builder.graph().mutable_node(4), "to",
                   onnx::TensorProto::FLOAT16);
  ExpectRefused(
      builder,
      {"NonMaxSuppression_node", "If_node", "unsupported attribute 'colour'",
       "'taste'", "Relu_node", "input 'd'", "DOUBLE", "Cast_node", "FLOAT16"});
}

TEST(BadOnnxTest, VersionsOutsideOfSevenToTwentyFiveAreRefused) {
  for (const int64_t version : {0, 6, 26}) {
    OnnxBuilder builder = OneNode("Relu", {}, version);
    ExpectRefused(builder, {absl::StrCat("operator set ", version)});
  }
}

TEST(BadOnnxTest, ModelsWithoutOperatorSetsAreRefused) {
  OnnxBuilder builder = OneNode("Relu", {});
  builder.model().clear_opset_import();
  ExpectRefused(builder, {"opset_import"});
}

TEST(BadOnnxTest, NamesThatAreNotUtf8AreRefused) {
  OnnxBuilder builder = OneNode("Relu", {});
  builder.graph().mutable_input(0)->set_name("\xff\xfe");
  ExpectRefused(builder, {"UTF-8"});
}

TEST(BadOnnxTest, ShortFilesAreRefused) {
  for (const std::string& bytes :
       {std::string(), std::string(8, '\0'), std::string(8, '\xff'),
        std::string("ONNXONNX")}) {
    EXPECT_FALSE(OnnxBuilder::ImportBytes(bytes).ok());
  }
}

TEST(BadOnnxTest, EveryPrefixIsAnsweredWithoutACrash) {
  OnnxBuilder builder;
  builder.Input("x", {"n", "3"})
      .Floats("w", {3, 2}, {1, 2, 3, 4, 5, 6})
      .Ints("shape", {2}, {-1, 1})
      .Output("y");
  builder.Node("MatMul", {"x", "w"}, {"a"});
  builder.Node("Reshape", {"a", "shape"}, {"y"});
  const std::string bytes = builder.model().SerializeAsString();
  ASSERT_TRUE(OnnxBuilder::ImportBytes(bytes).ok());
  for (size_t size = 0; size < bytes.size(); ++size) {
    // Some prefixes are models: fields at the end may be left out.
    OnnxBuilder::ImportBytes(bytes.substr(0, size)).status().IgnoreError();
  }
}

TEST(BadOnnxTest, EveryFlippedBitIsAnsweredWithoutACrash) {
  OnnxBuilder builder;
  builder.Input("x", {"2", "3"})
      .Floats("w", {3, 2}, {1, 2, 3, 4, 5, 6})
      .Output("y");
  builder.Node("MatMul", {"x", "w"}, {"y"});
  const std::string bytes = builder.model().SerializeAsString();
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      OnnxBuilder::ImportBytes(changed).status().IgnoreError();
    }
  }
}

// Wraps `content` in field `number` of a message.
std::string Wrap(int number, const std::string& content) {
  std::string field(1, static_cast<char>(number << 3 | 2));
  size_t size = content.size();
  while (size >= 0x80) {
    field += static_cast<char>(size | 0x80);
    size >>= 7;
  }
  return absl::StrCat(field, std::string(1, static_cast<char>(size)), content);
}

TEST(BadOnnxTest, AFileThatNestsTenThousandDeepIsRefused) {
  // Graph (7) of node (1) of attribute (5) of graph (6) and so on.
  std::string bytes;
  for (int depth = 0; depth < 10000; ++depth) {
    bytes = Wrap(1, Wrap(5, Wrap(6, bytes)));
  }
  const absl::StatusOr<ImportedModel> imported =
      OnnxBuilder::ImportBytes(Wrap(7, bytes));
  ASSERT_FALSE(imported.ok());
  EXPECT_NE(imported.status().message().find("nested more than 64 deep"),
            std::string::npos)
      << imported.status();
}

TEST(BadOnnxTest, FunctionsThatCallThemselvesAreRefused) {
  OnnxBuilder builder;
  builder.Input("x", {"2"}).Output("y");
  builder.Node("F", {"x"}, {"y"}).set_domain("mine");
  onnx::OperatorSetIdProto& set = *builder.model().add_opset_import();
  set.set_domain("mine");
  set.set_version(1);
  onnx::FunctionProto& function = *builder.model().add_functions();
  function.set_name("F");
  function.set_domain("mine");
  function.add_input("a");
  function.add_output("b");
  for (const char* const name : {"b", "c"}) {
    onnx::NodeProto& node = *function.add_node();
    node.set_op_type("F");
    node.set_domain("mine");
    node.add_input("a");
    node.add_output(name);
  }
  ExpectRefused(builder, {"functions call each other", "'F'"});
}

}  // namespace
}  // namespace reprise
