// One model a version of an operator where versions differ, run.

#include <memory>
#include <string>
#include <vector>

#include "core/status_macros.h"
#include "gtest/gtest.h"
#include "tests/tools/importer/imported_run.h"
#include "tests/tools/importer/onnx_builder.h"
#include "tools/conformance/compare.h"
#include "tools/data/pass_arrays.h"

namespace reprise {
namespace {

void ExpectGives(OnnxBuilder& builder, const Array& x, const Array& y) {
  const absl::StatusOr<std::vector<Array>> got = RunImported(builder, {x});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(Difference((*got)[0], y, 1e-5, 1e-6), "");
}

std::vector<std::string> OpsOf(OnnxBuilder& builder) {
  const absl::StatusOr<ImportedModel> imported = builder.Import();
  EXPECT_TRUE(imported.ok()) << imported.status();
  std::vector<std::string> ops;
  if (!imported.ok()) return ops;
  for (const proto::Node& node : imported->graph.node()) {
    ops.push_back(node.op());
  }
  return ops;
}

// x [1, 2, 2] of zeros. A row of four gets 1/4 each, a row of two 1/2.
TEST(VersionsTest, SoftmaxBeforeThirteenTakesAllFromItsAxisOnAsOneRow) {
  for (const int64_t version : {12, 13}) {
    OnnxBuilder builder(version);
    builder.Input("x", {"1", "2", "2"}).Output("y");
    OnnxBuilder::Int(builder.Node("Softmax", {"x"}, {"y"}), "axis", 1);
    const float each = version == 12 ? 0.25f : 0.5f;
    ExpectGives(builder, FloatArray({1, 2, 2}, {0, 0, 0, 0}),
                FloatArray({1, 2, 2}, {each, each, each, each}));
  }
}

TEST(VersionsTest, SoftmaxHasAnotherDefaultAxisBeforeThirteen) {
  // [2, 2, 1]: from axis 1 on two elements, along the last one.
  OnnxBuilder before(12);
  before.Input("x", {"2", "2", "1"}).Output("y");
  before.Node("Softmax", {"x"}, {"y"});
  ExpectGives(before, FloatArray({2, 2, 1}, {0, 0, 0, 0}),
              FloatArray({2, 2, 1}, {0.5f, 0.5f, 0.5f, 0.5f}));
  OnnxBuilder after(13);
  after.Input("x", {"2", "2", "1"}).Output("y");
  after.Node("Softmax", {"x"}, {"y"});
  ExpectGives(after, FloatArray({2, 2, 1}, {0, 0, 0, 0}),
              FloatArray({2, 2, 1}, {1, 1, 1, 1}));
}

TEST(VersionsTest, SliceHasAttributesBeforeTen) {
  OnnxBuilder before(9);
  before.Input("x", {"4"}).Output("y");
  onnx::NodeProto& node = before.Node("Slice", {"x"}, {"y"});
  OnnxBuilder::IntList(node, "starts", {1});
  OnnxBuilder::IntList(node, "ends", {3});
  ExpectGives(before, FloatArray({4}, {1, 2, 3, 4}), FloatArray({2}, {2, 3}));
  OnnxBuilder after(10);
  after.Input("x", {"4"}).Ints("s", {1}, {-1}).Ints("e", {1}, {-5});
  after.Ints("a", {1}, {0}).Ints("t", {1}, {-2}).Output("y");
  after.Node("Slice", {"x", "s", "e", "a", "t"}, {"y"});
  ExpectGives(after, FloatArray({4}, {1, 2, 3, 4}), FloatArray({2}, {4, 2}));
}

TEST(VersionsTest, AxesAreAttributesBeforeThirteenAndOperandsAfter) {
  for (const int64_t version : {11, 13}) {
    OnnxBuilder builder(version);
    builder.Input("x", {"2", "2"}).Output("y");
    onnx::NodeProto& node = builder.Node("ReduceSum", {"x"}, {"y"});
    OnnxBuilder::Int(node, "keepdims", 0);
    if (version == 11) {
      OnnxBuilder::IntList(node, "axes", {0});
    } else {
      builder.Ints("axes", {1}, {0});
      builder.graph().mutable_node(0)->add_input("axes");
    }
    ExpectGives(builder, FloatArray({2, 2}, {1, 2, 3, 4}),
                FloatArray({2}, {4, 6}));
  }
}

TEST(VersionsTest, SplitWithoutSizesMakesEqualParts) {
  OnnxBuilder builder(13);
  builder.Input("x", {"4"}).Output("b");
  builder.Node("Split", {"x"}, {"a", "b"});
  ExpectGives(builder, FloatArray({4}, {1, 2, 3, 4}), FloatArray({2}, {3, 4}));
}

// What x.split([3, 1, 2])[1] of an exporter is.
TEST(VersionsTest, SplitMayHavePartsThatNobodyReads) {
  for (const int64_t version : {7, 11, 13, 18}) {
    for (const std::string read : {"a", "b", "c"}) {
      OnnxBuilder builder(version);
      builder.Input("x", {"6"}).Output(read);
      if (version < 13) {
        OnnxBuilder::IntList(builder.Node("Split", {"x"}, {"a", "b", "c"}),
                             "split", {3, 1, 2});
      } else {
        builder.Ints("sizes", {3}, {3, 1, 2});
        builder.Node("Split", {"x", "sizes"}, {"a", "b", "c"});
      }
      const Array x = FloatArray({6}, {1, 2, 3, 4, 5, 6});
      ExpectGives(builder, x,
                  read == "a"   ? FloatArray({3}, {1, 2, 3})
                  : read == "b" ? FloatArray({1}, {4})
                                : FloatArray({2}, {5, 6}));
    }
  }
  OnnxBuilder unnamed(13);
  unnamed.Input("x", {"4"}).Output("b");
  unnamed.Node("Split", {"x"}, {"", "b"});
  ExpectGives(unnamed, FloatArray({4}, {1, 2, 3, 4}), FloatArray({2}, {3, 4}));
  OnnxBuilder equal(18);
  equal.Input("x", {"5"}).Output("a");
  OnnxBuilder::Int(equal.Node("Split", {"x"}, {"a", "b"}), "num_outputs", 2);
  ExpectGives(equal, FloatArray({5}, {1, 2, 3, 4, 5}),
              FloatArray({3}, {1, 2, 3}));
}

TEST(VersionsTest, DropoutFromTwelveOnIsWhatItsModeSays) {
  OnnxBuilder before(11);
  before.Input("x", {"4"}).Output("y");
  before.Node("Dropout", {"x"}, {"y"});
  OnnxBuilder after(12);
  after.Input("x", {"4"}).Output("y");
  after.Node("Dropout", {"x"}, {"y"});
  for (OnnxBuilder* const builder : {&before, &after}) {
    const absl::StatusOr<ImportedModel> imported = builder->Import();
    ASSERT_TRUE(imported.ok()) << imported.status();
    bool trains = true;
    for (const proto::Attribute& attribute :
         imported->graph.node(0).attribute()) {
      if (attribute.name() == "training_mode") trains = attribute.i() != 0;
    }
    EXPECT_EQ(trains, builder == &before);
    EXPECT_FALSE(imported->training_mode);
  }
}

TEST(VersionsTest, AMaskOfDropoutInInferenceIsAllTrue) {
  OnnxBuilder builder(13);
  builder.Input("x", {"3"}).Output("m");
  builder.Node("Dropout", {"x"}, {"y", "m"});
  Array mask;
  mask.type = {DType::kBool, {3}};
  mask.data = std::string("\1\1\1", 3);
  ExpectGives(builder, FloatArray({3}, {1, 0, 3}), mask);
}

TEST(VersionsTest, RunningStatisticsOfTrainingBatchNormalizationAreAState) {
  OnnxBuilder builder(15);
  builder.Input("x", {"2", "1", "2"})
      .Floats("s", {1}, {1})
      .Floats("b", {1}, {0})
      .Floats("mean", {1}, {10})
      .Floats("var", {1}, {10})
      .Output("y");
  builder.Output("m").Output("v");
  onnx::NodeProto& node = builder.Node(
      "BatchNormalization", {"x", "s", "b", "mean", "var"}, {"y", "m", "v"});
  OnnxBuilder::Int(node, "training_mode", 1);
  OnnxBuilder::Float(node, "momentum", 0.5f);
  const absl::StatusOr<ImportedModel> imported = builder.Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_TRUE(imported->training_mode);
  ASSERT_EQ(imported->graph.state_size(), 2);
  EXPECT_EQ(imported->graph.state(0).name(), "mean");
  EXPECT_EQ(imported->graph.state(0).next(), "m");
}

TEST(VersionsTest, PowOfTwoTypesIsOfTheFirst) {
  OnnxBuilder builder(15);
  builder.Input("x", {"2"}).Ints("p", {1}, {2}).Output("y");
  builder.Node("Pow", {"x", "p"}, {"y"});
  ExpectGives(builder, FloatArray({2}, {3, 4}), FloatArray({2}, {9, 16}));
}

TEST(VersionsTest, ConstantsAreWrittenInFiveWays) {
  OnnxBuilder builder(13);
  builder.Input("x", {"2"}).Output("y");
  OnnxBuilder::Float(builder.Node("Constant", {}, {"a"}), "value_float", 1.5f);
  onnx::NodeProto& node = builder.Node("Constant", {}, {"b"});
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("value_floats");
  attribute.set_type(onnx::AttributeProto::FLOATS);
  attribute.add_floats(10);
  attribute.add_floats(20);
  builder.Node("Add", {"a", "b"}, {"c"});
  builder.Node("Add", {"x", "c"}, {"y"});
  ExpectGives(builder, FloatArray({2}, {1, 2}),
              FloatArray({2}, {12.5f, 23.5f}));
  EXPECT_EQ(OpsOf(builder), std::vector<std::string>{"Add"});
}

TEST(VersionsTest, CastLikeTakesTheTypeOfItsSecondOperand) {
  OnnxBuilder builder(15);
  builder.Input("x", {"2"}).Ints("i", {1}, {0}).Output("y");
  builder.Node("CastLike", {"x", "i"}, {"n"});
  onnx::NodeProto& back = builder.Node("Cast", {"n"}, {"y"});
  OnnxBuilder::Int(back, "to", onnx::TensorProto::FLOAT);
  ExpectGives(builder, FloatArray({2}, {1.75f, -1.75f}),
              FloatArray({2}, {1, -1}));
}

}  // namespace
}  // namespace reprise
