#include "core/load.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/graph_builder.h"
#include "core/op_table.h"
#include "core/proto_file.h"
#include "core/random.h"
#include "gtest/gtest.h"
#include "tests/testing/test_path.h"
#include "tests/testing/toy_ops.h"

namespace reprise {
namespace {

proto::Graph Parse(absl::string_view text) {
  proto::Graph graph;
  const absl::Status status = ParseText(text, "test", graph);
  EXPECT_TRUE(status.ok()) << status;
  return graph;
}

std::vector<std::string> NodeNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.push_back(node.name);
  return names;
}

// One of everything that a file can hold.
proto::Graph EverythingGraph() {
  GraphBuilder b("everything");
  const BuilderDim batch = b.Symbol("batch", 4);
  const BuilderValue x = b.Input("x", DType::kF32, {batch, 3});
  const BuilderValue w = b.Parameter("w", {3, 2}, Init::Normal(0, 1));
  const BuilderValue mask =
      b.Frozen("mask", DType::kF32, {2}, Init::Value(FloatTensor({2}, {0, 1})));
  const BuilderValue mean = b.State("mean", DType::kF32, {});
  GraphBuilder::Scope outer = b.Region("outer", Save::Names({"h*", "y"}));
  GraphBuilder::Scope inner =
      b.Region("inner", Save::AnyOf({Save::Matmuls(), Save::Ops({"Relu"})}));
  const BuilderValue h = b.Add("MatMul", {x, w}, {}, "h");
  inner.End();
  const BuilderValue y = b.Add("LeakyRelu", {h}, {{"alpha", 0.25}}, "y");
  outer.End();
  const std::vector<BuilderValue> norm =
      b.AddMany("Norm", {y}, {}, {"n", "stat"});
  b.Add("Concat", {mask, mask}, {{"axis", 0}}, "masks");
  b.SetNext(mean, norm[1]);
  b.MustSave(h);
  b.Output(norm[0]);
  b.Loss(norm[1], 2);
  return b.graph();
}

TEST(LoadGraphTest, HoldsWhatTheFileSays) {
  const OpTable ops(ToyOps());
  const absl::StatusOr<Graph> loaded =
      LoadGraph(EverythingGraph(), ops, {{"batch", 8}}, "test");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const Graph& graph = *loaded;
  EXPECT_EQ(graph.name, "everything");
  EXPECT_EQ(graph.symbols.at("batch"), 8);
  EXPECT_EQ(NodeNames(graph),
            (std::vector<std::string>{"h", "y", "n", "masks"}));

  const ValueId x = graph.FindValue("x");
  const ValueId w = graph.FindValue("w");
  const ValueId h = graph.FindValue("h");
  EXPECT_EQ(graph.inputs, std::vector<ValueId>{x});
  EXPECT_EQ(ToString(graph.values[x].type), "f32[8,3]");
  EXPECT_EQ(graph.values[x].kind, ValueKind::kInput);
  EXPECT_EQ(graph.nodes[0].in, (std::vector<ValueId>{x, w}));
  EXPECT_EQ(graph.nodes[0].out, std::vector<ValueId>{h});
  EXPECT_EQ(ToString(graph.values[h].type), "f32[8,2]");
  EXPECT_EQ(graph.values[h].producer, 0);
  EXPECT_EQ(graph.nodes[1].attrs.Float("alpha"), 0.25f);
  EXPECT_EQ(graph.values[graph.nodes[2].out[1]].output, 1);

  ASSERT_EQ(graph.parameters.size(), 2u);
  EXPECT_TRUE(graph.parameters[0].trainable);
  EXPECT_EQ(graph.parameters[0].initializer.normal().stddev(), 1);
  EXPECT_FALSE(graph.parameters[1].trainable);
  ASSERT_EQ(graph.states.size(), 1u);
  EXPECT_EQ(graph.states[0].next, graph.FindValue("stat"));

  ASSERT_EQ(graph.regions.size(), 2u);
  EXPECT_EQ(graph.regions[1].name, "inner");
  EXPECT_EQ(graph.regions[1].parent, 0);
  EXPECT_EQ(graph.nodes[0].region, 1);
  EXPECT_EQ(graph.nodes[1].region, 0);
  EXPECT_EQ(graph.nodes[2].region, kNoRegion);
  EXPECT_EQ(ToString(graph.regions[1].policy),
            "any_of{save_matmuls,save_ops{Relu}}");

  EXPECT_EQ(graph.annotations, (std::map<ValueId, Keep>{{h, Keep::kMustSave}}));
  EXPECT_EQ(graph.outputs, std::vector<ValueId>{graph.FindValue("n")});
  ASSERT_EQ(graph.losses.size(), 1u);
  EXPECT_EQ(graph.losses[0].weight, 2);
}

TEST(LoadGraphTest, FillsInWhatIsLeftOut) {
  const OpTable ops(ToyOps());
  const absl::StatusOr<Graph> graph = LoadGraph(Parse(R"(
    format_version: 1
    parameter { name: "w" type { dtype: FLOAT32 } }
    parameter { name: "i" type { dtype: INT32 } }
    region { name: "r" }
    node { op: "LeakyRelu" input: "w" input: "" output: "y" region: "r" }
    node { op: "Norm" input: "y" output: "n" output: "" }
    node { op: "ReduceSum" input: "n" output: "l" }
    loss { value: "l" }
  )"),
                                                ops, {}, "test");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->nodes[0].name, "y");
  EXPECT_EQ(graph->nodes[0].attrs.Float("alpha"), 0.01f);
  EXPECT_EQ(graph->nodes[0].in.size(), 1u);  // a last absent operand is none
  EXPECT_EQ(graph->nodes[1].out.size(), 1u);
  EXPECT_EQ(graph->regions[0].policy.kind, Policy::Kind::kSaveNothing);
  EXPECT_TRUE(graph->parameters[0].trainable);
  EXPECT_FALSE(graph->parameters[1].trainable);
  EXPECT_EQ(graph->losses[0].weight, 1);
}

