// From an ONNX model to a graph of ours and its weights.
//
// Initializers become parameters, trained unless frozen; nodes become nodes of
// the operator of the same name. What ONNX computes with shapes (Shape, Gather,
// Concat, ...) is computed here, once; operands that fix a shape or a mode are
// attributes of ours and must come out of that as constants.
//
// docs/import.md says what is supported and how versions of operators differ.

#ifndef TOOLS_IMPORTER_IMPORTER_H_
#define TOOLS_IMPORTER_IMPORTER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/load.h"
#include "core/op_table.h"
#include "onnx/onnx_pb.h"
#include "proto/graph.pb.h"
#include "tools/data/array.h"

namespace reprise {

// Our names of symbols to the model's names of the dims that they are. A name
// of the model that a graph allows is ours, too: no name means two dims.
using SymbolNames = std::map<std::string, std::string>;

// Returns the entry of the dim that is called `name` here or in the model;
// end() if there is none.
SymbolNames::const_iterator FindDim(const SymbolNames& symbols,
                                    const std::string& name);

struct ImportOptions {
  // Content of graph inputs, by their names in the model, which become
  // constants.
  std::map<std::string, Array> bind;

  // Likewise, of inputs that become constants only where an operand must be
  // one; the others stay inputs.
  std::map<std::string, Array> bind_if_needed;

  // Values of named dims while importing, by either of their names; others are
  // 1. A dim that fixes nothing stays a symbol with this default.
  Bindings symbols;

  // Types of the data at hand, by the inputs' names in the model: named dims
  // that `symbols` lacks get the values that they have there.
  std::map<std::string, TensorType> inputs;

  // Named dims that are numbers in the graph, not symbols: those that shapes
  // within the model depend on. ImportModel finds them.
  std::set<std::string> fixed_symbols;

  // Patterns of initializers' names, in the model, in which `*` stands for any
  // run of characters: not trained, and trained after all.
  std::vector<std::string> freeze;
  std::vector<std::string> trainable;

  // Batch normalizations of inference mode use the batch in training steps, and
  // move their running statistics.
  bool train_batch_norm = false;

  // A loss on the first output, with an input of its own for what it should
  // be: "softmax_cross_entropy", "mse"; empty: none.
  std::string loss;

  // New rows of the last dense layer, which is initialized anew; 0: it stays.
  int64_t head = 0;
};

// A parameter and what the model gives it.
struct NamedArray {
  std::string name;  // ours
  Array array;
};

struct ImportedModel {
  proto::Graph graph;
  std::vector<NamedArray> weights;  // each parameter's, in the graph's order

  // Our names to the model's, where they differ.
  std::map<std::string, std::string> names;

  // What stands in the graph for the model's inputs and outputs, in order;
  // inputs that became constants: empty.
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;

  // Outputs that are gradients of the loss by an input (operator Gradient):
  // output index to the input's name in the graph.
  std::map<int, std::string> gradients;

  SymbolNames symbols;

  // A node asks for training semantics by itself (training_mode).
  bool training_mode = false;

  // What was left out or decided, one sentence each.
  std::vector<std::string> notes;
};

// Returns the graph of `model`, checked as LoadGraph checks it.
//
//   ops:    the operators there are.
//   folder: of external data; empty: none.
//   source: named at the start of every error.
//   errors: InvalidArgument listing everything that is wrong or unsupported,
//           one a line, with node names.
absl::StatusOr<ImportedModel> ImportModel(const onnx::ModelProto& model,
                                          const OpTable& ops,
                                          const ImportOptions& options,
                                          const std::string& folder,
                                          absl::string_view source);

// ReadOnnxModel and ImportModel.
absl::StatusOr<ImportedModel> ImportFile(const std::string& path,
                                         const OpTable& ops,
                                         const ImportOptions& options);

// Writes DIR/model.textproto, DIR/weights.safetensors and DIR/names.json (our
// names to the model's: of values where they differ, and of all symbols).
absl::Status WriteImported(const ImportedModel& imported,
                           const std::string& folder);

}  // namespace reprise

#endif  // TOOLS_IMPORTER_IMPORTER_H_
