// Importing, first part: operator sets, names, and the values that no node
// makes.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/names.h"
#include "core/status_macros.h"
#include "tools/importer/graph_importer.h"

namespace reprise {
namespace {

constexpr int64_t kOldestVersion = 7;
constexpr int64_t kNewestVersion = 25;

// Ok if content of type `bound` can be that of the input. Dims by name or below
// 0, and what the model does not say, may be anything.
absl::Status CheckBound(const onnx::ValueInfoProto& input,
                        const TensorType& bound) {
  if (!input.type().has_tensor_type()) return absl::OkStatus();
  const onnx::TypeProto::Tensor& tensor = input.type().tensor_type();
  const absl::StatusOr<DType> dtype = DTypeOfOnnx(tensor.elem_type());
  const bool any_dtype =
      tensor.elem_type() == onnx::TensorProto_DataType_UNDEFINED;
  bool fits = any_dtype || (dtype.ok() && *dtype == bound.dtype);
  std::vector<std::string> dims;
  for (int i = 0; i < tensor.shape().dim_size(); ++i) {
    const onnx::TensorShapeProto::Dimension& dim = tensor.shape().dim(i);
    dims.push_back(dim.has_dim_value() ? absl::StrCat(dim.dim_value())
                                       : Quote(NameOfDim(input, i)));
    if (!dim.has_dim_value() || dim.dim_value() < 0) continue;
    fits = fits && i < bound.rank() && dim.dim_value() == bound.dims[i];
  }
  fits = fits && (!tensor.has_shape() ||
                  tensor.shape().dim_size() == static_cast<int>(bound.rank()));
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "is ",
      dtype.ok() ? std::string(ToString(*dtype))
                 : OnnxTypeName(tensor.elem_type()),
      tensor.has_shape() ? absl::StrCat("[", absl::StrJoin(dims, ","), "]")
                         : std::string(" of any shape"),
      " in the model, what is bound to it (--bind) is ", ToString(bound)));
}

}  // namespace

std::string NameOfDim(const onnx::ValueInfoProto& input, int axis) {
  const onnx::TensorShapeProto::Dimension& dim =
      input.type().tensor_type().shape().dim(axis);
  if (dim.has_dim_value()) return "";
  if (!dim.dim_param().empty()) return dim.dim_param();
  return absl::StrCat(input.name(), ".dim", axis);
}

SymbolNames NamesOfDims(const onnx::GraphProto& graph) {
  std::vector<std::string> theirs;
  NameMap names;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    for (int i = 0; i < input.type().tensor_type().shape().dim_size(); ++i) {
      std::string name = NameOfDim(input, i);
      if (name.empty()) continue;
      names.Reserve(name);
      theirs.push_back(std::move(name));
    }
  }
  SymbolNames symbols;
  for (const std::string& name : theirs) symbols[names.Map(name)] = name;
  return symbols;
}

void GraphImporter::ReadOperatorSets() {
  for (const onnx::OperatorSetIdProto& set : model_.opset_import()) {
    const std::string domain = set.domain() == "ai.onnx" ? "" : set.domain();
    versions_[domain] = set.version();
    if (domain.empty() &&
        (set.version() < kOldestVersion || set.version() > kNewestVersion)) {
      errors_.Add(absl::StrCat("operator set ", set.version(),
                               " is not supported; ", kOldestVersion, " to ",
                               kNewestVersion, " are"));
    }
  }
  if (versions_.empty()) {
    errors_.Add(
        "a model names its operator sets (opset_import), this one none");
  }
}

ImportId GraphImporter::AddValue(absl::string_view theirs) {
  const ImportId id = static_cast<ImportId>(values_.size());
  values_.emplace_back();
  values_.back().theirs = std::string(theirs);
  values_.back().ours = names_.Map(theirs);
  by_name_[std::string(theirs)] = id;
  return id;
}

absl::Status GraphImporter::Declare(absl::string_view name, int32_t node) {
  if (!IsUtf8(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("name ", Quote(name), " is not UTF-8"));
  }
  if (!made_by_.emplace(name, node).second) {
    return absl::InvalidArgumentError(
        absl::StrCat("another value is named ", Quote(name)));
  }
  names_.Reserve(name);
  return absl::OkStatus();
}

