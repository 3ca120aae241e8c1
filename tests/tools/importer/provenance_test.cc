// What is trained of a model whose exporter tells parameters from constants.

#include <set>
#include <string>
#include <vector>

#include "google/protobuf/unknown_field_set.h"
#include "gtest/gtest.h"
#include "tests/tools/importer/onnx_builder.h"
#include "tools/importer/importer.h"

namespace reprise {
namespace {

// Adds a metadata entry, of the wire: older libraries do not know the field.
void AddMetadata(google::protobuf::Message& message, int field,
                 const std::string& key, const std::string& value) {
  onnx::StringStringEntryProto entry;
  entry.set_key(key);
  entry.set_value(value);
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(
      field, entry.SerializeAsString());
}

void AddFoldedFrom(OnnxBuilder& builder, const std::string& name,
                   const std::string& sources) {
  onnx::ValueInfoProto& value = *builder.graph().add_value_info();
  value.set_name(name);
  AddMetadata(value, 4, "pkg.onnxscript.optimizer.folded_from", sources);
}

// y = x + w + positions + val_1 + val_2 + half + bias, where val_1 is computed
// from w, val_2 from a constant, and of the last two nothing is said.
OnnxBuilder Sums() {
  OnnxBuilder builder;
  builder.Input("x", {"2"}).Output("y");
  std::string sum = "x";
  for (const char* name : {"w", "positions", "val_1", "val_2", "bias"}) {
    builder.Floats(name, {2}, {1, 2});
    builder.Node("Add", {sum, name}, {std::string("sum_") + name});
    sum = std::string("sum_") + name;
  }
  builder.Floats("half", {}, {0.5f});
  builder.Node("Mul", {sum, "half"}, {"y"});
  return builder;
}

OnnxBuilder ExportedSums() {
  OnnxBuilder builder = Sums();
  AddMetadata(builder.graph(), 16, "another", "entry");
  AddMetadata(builder.graph(), 16,
              "pkg.torch.export.ExportedProgram.graph_signature",
              "\n# inputs\np_w: PARAMETER target='w'\n"
              "b_positions: BUFFER target='positions' persistent=True\n"
              "x: USER_INPUT\n\n# outputs\ny: USER_OUTPUT\n");
  AddFoldedFrom(builder, "val_1", "['w', 'val_0']");
  AddFoldedFrom(builder, "val_2", "['val_0', 'positions']");
  return builder;
}

std::set<std::string> Trained(OnnxBuilder& builder,
                              const ImportOptions& options = {}) {
  const absl::StatusOr<ImportedModel> imported = builder.Import(options);
  EXPECT_TRUE(imported.ok()) << imported.status();
  std::set<std::string> names;
  if (!imported.ok()) return names;
  for (const proto::Parameter& parameter : imported->graph.parameter()) {
    if (!parameter.has_trainable() || parameter.trainable()) {
      names.insert(parameter.name());
    }
  }
  return names;
}

using Names = std::set<std::string>;

TEST(ProvenanceTest, AllIsTrainedOfAModelThatSaysNothing) {
  OnnxBuilder builder = Sums();
  EXPECT_EQ(Trained(builder),
            (Names{"w", "positions", "val_1", "val_2", "bias", "half"}));
}

TEST(ProvenanceTest, BuffersAndNumbersOfFormulasAreNotTrained) {
  OnnxBuilder builder = ExportedSums();
  EXPECT_EQ(Trained(builder), (Names{"w", "val_1", "bias"}));
}

TEST(ProvenanceTest, TheUsersWordIsTheLast) {
  OnnxBuilder builder = ExportedSums();
  ImportOptions options;
  options.freeze = {"w", "bias"};
  options.trainable = {"pos*"};
  EXPECT_EQ(Trained(builder, options), (Names{"positions", "val_1"}));
}

// A fill of zeros of the batch's size is no weight where all weights are known.
TEST(ProvenanceTest, FillsAreNotTrainedWhereParametersAreKnown) {
  for (const bool exported : {false, true}) {
    OnnxBuilder builder = exported ? ExportedSums() : Sums();
    builder.Ints("two", {1}, {2}).Output("z");
    builder.Node("ConstantOfShape", {"two"}, {"fill"});
    builder.Node("Add", {"x", "fill"}, {"z"});
    EXPECT_EQ(Trained(builder).count("fill"), exported ? 0u : 1u);
  }
}

TEST(ProvenanceTest, MetadataThatMeanNothingAreNoError) {
  OnnxBuilder builder = Sums();
  google::protobuf::Message& graph = builder.graph();
  google::protobuf::UnknownFieldSet& fields =
      *graph.GetReflection()->MutableUnknownFields(&graph);
  AddMetadata(graph, 16, "pkg.torch.export.ExportedProgram.graph_signature",
              "PARAMETER target=\n: PARAMETER target='\n: BUFFER target=''");
  fields.AddLengthDelimited(16, "\n\x03key");
  EXPECT_EQ(Trained(builder).size(), 5u);
}

}  // namespace
}  // namespace reprise
