#include "tools/importer/importer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

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

// What is added to named dims for other imports: of both parities, and beyond
// most numbers that a model compares a dim with.
constexpr int64_t kTriedSteps[] = {2, 3, 300};

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

// Returns a note for each pattern of --freeze and --trainable that meets no
// name; what functions hold has its names while importing only.
std::vector<std::string> UnmetPatterns(const onnx::ModelProto& model,
                                       const ImportOptions& options) {
  std::vector<std::string> notes;
  if (model.functions_size() > 0) return notes;
  const auto meets = [&model](const std::string& glob) {
    for (const onnx::TensorProto& tensor : model.graph().initializer()) {
      if (MatchesGlob(glob, tensor.name())) return true;
    }
    for (const onnx::NodeProto& node : model.graph().node()) {
      for (const std::string& name : node.output()) {
        if (MatchesGlob(glob, name)) return true;
      }
    }
    return false;
  };
  for (const std::vector<std::string>& globs :
       {options.freeze, options.trainable}) {
    for (const std::string& glob : globs) {
      if (meets(glob)) continue;
      notes.push_back(
          absl::StrCat("no initializer is named like ", Quote(glob)));
    }
  }
  return notes;
}

// Returns the options with the dims that are set under the model's own names.
absl::StatusOr<ImportOptions> WithTheirDims(const onnx::ModelProto& model,
                                            ImportOptions options,
                                            absl::string_view source) {
  const SymbolNames dims = NamesOfDims(model.graph());
  Bindings symbols;
  for (const auto& [name, size] : options.symbols) {
    const auto dim = FindDim(dims, name);
    // What there is not is refused when the inputs are read.
    const std::string& theirs = dim == dims.end() ? name : dim->second;
    if (!symbols.emplace(theirs, size).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(source, ": dim ", Quote(theirs),
                       " is set twice, as symbol ", Quote(dim->first), " too"));
    }
  }
  options.symbols = std::move(symbols);
  return options;
}

// Returns the options with the values that named dims have in the data.
ImportOptions WithDimsOfInputs(const onnx::ModelProto& model,
                               ImportOptions options) {
  for (const onnx::ValueInfoProto& input : model.graph().input()) {
    const auto data = options.inputs.find(input.name());
    if (data == options.inputs.end()) continue;
    const onnx::TensorShapeProto& shape = input.type().tensor_type().shape();
    if (shape.dim_size() != data->second.rank()) continue;  // judged later
    for (int i = 0; i < shape.dim_size(); ++i) {
      const std::string& name = shape.dim(i).dim_param();
      const int64_t size = data->second.dims[i];
      if (!name.empty() && size > 0) options.symbols.emplace(name, size);
    }
  }
  return options;
}

}  // namespace

SymbolNames::const_iterator FindDim(const SymbolNames& symbols,
                                    const std::string& name) {
  const auto ours = symbols.find(name);
  if (ours != symbols.end()) return ours;
  return std::find_if(symbols.begin(), symbols.end(),
                      [&name](const SymbolNames::value_type& symbol) {
                        return symbol.second == name;
                      });
}

absl::StatusOr<ImportedModel> ImportModel(const onnx::ModelProto& model,
                                          const OpTable& ops,
                                          const ImportOptions& asked,
                                          const std::string& folder,
                                          absl::string_view source) {
  ASSIGN_OR_RETURN(ImportOptions named, WithTheirDims(model, asked, source));
  const ImportOptions options = WithDimsOfInputs(model, std::move(named));
  const std::vector<std::string> unmet = UnmetPatterns(model, options);
  ASSIGN_OR_RETURN(ImportedModel imported,
                   ImportOnce(model, ops, options, folder, source));
  const auto loads = [&] {
    return LoadGraph(imported.graph, ops, /*bindings=*/{}, source).status();
  };
  const auto with_notes = [&] {
    imported.notes.insert(imported.notes.end(), unmet.begin(), unmet.end());
    return std::move(imported);
  };
  // What does not load would be blamed on a dim below.
  RETURN_IF_ERROR(loads());
  // A symbol is one only if the model means the same at other values of it.
  // Values at which there is no such model say nothing. Opens `imported`, made
  // with the dims of `from`, if dims are free.
  const auto is_free = [&](const ImportOptions& from,
                           const std::vector<std::string>& names) {
    const proto::Graph before = imported.graph;
    bool free = false;
    for (const int64_t step : kTriedSteps) {
      ImportOptions other = from;
      int64_t added = step;
      for (const std::string& name : names) {
        other.symbols.emplace(name, 1).first->second += added++;
      }
      const absl::StatusOr<ImportedModel> there =
          ImportOnce(model, ops, std::move(other), folder, source);
      if (!there.ok()) continue;
      free = FreeDims(*there, ops, imported);
      if (!free) break;
    }
    if (!free) imported.graph = before;
    return free;
  };
  const auto names_of = [](const ImportedModel& model) {
    std::vector<std::string> names;
    for (const auto& [ours, theirs] : model.symbols) names.push_back(theirs);
    return names;
  };
  const auto refused = [&](const std::string& name) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": dim ", Quote(name),
                     " fixes shapes within the model: give it a value (--set ",
                     name, "=N)"));
  };
  const std::vector<std::string> names = names_of(imported);
  if (names.empty()) return with_notes();
  if (is_free(options, names)) {
    RETURN_IF_ERROR(loads());
    return with_notes();
  }

  // As a rule all are free: one by one only where they are not.
  ImportOptions fixed = options;
  for (const std::string& name : names) {
    if (names.size() <= kMostTriedDims && is_free(options, {name})) continue;
    if (options.symbols.find(name) == options.symbols.end()) {
      return refused(name);
    }
    fixed.fixed_symbols.insert(name);
  }
  ASSIGN_OR_RETURN(imported, ImportOnce(model, ops, fixed, folder, source));
  // What was opened for the others went with the graph that this one replaces.
  const std::vector<std::string> left = names_of(imported);
  if (!left.empty() && !is_free(fixed, left)) return refused(left.front());
  for (const std::string& name : fixed.fixed_symbols) {
    imported.notes.push_back(absl::StrCat("dim ", Quote(name),
                                          " fixes shapes: it is ",
                                          fixed.symbols[name], " for good"));
  }
  RETURN_IF_ERROR(loads());
  return with_notes();
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
  nlohmann::ordered_json names = {
      {"values", imported.names},
      {"symbols", nlohmann::ordered_json::object()}};
  for (const proto::Symbol& symbol : imported.graph.symbol()) {
    names["symbols"][symbol.name()] = imported.symbols.at(symbol.name());
  }
  // Nothing has asked names of dims to be UTF-8.
  const std::string text =
      names.dump(/*indent=*/2, /*indent_char=*/' ', /*ensure_ascii=*/false,
                 nlohmann::ordered_json::error_handler_t::replace);
  RETURN_IF_ERROR(
      ReplaceFile(absl::StrCat(folder, "/names.json"), {text, "\n"}));
  return WriteGraphFile(imported.graph,
                        absl::StrCat(folder, "/model.textproto"));
}

}  // namespace reprise
