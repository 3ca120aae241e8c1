#include <functional>
#include <string>
#include <vector>

#include "core/load.h"
#include "core/op_table.h"
#include "core/proto_file.h"
#include "core/sha256.h"
#include "gtest/gtest.h"
#include "tests/testing/toy_ops.h"

namespace reprise {
namespace {

constexpr char kModel[] = R"(
  format_version: 1
  symbol { name: "batch" default_value: 4 }
  input { name: "x" type { dtype: FLOAT32 dim { symbol: "batch" } } }
  parameter { name: "w" type { dtype: FLOAT32 dim { symbol: "batch" } } }
  state { name: "s" type { dtype: FLOAT32 } next: "l" }
  region { name: "r" }
  node { name: "sum" op: "ReduceSum" input: "a" output: "l" }
  node { name: "act" op: "LeakyRelu" input: "h" output: "a" }
  node { name: "add" op: "Add" input: "x" input: "w" output: "h" }
  output: "a"
  loss { value: "l" }
)";

using Edit = std::function<void(proto::Graph&)>;

Fingerprints After(const Edit& edit, const Bindings& bindings = {}) {
  proto::Graph file;
  EXPECT_TRUE(ParseText(kModel, "test", file).ok());
  edit(file);
  const OpTable ops(ToyOps());
  const absl::StatusOr<Graph> graph = LoadGraph(file, ops, bindings, "test");
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? FingerprintsOf(*graph) : Fingerprints();
}

Fingerprints Plain() {
  return After([](proto::Graph&) {});
}

// Pinned: a fingerprint that changes with the program locks people out.
TEST(FingerprintTest, IsTheDigestOfTheCanonicalText) {
  EXPECT_EQ(Plain().parameters, Sha256Hex("reprise parameters 1\n"
                                          "parameter w f32[4]\n"
                                          "state s f32[]\n"));
  // 0.01f is 0x3c23d70a, 1.0f is 0x3f800000.
  EXPECT_EQ(Plain().math, Sha256Hex("reprise math 1\n"
                                    "input x f32[4]\n"
                                    "parameter w f32[4] trained\n"
                                    "state s f32[] (l)\n"
                                    "node add Add{} (x,w) (h)\n"
                                    "node act LeakyRelu{alpha=0.01/3c23d70a} "
                                    "(h) (a)\n"
                                    "node sum ReduceSum{} (a) (l)\n"
                                    "outputs (a)\n"
                                    "loss l 3f800000\n"));
}

TEST(FingerprintTest, AnnotationsAndTitlesChangeNothing) {
  const Fingerprints annotated = After([](proto::Graph& file) {
    file.set_name("another title");
    file.mutable_node(0)->set_region("r");
    file.mutable_region(0)->mutable_policy()->set_save_matmuls(true);
    proto::ValueAnnotation& annotation = *file.add_annotation();
    annotation.set_value("h");
    annotation.set_keep(proto::ValueAnnotation::MUST_SAVE);
    file.mutable_parameter(0)->mutable_initializer()->set_constant(3);
  });
  EXPECT_EQ(annotated.parameters, Plain().parameters);
  EXPECT_EQ(annotated.math, Plain().math);
}

TEST(FingerprintTest, FileOrderAndDefaultsWrittenOutChangeNothing) {
  const Fingerprints same = After([](proto::Graph& file) {
    file.mutable_node()->SwapElements(0, 2);
    proto::Attribute& alpha = *file.mutable_node(1)->add_attribute();
    alpha.set_name("alpha");
    alpha.set_f(0.01f);
    file.mutable_loss(0)->set_weight(1);
  });
  EXPECT_EQ(same.math, Plain().math);
}

TEST(FingerprintTest, WhatIsComputedChangesMathOnly) {
  const std::vector<Edit> edits = {
      [](proto::Graph& file) { file.mutable_node(0)->set_name("renamed"); },
      [](proto::Graph& file) { file.mutable_node(1)->set_op("Relu"); },
      [](proto::Graph& file) { file.mutable_node(2)->set_input(1, "x"); },
      [](proto::Graph& file) { file.mutable_loss(0)->set_weight(2); },
      [](proto::Graph& file) { file.clear_output(); },
      [](proto::Graph& file) {
        file.mutable_parameter(0)->set_trainable(false);
      },
      [](proto::Graph& file) {
        proto::Attribute& alpha = *file.mutable_node(1)->add_attribute();
        alpha.set_name("alpha");
        alpha.set_f(0.02f);
      }};
  for (size_t i = 0; i < edits.size(); ++i) {
    const Fingerprints edited = After(edits[i]);
    EXPECT_EQ(edited.parameters, Plain().parameters) << i;
    EXPECT_NE(edited.math, Plain().math) << i;
  }
}

TEST(FingerprintTest, TheBindingCountsWhereItReachesTypes) {
  const auto nothing = [](proto::Graph&) {};
  EXPECT_NE(After(nothing, {{"batch", 8}}).math, Plain().math);
}

TEST(FingerprintTest, NamesAndTypesOfParametersChangeBoth) {
  const Fingerprints edited = After([](proto::Graph& file) {
    file.mutable_parameter(0)->set_name("v");
    file.mutable_node(2)->set_input(1, "v");
  });
  EXPECT_NE(edited.parameters, Plain().parameters);
  EXPECT_NE(edited.math, Plain().math);
}

}  // namespace
}  // namespace reprise
