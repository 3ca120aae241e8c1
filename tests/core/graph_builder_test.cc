#include "core/graph_builder.h"

#include <string>

#include "core/load.h"
#include "core/proto_file.h"
#include "gtest/gtest.h"
#include "tests/testing/toy_ops.h"

namespace reprise {
namespace {

TEST(GraphBuilderTest, MakesTheMessageThatTheTextHolds) {
  GraphBuilder b("two_layers");
  const BuilderDim batch = b.Symbol("batch", 4);
  const BuilderValue x = b.Input("x", DType::kF32, {batch, 3});
  const BuilderValue w1 = b.Parameter("w1", {3, 3}, Init::VarianceScaling(2));
  const BuilderValue w2 = b.Frozen("w2", DType::kF32, {3, 3}, Init::Identity());
  const BuilderValue mean = b.State("mean", DType::kF32, {});
  GraphBuilder::Scope outer = b.Region("outer", Save::Names({"h*"}));
  const BuilderValue h = b.Add("MatMul", {x, w1}, {}, "h1");
  BuilderValue y;
  {
    const GraphBuilder::Scope inner = b.Region("inner");
    y = b.Add("LeakyRelu", {h}, {{"alpha", 0.5}});
  }
  y = b.Add("Transpose", {y}, {{"perm", Ints{1, 0}}});
  outer.End();
  const std::vector<BuilderValue> parts =
      b.AddMany("Norm", {y, {}}, {}, {"", "stat"});
  b.SetNext(mean, parts[1]);
  b.MustSave(h);
  b.MustRecompute(y);
  b.Output(y);
  b.Loss(parts[1], 0.5f);

  proto::Graph expected;
  const absl::Status parsed = ParseText(R"(
    format_version: 1
    name: "two_layers"
    symbol { name: "batch" default_value: 4 }
    input { name: "x" type { dtype: FLOAT32 dim { symbol: "batch" } dim { value: 3 } } }
    parameter {
      name: "w1"
      type { dtype: FLOAT32 dim { value: 3 } dim { value: 3 } }
      initializer { variance_scaling { scale: 2 mode: FAN_IN } }
    }
    parameter {
      name: "w2"
      type { dtype: FLOAT32 dim { value: 3 } dim { value: 3 } }
      initializer { identity: true }
      trainable: false
    }
    state { name: "mean" type { dtype: FLOAT32 } next: "stat" }
    region { name: "outer" policy { save_names { v: "h*" } } }
    region { name: "inner" parent: "outer" }
    node { op: "MatMul" input: "x" input: "w1" output: "h1" region: "outer" }
    node {
      op: "LeakyRelu" input: "h1" output: "leakyrelu" region: "inner"
      attribute { name: "alpha" f: 0.5 }
    }
    node {
      op: "Transpose" input: "leakyrelu" output: "transpose" region: "outer"
      attribute { name: "perm" ints { v: [1, 0] } }
    }
    node { op: "Norm" input: "transpose" input: "" output: "" output: "stat" }
    annotation { value: "h1" keep: MUST_SAVE }
    annotation { value: "transpose" keep: MUST_RECOMPUTE }
    output: "transpose"
    loss { value: "stat" weight: 0.5 }
  )",
                                        "expected", expected);
  ASSERT_TRUE(parsed.ok()) << parsed;
  EXPECT_EQ(b.graph().DebugString(), expected.DebugString());
  const OpTable ops(ToyOps());
  const absl::StatusOr<Graph> graph = LoadGraph(b.graph(), ops, {}, "built");
  EXPECT_TRUE(graph.ok()) << graph.status();
}

TEST(GraphBuilderTest, NewNamesAvoidThoseGiven) {
  GraphBuilder b;
  const BuilderValue x = b.Input("relu", DType::kF32, {});
  EXPECT_EQ(b.Add("Relu", {x}, {}, "relu_1").name, "relu_1");
  EXPECT_EQ(b.Add("Relu", {x}).name, "relu_2");
  EXPECT_EQ(b.Add("Relu", {x}).name, "relu_3");
}

TEST(GraphBuilderTest, EveryKindOfAttributeComesBackFromTheLoader) {
  OpDef op = ToyOp("All", 0);
  op.attrs = {
      AttrSpec("i", AttrKind::kInt),     AttrSpec("f", AttrKind::kFloat),
      AttrSpec("s", AttrKind::kString),  AttrSpec("b", AttrKind::kBool),
      AttrSpec("t", AttrKind::kType),    AttrSpec("is", AttrKind::kInts),
      AttrSpec("fs", AttrKind::kFloats), AttrSpec("c", AttrKind::kTensor),
      AttrSpec("d", AttrKind::kTensor)};
  op.infer = [](const OpArgs&) -> InferredTypes {
    return std::vector<TensorType>{{DType::kF32, {}}};
  };
  const OpTable ops({op});
  const Literal literal = {{DType::kU8, {3}}, "abc"};
  GraphBuilder b;
  b.Add("All", {},
        {{"i", 7},
         {"f", 0.25},
         {"s", "text"},
         {"b", true},
         {"t", DType::kI64},
         {"is", Ints{1, -2}},
         {"fs", Floats{0.5f}},
         {"c", IntTensor(DType::kI32, {2}, {258, -1})},
         {"d", AttrValue(literal)}});
  const absl::StatusOr<Graph> graph = LoadGraph(b.graph(), ops, {}, "built");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Attrs& attrs = graph->nodes[0].attrs;
  EXPECT_EQ(attrs.Int("i"), 7);
  EXPECT_EQ(attrs.Float("f"), 0.25f);
  EXPECT_EQ(attrs.String("s"), "text");
  EXPECT_EQ(attrs.Bool("b"), true);
  EXPECT_EQ(attrs.Type("t"), DType::kI64);
  EXPECT_EQ(attrs.IntList("is"), (Ints{1, -2}));
  EXPECT_EQ(attrs.FloatList("fs"), Floats{0.5f});
  // 258 = 0x0102, little-endian.
  EXPECT_EQ(attrs.Tensor("c").data,
            std::string("\x02\x01\x00\x00\xff\xff\xff\xff", 8));
  EXPECT_EQ(attrs.Tensor("d"), literal);
}

TEST(GraphBuilderTest, EveryPolicyComesBackFromTheLoader) {
  const std::vector<proto::Policy> policies = {
      Save::Nothing(),
      Save::Everything(),
      Save::Matmuls(),
      Save::MatmulsWithoutBatchDims(),
      Save::Names({"a", "b*"}),
      Save::AllButNames({"c"}),
      Save::Ops({"Relu"}),
      Save::AnyOf({Save::Matmuls(), Save::Auto()}),
      Save::Auto()};
  const std::vector<std::string> texts = {"save_nothing",
                                          "save_everything",
                                          "save_matmuls",
                                          "save_matmuls_without_batch_dims",
                                          "save_names{a,b*}",
                                          "save_all_but_names{c}",
                                          "save_ops{Relu}",
                                          "any_of{save_matmuls,auto}",
                                          "auto"};
  const OpTable ops(ToyOps());
  for (size_t i = 0; i < policies.size(); ++i) {
    GraphBuilder b;
    b.Region("r", policies[i]).End();
    const absl::StatusOr<Graph> graph = LoadGraph(b.graph(), ops, {}, "built");
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(ToString(graph->regions[0].policy), texts[i]);
  }
}

}  // namespace
}  // namespace reprise