TEST(LoadGraphTest, ZeroIsADim) {
  const OpTable ops(ToyOps());
  const absl::StatusOr<Graph> graph =
      LoadGraph(EverythingGraph(), ops, {{"batch", 0}}, "test");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(ToString(graph->values[graph->FindValue("h")].type), "f32[0,2]");
}

TEST(LoadGraphTest, ASymbolWithoutADefaultMustBeSet) {
  const OpTable ops(ToyOps());
  const proto::Graph graph = Parse(
      "format_version: 1 symbol { name: \"n\" } "
      "input { name: \"x\" type { dtype: FLOAT32 dim { symbol: \"n\" } } }");
  const absl::StatusOr<Graph> bound = LoadGraph(graph, ops, {{"n", 3}}, "test");
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(ToString(bound->values[0].type), "f32[3]");
  const absl::Status status = LoadGraph(graph, ops, {}, "test").status();
  EXPECT_TRUE(absl::StrContains(
      status.message(),
      "symbol 'n': default_value must be at least 1, got 0; without one it "
      "must be set (--set SYMBOL=N)"))
      << status;
}

// d needs b and c, b needs a: from file order d c b a, searching d first finds
// b's producer a, then b, then c.
TEST(LoadGraphTest, NodesAreSortedStably) {
  const OpTable ops(ToyOps());
  const std::string head =
      "format_version: 1 input { name: \"x\" type { dtype: FLOAT32 } }";
  const std::string a = "node { op: \"Relu\" input: \"x\" output: \"a\" }";
  const std::string b = "node { op: \"Relu\" input: \"a\" output: \"b\" }";
  const std::string c = "node { op: \"Relu\" input: \"x\" output: \"c\" }";
  const std::string d =
      "node { op: \"Add\" input: \"b\" input: \"c\" output: \"d\" }";
  EXPECT_EQ(NodeNames(*LoadGraph(Parse(head + d + c + b + a), ops, {}, "t")),
            (std::vector<std::string>{"a", "b", "c", "d"}));
  // Orders that can run stay as they are.
  EXPECT_EQ(NodeNames(*LoadGraph(Parse(head + c + a + b + d), ops, {}, "t")),
            (std::vector<std::string>{"c", "a", "b", "d"}));
}

