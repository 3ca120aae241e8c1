// Importing, last part: what is read by an output becomes the message.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/names.h"
#include "core/status_macros.h"
#include "tools/importer/graph_importer.h"

namespace reprise {
namespace {

constexpr int64_t kMostBytesInGraph = 4096;

proto::DType DTypeProto(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return proto::FLOAT32;
    case DType::kI32:
      return proto::INT32;
    case DType::kI64:
      return proto::INT64;
    case DType::kBool:
      return proto::BOOL;
    default:
      return proto::UINT8;
  }
}

void SetType(const TensorType& type, const std::vector<std::string>& symbols,
             proto::TensorType& to) {
  to.set_dtype(DTypeProto(type.dtype));
  for (size_t i = 0; i < type.dims.size(); ++i) {
    proto::Dim& dim = *to.add_dim();
    if (i < symbols.size() && !symbols[i].empty()) {
      dim.set_symbol(symbols[i]);
    } else {
      dim.set_value(type.dims[i]);
    }
  }
}

void SetAttribute(const AttrValue& value, proto::Attribute& to) {
  switch (KindOf(value)) {
    case AttrKind::kInt:
      to.set_i(std::get<int64_t>(value));
      break;
    case AttrKind::kFloat:
      to.set_f(std::get<float>(value));
      break;
    case AttrKind::kString:
      to.set_s(std::get<std::string>(value));
      break;
    case AttrKind::kBool:
      to.set_b(std::get<bool>(value));
      break;
    case AttrKind::kType:
      to.set_type(DTypeProto(std::get<DType>(value)));
      break;
    case AttrKind::kInts:
      to.mutable_ints();
      for (const int64_t v : std::get<Ints>(value)) {
        to.mutable_ints()->add_v(v);
      }
      break;
    case AttrKind::kFloats:
      to.mutable_floats();
      for (const float v : std::get<Floats>(value)) {
        to.mutable_floats()->add_v(v);
      }
      break;
    case AttrKind::kTensor: {
      const Literal& literal = std::get<Literal>(value);
      SetType(literal.type, {}, *to.mutable_tensor()->mutable_type());
      to.mutable_tensor()->set_data(literal.data);
      break;
    }
  }
}

bool MatchesAny(const std::vector<std::string>& globs,
                const std::string& name) {
  return std::any_of(
      globs.begin(), globs.end(),
      [&name](const std::string& glob) { return MatchesGlob(glob, name); });
}

}  // namespace

bool GraphImporter::IsTrained(const ImportValue& value) const {
  if (value.type.dtype != DType::kF32) return false;
  if (MustTrain(value)) return true;
  if (MatchesAny(options_.freeze, value.theirs)) return false;
  return !provenance_.IsConstant(value.theirs, value.type.num_elements());
}

bool GraphImporter::MustTrain(const ImportValue& value) const {
  return MatchesAny(options_.trainable, value.theirs);
}

void GraphImporter::ReadOutputs() {
  std::set<std::string> names;
  for (const onnx::ValueInfoProto& output : model_.graph().output()) {
    outputs_.push_back(kAbsent);
    if (!names.insert(output.name()).second) {
      errors_.Add(
          absl::StrCat("another output is named ", Quote(output.name())));
      continue;
    }
    const auto it = by_name_.find(output.name());
    if (it == by_name_.end()) {
      if (made_by_.find(output.name()) == made_by_.end()) {
        errors_.Add(absl::StrCat("output ", Quote(output.name()),
                                 ": nothing makes it"));
      }
      continue;
    }
    const auto gradient = gradient_of_.find(it->second);
    if (gradient == gradient_of_.end()) {
      outputs_.back() = it->second;
    } else {
      result_.gradients[static_cast<int>(outputs_.size()) - 1] =
          values_[gradient->second].ours;
    }
  }
  if (outputs_.empty()) errors_.Add("a model has outputs, this one has none");
}

void GraphImporter::KeepWhatIsRead() {
  kept_.assign(made_.size(), false);
  read_.assign(values_.size(), false);
  std::vector<ImportId> stack;
  const auto want = [this, &stack](ImportId id) {
    if (id == kAbsent || read_[id]) return;
    read_[id] = true;
    stack.push_back(id);
  };
  for (const ImportId id : outputs_) want(id);
  for (const ImportId id : losses_) want(id);
  while (!stack.empty()) {
    const ImportId id = stack.back();
    stack.pop_back();
    if (values_[id].kind != ImportValue::Kind::kComputed) continue;
    const int32_t n = values_[id].producer;
    if (kept_[n]) continue;
    kept_[n] = true;
    for (const ImportId in : made_[n].in) {
      want(in);
      if (in != kAbsent) want(values_[in].next);
    }
  }
}

void GraphImporter::WriteParameter(ImportValue& value,
                                   proto::Parameter& parameter) {
  parameter.set_name(value.ours);
  SetType(value.type, {}, *parameter.mutable_type());
  if (value.trainable != (value.type.dtype == DType::kF32)) {
    parameter.set_trainable(value.trainable);
  }
  // Small constants stand in the graph too: it runs without its weights.
  if (!value.trainable && value.type.bytes() <= kMostBytesInGraph) {
    proto::Tensor& tensor = *parameter.mutable_initializer()->mutable_value();
    SetType(value.type, {}, *tensor.mutable_type());
    tensor.set_data(value.content.data);
  }
  result_.weights.push_back({value.ours, std::move(value.content)});
}