void GraphImporter::DeclareNames() {
  const onnx::GraphProto& graph = model_.graph();
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    errors_.AddIfError("initializer", Declare(tensor.name(), -1));
  }
  for (const onnx::SparseTensorProto& tensor : graph.sparse_initializer()) {
    errors_.Add(absl::StrCat("initializer ", Quote(tensor.values().name()),
                             ": sparse tensors are not supported"));
    // What reads it is passed over.
    Declare(tensor.values().name(), -1).IgnoreError();
  }
  std::set<std::string> inputs;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (!inputs.insert(input.name()).second) {
      errors_.Add(absl::StrCat("another input is named ", Quote(input.name())));
    }
    // An initializer may be the default of an input of its name.
    Declare(input.name(), -1).IgnoreError();
  }
  for (const onnx::ValueInfoProto& output : graph.output()) {
    wanted_.insert(output.name());
  }
  for (size_t n = 0; n < nodes_.size(); ++n) {
    wanted_.insert(nodes_[n]->input().begin(), nodes_[n]->input().end());
    for (const std::string& output : nodes_[n]->output()) {
      if (output.empty()) continue;
      errors_.AddIfError(absl::StrCat("node ", Quote(nodes_[n]->name()), " (",
                                      Quote(nodes_[n]->op_type()), ")"),
                         Declare(output, static_cast<int32_t>(n)));
    }
  }
}

void GraphImporter::ReadInitializers() {
  for (const onnx::TensorProto& tensor : model_.graph().initializer()) {
    // Content may be taken out of it.
    onnx::TensorProto copy = tensor;
    absl::StatusOr<Array> array = reader_.Read(copy);
    const ImportId id = AddValue(tensor.name());
    if (!array.ok()) {
      errors_.AddIfError(absl::StrCat("initializer ", Quote(tensor.name())),
                         array.status());
      continue;
    }
    ImportValue& value = values_[id];
    value.kind = ImportValue::Kind::kParameter;
    value.type = array->type;
    value.known = true;
    value.content = *std::move(array);
    value.trainable = IsTrained(value);
  }
}

void GraphImporter::ReadInputs() {
  for (const auto& [ours, theirs] : NamesOfDims(model_.graph())) {
    symbol_of_.emplace(theirs, ours);
  }
  for (const onnx::ValueInfoProto& input : model_.graph().input()) {
    if (by_name_.find(input.name()) != by_name_.end()) {
      inputs_.push_back(kAbsent);
      continue;
    }
    const absl::Status status = ReadInput(input);
    errors_.AddIfError(absl::StrCat("input ", Quote(input.name())), status);
  }
  for (const auto& [name, size] : options_.symbols) {
    if (dims_.count(name) > 0) continue;
    errors_.Add(absl::StrCat("no input has a dim ", Quote(name), " to be set"));
  }
  for (const auto& [name, array] : options_.bind) {
    if (by_name_.find(name) == by_name_.end()) {
      errors_.Add(absl::StrCat("there is no input ", Quote(name),
                               " that could be bound"));
    }
  }
}

absl::Status GraphImporter::ReadInput(const onnx::ValueInfoProto& input) {
  const ImportId id = AddValue(input.name());
  inputs_.push_back(id);
  if (const auto bound = options_.bind.find(input.name());
      bound != options_.bind.end()) {
    RETURN_IF_ERROR(CheckBound(input, bound->second.type));
    ImportValue& value = values_[id];
    value.kind = ImportValue::Kind::kParameter;
    value.type = bound->second.type;
    value.known = true;
    value.content = bound->second;
    inputs_.back() = kAbsent;
    return absl::OkStatus();
  }
  if (!input.type().has_tensor_type()) {
    return absl::InvalidArgumentError(
        "only tensors are supported, not sequences, maps or optional values");
  }
  const onnx::TypeProto::Tensor& tensor = input.type().tensor_type();
  ASSIGN_OR_RETURN(const DType dtype, DTypeOfOnnx(tensor.elem_type()));
  if (!tensor.has_shape()) {
    return absl::InvalidArgumentError("its rank is not given");
  }
  Dims dims;
  std::vector<std::string> symbols;
  for (int i = 0; i < tensor.shape().dim_size(); ++i) {
    symbols.emplace_back();
    const std::string name = NameOfDim(input, i);
    if (name.empty()) {
      dims.push_back(tensor.shape().dim(i).dim_value());
      continue;
    }
    const auto given = options_.symbols.find(name);
    dims.push_back(given == options_.symbols.end() ? 1 : given->second);
    dims_.insert(name);
    if (options_.fixed_symbols.count(name) > 0) continue;
    symbols.back() = symbol_of_.at(name);
    symbols_[symbols.back()] = dims.back();
    result_.symbols[symbols.back()] = name;
  }
  ImportValue& value = values_[id];
  value.kind = ImportValue::Kind::kInput;
  ASSIGN_OR_RETURN(TensorType type, TensorType::Make(dtype, std::move(dims)));
  value.symbols = std::move(symbols);
  if (const auto content = options_.bind_if_needed.find(input.name());
      content != options_.bind_if_needed.end()) {
    value.known = true;
    value.content = content->second;
    value.unbound = {id};
    // The data are more precise than the model may be.
    type = content->second.type;
    value.symbols.assign(type.rank(), "");
  }
  value.type = std::move(type);
  return absl::OkStatus();
}

}  // namespace reprise
