#include "tools/importer/importer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/file.h"
#include "core/load.h"
#include "core/names.h"
#include "core/safetensors.h"
#include "core/status_macros.h"
#include "nlohmann/json.hpp"
#include "tools/importer/free_dims.h"
#include "tools/importer/graph_importer.h"

namespace reprise {
namespace {

// More named dims are not tried one by one: each takes an import.
constexpr size_t kMostTriedDims = 8;

// Imports with the dims as `options` say, binding what turns out to be needed.
absl::StatusOr<ImportedModel> ImportOnce(const onnx::ModelProto& model,
                                         const OpTable& ops,
                                         ImportOptions options,
                                         const std::string& folder,
                                         absl::string_view source) {
  while (true) {
    GraphImporter importer(model, ops, options, folder, source);
    absl::StatusOr<ImportedModel> imported = importer.Import();
    if (importer.needed().empty()) return imported;
    // Each round binds at least one input more, of those there are.
    for (const std::string& name : importer.needed()) {
      options.bind.insert(options.bind_if_needed.extract(name));
    }
  }
}

}  // namespace

absl::StatusOr<ImportedModel> ImportModel(const onnx::ModelProto& model,
                                          const OpTable& ops,
                                          const ImportOptions& options,
                                          const std::string& folder,
                                          absl::string_view source) {
  ASSIGN_OR_RETURN(ImportedModel imported,
                   ImportOnce(model, ops, options, folder, source));
  // A symbol is one only if the model means the same at another value of it.
  // As a rule all are: that takes one import more.
  ImportOptions fixed = options;
  const auto is_free = [&](const std::vector<std::string>& names) {
    ImportOptions other = options;
    int64_t added = 0;
    for (const std::string& name : names) {
      other.symbols.emplace(name, 1).first->second += ++added + 1;
    }
    const absl::StatusOr<ImportedModel> there =
        ImportOnce(model, ops, other, folder, source);
    return there.ok() && FreeDims(*there, ops, imported);
  };
  std::vector<std::string> names;
  for (const auto& [ours, theirs] : imported.symbols) names.push_back(theirs);
  if (!names.empty() && !is_free(names)) {
    for (const std::string& name : names) {
      if (names.size() <= kMostTriedDims && is_free({name})) continue;
      if (options.symbols.find(name) == options.symbols.end()) {
        return absl::InvalidArgumentError(absl::StrCat(
            source, ": dim ", Quote(name),
            " fixes shapes within the model: give it a value (--set ", name,
            "=N)"));
      }
      fixed.fixed_symbols.insert(name);
    }
  }
  if (!fixed.fixed_symbols.empty()) {
    ASSIGN_OR_RETURN(imported, ImportOnce(model, ops, fixed, folder, source));
    for (const std::string& name : fixed.fixed_symbols) {
      imported.notes.push_back(absl::StrCat("dim ", Quote(name),
                                            " fixes shapes: it is ",
                                            fixed.symbols[name], " for good"));
    }
  }
  RETURN_IF_ERROR(
      LoadGraph(imported.graph, ops, /*bindings=*/{}, source).status());
  return imported;
}

absl::StatusOr<ImportedModel> ImportFile(const std::string& path,
                                         const OpTable& ops,
                                         const ImportOptions& options) {
  ASSIGN_OR_RETURN(const onnx::ModelProto model, ReadOnnxModel(path));
  const size_t slash = path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  return ImportModel(model, ops, options, folder, path);
}

absl::Status WriteImported(const ImportedModel& imported,
                           const std::string& folder) {
  std::vector<TensorView> tensors;
  for (const NamedArray& weight : imported.weights) {
    tensors.push_back(
        {weight.name, weight.array.type, weight.array.data.data()});
  }
  RETURN_IF_ERROR(WriteSafetensors(absl::StrCat(folder, "/weights.safetensors"),
                                   tensors, {{"format", "reprise weights 1"}}));
  const nlohmann::ordered_json names(imported.names);
  const std::string text = names.dump(2);
  RETURN_IF_ERROR(
      ReplaceFile(absl::StrCat(folder, "/names.json"), {text, "\n"}));
  return WriteGraphFile(imported.graph,
                        absl::StrCat(folder, "/model.textproto"));
}

}  // namespace reprise
