// The model that a command is given: a graph file, or an ONNX file, which is
// imported on the way.

#ifndef TOOLS_COMMANDS_MODEL_SOURCE_H_
#define TOOLS_COMMANDS_MODEL_SOURCE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/trainer.h"
#include "tools/commands/command.h"
#include "tools/importer/importer.h"

namespace reprise {

// --bind, --freeze, --trainable, --train-batch-norm, --loss, --head.
struct ImportFlags {
  std::vector<std::string> binds;  // "INPUT=FILE"
  std::vector<std::string> freeze;
  std::vector<std::string> trainable;
  bool train_batch_norm = false;
  std::string loss;
  int64_t head = 0;

  void Add(CLI::App& app);

  // Whether any of them is given.
  bool given() const;

  // Reads the files of --bind: .npy, or .pb as ONNX's test data are.
  //
  //   symbols: values of --set.
  //   errors:  InvalidArgument naming a symbol that is set to 0, which an
  //            imported model cannot have as default; those of reading.
  absl::StatusOr<ImportOptions> Read(const Bindings& symbols) const;
};

// A graph, and the weights that come with it.
struct ModelSource {
  std::string path;
  proto::Graph graph;
  std::vector<NamedArray> weights;  // of an ONNX file
  SymbolNames symbols;              // likewise
  bool imported = false;

  // Gives the weights that came with the model to a trainer of it.
  absl::Status SetWeights(Trainer& trainer) const;
};

// Reads a graph file, or imports an ONNX file and notes on `console.err` what
// was decided.
//
//   inputs: types of the data at hand, which tell an ONNX file's named dims.
//   errors: those of ReadGraphFile and ImportFile; InvalidArgument for import
//           flags where nothing is imported.
absl::StatusOr<ModelSource> ReadModel(
    const std::string& path, const ImportFlags& flags, const Bindings& symbols,
    const Console& console, std::map<std::string, TensorType> inputs = {});

}  // namespace reprise

#endif  // TOOLS_COMMANDS_MODEL_SOURCE_H_