void GraphImporter::WriteNode(const ImportNode& node) {
  proto::Node& to = *result_.graph.add_node();
  to.set_op(node.op);
  for (const ImportId id : node.in) {
    to.add_input(id == kAbsent ? "" : values_[id].ours);
  }
  for (const ImportId id : node.out) {
    const bool wanted = id != kAbsent && (read_[id] || id == node.out[0]);
    to.add_output(wanted ? values_[id].ours : "");
  }
  const OpDef& op = *ops_.Find(node.op);
  while (op.max_outputs < 1 << 20 && to.output_size() > op.min_outputs &&
         to.output(to.output_size() - 1).empty()) {
    to.mutable_output()->RemoveLast();
  }
  for (const auto& [name, value] : node.attrs.values()) {
    // Defaults go without saying.
    const bool is_default =
        std::any_of(op.attrs.begin(), op.attrs.end(),
                    [&name = name, &value = value](const AttrSpec& spec) {
                      return spec.name == name && spec.has_default &&
                             spec.default_value == value;
                    });
    if (is_default) continue;
    proto::Attribute& attribute = *to.add_attribute();
    attribute.set_name(name);
    SetAttribute(value, attribute);
  }
}

void GraphImporter::WriteGraph() {
  proto::Graph& graph = result_.graph;
  graph.set_format_version(1);
  const std::string& title = model_.graph().name();
  if (title.size() <= kMaxNameBytes && IsUtf8(title)) graph.set_name(title);
  std::set<std::string> symbols;
  for (const ImportId id : inputs_) {
    result_.inputs.emplace_back();
    if (id == kAbsent || values_[id].kind != ImportValue::Kind::kInput) {
      continue;
    }
    const ImportValue& value = values_[id];
    result_.inputs.back() = value.ours;
    proto::Input& input = *graph.add_input();
    input.set_name(value.ours);
    SetType(value.type, value.symbols, *input.mutable_type());
    symbols.insert(value.symbols.begin(), value.symbols.end());
  }
  for (const auto& [name, size] : symbols_) {
    if (symbols.find(name) == symbols.end()) continue;
    proto::Symbol& symbol = *graph.add_symbol();
    symbol.set_name(name);
    symbol.set_default_value(size);
  }
  // What only undifferentiable operands read is not trained.
  std::vector<bool> differentiable(values_.size(), false);
  for (size_t n = 0; n < made_.size(); ++n) {
    if (!kept_[n]) continue;
    const OpDef& op = *ops_.Find(made_[n].op);
    for (size_t i = 0; i < made_[n].in.size(); ++i) {
      const std::vector<int>& none = op.no_grad_inputs;
      const ImportId id = made_[n].in[i];
      // An operator that others take the place of has their gradients.
      const bool has_gradient = op.grad != nullptr || op.expand != nullptr;
      if (id == kAbsent || !has_gradient ||
          std::find(none.begin(), none.end(), static_cast<int>(i)) !=
              none.end()) {
        continue;
      }
      differentiable[id] = true;
    }
  }
  for (size_t id = 0; id < values_.size(); ++id) {
    ImportValue& value = values_[id];
    if (!read_[id] || value.kind != ImportValue::Kind::kParameter) continue;
    if (value.next != kAbsent) {
      proto::State& state = *graph.add_state();
      state.set_name(value.ours);
      SetType(value.type, {}, *state.mutable_type());
      state.set_next(values_[value.next].ours);
      result_.weights.push_back({value.ours, std::move(value.content)});
      continue;
    }
    value.trainable = value.trainable && differentiable[id];
    WriteParameter(value, *graph.add_parameter());
  }
  for (size_t n = 0; n < made_.size(); ++n) {
    if (kept_[n]) WriteNode(made_[n]);
  }
  for (const ImportId id : outputs_) {
    result_.outputs.push_back(id == kAbsent ? "" : values_[id].ours);
    if (id != kAbsent) graph.add_output(values_[id].ours);
  }
  for (const ImportId id : losses_) {
    graph.add_loss()->set_value(values_[id].ours);
  }
  result_.names = names_.Changed();
}

absl::StatusOr<ImportedModel> GraphImporter::Import() {
  ReadOperatorSets();
  InlineFunctions();
  NarrowDoubles();
  DeclareNames();
  ReadInitializers();
  ReadInputs();
  ReadNodes();
  ReadOutputs();
  RETURN_IF_ERROR(errors_.status());
  if (options_.head != 0) errors_.AddIfError("head", ReplaceHead());
  if (!options_.loss.empty()) errors_.AddIfError("loss", AddLoss());
  RETURN_IF_ERROR(errors_.status());
  KeepWhatIsRead();
  if (options_.train_batch_norm &&
      std::none_of(made_.begin(), made_.end(), [](const ImportNode& node) {
        return node.op == "BatchNormalization";
      })) {
    result_.notes.push_back(
        "there is no BatchNormalization to train: exporters fold it into the "
        "convolution before it");
  }
  WriteGraph();
  return std::move(result_);
}

}  // namespace reprise