TEST(LoadGraphTest, RegionsNeedNotBeContiguous) {
  const OpTable ops(ToyOps());
  // r holds a and c, b is loose and independent of both.
  const absl::StatusOr<Graph> graph = LoadGraph(Parse(R"(
    format_version: 1
    input { name: "x" type { dtype: FLOAT32 } }
    region { name: "r" }
    node { op: "Relu" input: "x" output: "a" region: "r" }
    node { op: "Relu" input: "x" output: "b" }
    node { op: "Relu" input: "a" output: "c" region: "r" }
    node { op: "Add" input: "b" input: "c" output: "d" }
  )"),
                                                ops, {}, "test");
  EXPECT_TRUE(graph.ok()) << graph.status();
}

TEST(LoadGraphTest, SixtyFourRegionsMayNest) {
  const OpTable ops(ToyOps());
  GraphBuilder b;
  BuilderValue v = b.Input("x", DType::kF32, {});
  std::vector<GraphBuilder::Scope> scopes;
  for (int i = 0; i < 64; ++i) {
    scopes.push_back(b.Region(absl::StrCat("r", i)));
    v = b.Add("Relu", {v});
  }
  while (!scopes.empty()) scopes.pop_back();
  const absl::StatusOr<Graph> graph = LoadGraph(b.graph(), ops, {}, "test");
  EXPECT_TRUE(graph.ok()) << graph.status();
}

TEST(LoadGraphTest, ANameThatNoPolicyMeetsIsNoError) {
  const OpTable ops(ToyOps());
  GraphBuilder b;
  GraphBuilder::Scope region = b.Region("r", Save::Names({"nobody", "no*"}));
  b.Add("Relu", {b.Input("x", DType::kF32, {})});
  region.End();
  EXPECT_TRUE(LoadGraph(b.graph(), ops, {}, "test").ok());
}

// A chain in reverse order is the deepest search there is.
TEST(LoadGraphTest, LongChainsNeedNoStack) {
  const OpTable ops(ToyOps());
  constexpr int kLength = 200'000;
  proto::Graph file;
  file.set_format_version(1);
  proto::Input& x = *file.add_input();
  x.set_name("v0");
  x.mutable_type()->set_dtype(proto::FLOAT32);
  for (int i = kLength; i > 0; --i) {
    proto::Node& node = *file.add_node();
    node.set_op("Relu");
    node.add_input(absl::StrCat("v", i - 1));
    node.add_output(absl::StrCat("v", i));
  }
  const absl::StatusOr<Graph> graph = LoadGraph(file, ops, {}, "test");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->nodes.front().name, "v1");
  EXPECT_EQ(graph->nodes.back().name, absl::StrCat("v", kLength));
  // The first node reads the last one's result: one cycle through all.
  file.mutable_node(kLength - 1)->set_input(0, absl::StrCat("v", kLength));
  const absl::Status cycle = LoadGraph(file, ops, {}, "test").status();
  EXPECT_TRUE(absl::StrContains(cycle.message(), "... (199994 more) -> "))
      << cycle;
  EXPECT_LT(cycle.message().size(), 300u);
}

TEST(LoadGraphTest, DeepRegionTreesAreRefusedNotFollowed) {
  const OpTable ops(ToyOps());
  proto::Graph file;
  file.set_format_version(1);
  for (int i = 0; i < 10'000; ++i) {
    proto::Region& region = *file.add_region();
    region.set_name(absl::StrCat("r", i));
    if (i > 0) region.set_parent(absl::StrCat("r", i - 1));
  }
  EXPECT_TRUE(
      absl::StrContains(LoadGraph(file, ops, {}, "t").status().message(),
                        "regions are nested at most 64 deep"));
}

TEST(LoadGraphTest, CountsAreCapped) {
  const OpTable ops(ToyOps());
  proto::Graph file;
  file.set_format_version(1);
  for (int i = 0; i < 2'000'001; ++i) file.add_output();
  EXPECT_EQ(LoadGraph(file, ops, {}, "t").status().message(),
            "t: a graph has at most 2000000 outputs, got 2000001");
}

TEST(LoadGraphTest, FieldsUnknownToThisVersionAreRefused) {
  const OpTable ops(ToyOps());
  // Field 99, a varint 1, inside a node: tag 99 << 3 = 792 = 0x18 | 6 << 7.
  proto::Graph file = EverythingGraph();
  ASSERT_TRUE(file.mutable_node(0)->MergeFromString("\x98\x06\x01"));
  EXPECT_EQ(LoadGraph(file, ops, {}, "t").status().message(),
            "t: node 'h' (MatMul): unknown field 99 in a Node");
}

TEST(GraphFileTest, TextAndBinaryHoldTheSameMessage) {
  const proto::Graph graph = EverythingGraph();
  for (const absl::string_view name : {"g.textproto", "g.pb"}) {
    const std::string path = TestPath(name);
    ASSERT_TRUE(WriteGraphFile(graph, path).ok());
    const absl::StatusOr<proto::Graph> read = ReadGraphFile(path);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->DebugString(), graph.DebugString());
  }
}

TEST(GraphFileTest, WhatIsNoFileIsNamed) {
  const std::string path = TestPath("absent.pb");
  const absl::Status absent = ReadGraphFile(path).status();
  EXPECT_EQ(absent.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StartsWith(absent.message(), path)) << absent;
  EXPECT_TRUE(
      absl::StrContains(ReadGraphFile(::testing::TempDir()).status().message(),
                        "is not a regular file"));
}

// A bound, like Clip's, may be infinite; an element of results, like Pad's, may
// be anything.
TEST(LoadGraphTest, NumbersThatMayBeInfiniteAre) {
  OpDef clip = ToyOp("Clip", 1);
  clip.attrs = {AttrSpec("min", 0.0f).Allowing(FloatRange::kInfinite),
                AttrSpec("max", 1.0f).Allowing(FloatRange::kInfinite)};
  OpDef pad = ToyOp("Pad", 1);
  pad.attrs = {AttrSpec("value", 0.0f).Allowing(FloatRange::kAny)};
  OpDef scaled = ToyOp("Scaled", 1);
  scaled.attrs = {AttrSpec("scales", AttrKind::kFloats)};
  const OpTable ops({clip, pad, scaled});
  const auto load = [&ops](absl::string_view op, absl::string_view attribute) {
    const proto::Graph graph = Parse(absl::StrCat(
        "format_version: 1 input { name: \"x\" type { dtype: FLOAT32 } } "
        "node { name: \"n\" op: \"",
        op, "\" input: \"x\" output: \"y\" attribute { ", attribute, " } }"));
    return std::string(LoadGraph(graph, ops, {}, "").status().message());
  };
  EXPECT_EQ(load("Clip", "name: \"max\" f: 6"), "");
  EXPECT_EQ(load("Clip", "name: \"min\" f: inf"), "");
  EXPECT_EQ(load("Clip", "name: \"max\" f: -inf"), "");
  EXPECT_EQ(load("Pad", "name: \"value\" f: -inf"), "");
  EXPECT_EQ(load("Pad", "name: \"value\" f: nan"), "");
  EXPECT_TRUE(absl::StrContains(
      load("Clip", "name: \"min\" f: nan"),
      "node 'n' (Clip): attribute 'min' must be a number, got nan"));
  EXPECT_TRUE(absl::StrContains(
      load("Scaled", "name: \"scales\" floats { v: [1, inf] }"),
      "node 'n' (Scaled): attribute 'scales' must be finite, got inf"));
}

// Loads whatever `bytes` are: an error or not, but an answer.
void LoadWhatever(const std::string& bytes, const OpTable& ops) {
  proto::Graph binary;
  if (ParseBinary(bytes, "t", binary).ok()) {
    LoadGraph(binary, ops, {}, "t").status().IgnoreError();
  }
  proto::Graph text;
  if (ParseText(bytes, "t", text).ok()) {
    LoadGraph(text, ops, {}, "t").status().IgnoreError();
  }
}

TEST(LoadGraphTest, PrefixesAndFlippedBitsNeverCrash) {
  const OpTable ops(ToyOps());
  const proto::Graph graph = EverythingGraph();
  for (const std::string& good :
       {graph.SerializeAsString(), graph.DebugString()}) {
    for (size_t n = 0; n <= good.size(); ++n) {
      LoadWhatever(good.substr(0, n), ops);
    }
    for (uint64_t i = 0; i < 5000; ++i) {
      std::string bad = good;
      const uint64_t bits = RandomBits(3, i);
      bad[bits % bad.size()] ^= static_cast<char>(1 << (bits >> 32) % 8);
      LoadWhatever(bad, ops);
    }
  }
}

}  // namespace
}  // namespace reprise
