// Importing, second part: nodes get an order, their newest form, and are
// computed here or become nodes of the graph.

#include <algorithm>
#include <climits>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/graph_order.h"
#include "core/names.h"
#include "core/node_appender.h"
#include "core/status_macros.h"
#include "tools/importer/fold.h"
#include "tools/importer/graph_importer.h"
#include "tools/importer/node_form.h"
#include "tools/importer/opset_rules.h"

namespace reprise {
namespace {

// Results that stay nodes are computed here besides, if they are this small:
// they may turn out to fix a shape.
constexpr int64_t kMostKnownElements = 4096;

// A few bytes of a file can ask for much: beyond this nothing is folded.
constexpr int64_t kMostFoldedBytes = int64_t{1} << 28;

std::string WhoOf(const onnx::NodeProto& node) {
  std::string name = node.name();
  for (const std::string& output : node.output()) {
    if (name.empty()) name = output;
  }
  const std::string op = node.domain().empty() || node.domain() == "ai.onnx"
                             ? node.op_type()
                             : absl::StrCat(node.domain(), ".", node.op_type());
  return absl::StrCat("node ", Quote(name), " (",
                      CheckName(op).ok() ? op : Quote(op), ")");
}

}  // namespace

void GraphImporter::ReadNodes() {
  std::vector<std::pair<int32_t, int32_t>> pairs;
  for (size_t n = 0; n < nodes_.size(); ++n) {
    for (const std::string& input : nodes_[n]->input()) {
      if (input.empty()) continue;
      const auto it = made_by_.find(input);
      if (it == made_by_.end()) {
        errors_.Add(absl::StrCat(WhoOf(*nodes_[n]), ": reads ", Quote(input),
                                 ", which nothing makes"));
      } else if (it->second >= 0) {
        pairs.emplace_back(static_cast<int32_t>(n), it->second);
      }
    }
  }
  const Ordering ordering = OrderByDependencies(
      MakeDependencies(static_cast<int32_t>(nodes_.size()), pairs));
  for (const std::vector<int32_t>& cycle : ordering.cycles) {
    std::vector<std::string> who;
    for (size_t i = 0; i < std::min<size_t>(cycle.size(), 8); ++i) {
      who.push_back(WhoOf(*nodes_[cycle[i]]));
    }
    errors_.Add(absl::StrCat("nodes must form no cycle, got ",
                             absl::StrJoin(who, ", "),
                             cycle.size() > 8 ? ", ..." : ""));
  }
  for (const int32_t n : ordering.order) ReadNode(*nodes_[n]);
}

void GraphImporter::ReadNode(const onnx::NodeProto& node) {
  ImportNode made;
  made.who = WhoOf(node);
  bool broken = false;
  for (const std::string& input : node.input()) {
    made.in.push_back(kAbsent);
    if (input.empty()) continue;
    const auto it = by_name_.find(input);
    // Of cycles, or made by nothing: reported.
    if (it == by_name_.end() || values_[it->second].broken()) {
      broken = true;
    } else {
      made.in.back() = it->second;
    }
  }
  if (node.output_size() == 0) {
    errors_.Add(absl::StrCat(made.who, ": names no result"));
    return;
  }
  for (const std::string& output : node.output()) {
    // Nobody reads a later result: there is no need for it.
    const bool wanted = made.out.empty() || wanted_.count(output) > 0;
    made.out.push_back(output.empty() || !wanted ? kAbsent : AddValue(output));
  }
  const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
  const auto version = versions_.find(domain);
  if (version == versions_.end() && !versions_.empty()) {
    errors_.Add(absl::StrCat(made.who, ": the model imports no operator set '",
                             node.domain(), "'"));
    return;
  }
  version_ = version == versions_.end() ? 0 : version->second;
  if (domain == "ai.onnx.preview.training" && node.op_type() == "Gradient") {
    if (!broken) errors_.AddIfError(made.who, ReadGradient(node, made));
    return;
  }
  made.op = NewestName(domain, node.op_type());
  if (made.op.empty() ||
      (ops_.Find(made.op) == nullptr && !IsKnownWithoutOperator(made.op))) {
    errors_.Add(absl::StrCat(made.who, ": unsupported operator"));
    return;
  }
  absl::Status status = ReadAttributes(node, made);
  if (status.ok() && broken) {
    const OpDef* const op = ops_.Find(made.op);
    DropJudgedAttrs(made.op, made.attrs);
    if (op != nullptr) {
      errors_.AddIfError(made.who, FitAttrs(*op, made.attrs));
    }
    return;
  }
  if (status.ok()) status = AbsorbOperands(node, made);
  if (status.ok()) status = ApplyRule(*this, made);
  if (status.ok() && !made.op.empty()) {
    const std::string who = made.who;
    status = FinishNode(std::move(made));
    errors_.AddIfError(who, status);
    return;
  }
  errors_.AddIfError(made.who, status);
}

absl::Status GraphImporter::ReadGradient(const onnx::NodeProto& node,
                                         const ImportNode& made) {
  std::vector<ImportId> xs;
  ImportId y = kAbsent;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == "xs") {
      for (const std::string& name : attribute.strings()) {
        const auto it = by_name_.find(name);
        if (it == by_name_.end() ||
            values_[it->second].kind == ImportValue::Kind::kComputed) {
          return absl::InvalidArgumentError(absl::StrCat(
              "gradients are of inputs and initializers, got ", Quote(name)));
        }
        xs.push_back(it->second);
      }
    } else if (attribute.name() == "y") {
      const auto it = by_name_.find(attribute.s());
      if (it != by_name_.end()) y = it->second;
    } else if (attribute.name() != "zs") {
      return absl::InvalidArgumentError(
          absl::StrCat("unsupported attribute ", Quote(attribute.name())));
    }
  }
  if (y == kAbsent || values_[y].broken() || !losses_.empty()) {
    return absl::InvalidArgumentError(
        "y must be a value before it, and of one such node in a model");
  }
  if (xs.size() != made.out.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has a result for each of ", xs.size(), " xs, got ", made.out.size()));
  }
  for (size_t i = 0; i < xs.size(); ++i) gradient_of_[made.out[i]] = xs[i];
  ImportNode near;
  near.who = made.who;
  near.out = {y};
  ASSIGN_OR_RETURN(const ImportId loss,
                   AddNode(near, "ReduceSum", {y}, {{"keepdims", int64_t{0}}}));
  losses_.push_back(loss);
  return absl::OkStatus();
}

absl::Status GraphImporter::ReadAttributes(const onnx::NodeProto& node,
                                           ImportNode& out) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    const absl::Status name = CheckName(attribute.name());
    if (!name.ok() || out.attrs.Has(attribute.name())) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute ", Quote(attribute.name()), ": ",
                       name.ok() ? "is given twice" : name.message()));
    }
    absl::StatusOr<AttrValue> value = ReadAttribute(attribute, reader_);
    absl::Status status = value.status();
    if (status.ok()) status = CheckKind(attribute.name(), *value);
    if (!status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat("attribute '", attribute.name(),
                                       "': ", status.message()));
    }
    out.attrs.Set(attribute.name(), *std::move(value));
  }
  return absl::OkStatus();
}

absl::StatusOr<const Array*> GraphImporter::MustBeKnown(ImportId id) {
  const ImportValue& value = values_[id];
  if (!value.known) {
    std::string on =
        absl::StrCat("it is computed from data by value ", Quote(value.theirs));
    if (value.kind == ImportValue::Kind::kInput) {
      on = absl::StrCat("it is the input ", Quote(value.theirs),
                        ": bind content to it (--bind)");
    }
    return absl::InvalidArgumentError(absl::StrCat("must be constant, ", on));
  }
  for (const ImportId input : value.unbound) {
    needed_.insert(values_[input].theirs);
  }
  return &value.content;
}

absl::Status GraphImporter::AbsorbOperands(const onnx::NodeProto& node,
                                           ImportNode& out) {
  const OpDef* const op = ops_.Find(out.op);
  const std::vector<OperandName> names = OperandNames(node.op_type(), version_);
  std::vector<ImportId> data;
  for (size_t i = 0; i < out.in.size(); ++i) {
    if (i >= names.size() || out.in[i] == kAbsent) {
      data.push_back(out.in[i]);
      continue;
    }
    const std::string& name = names[i].attribute;
    AttrKind kind = AttrKind::kInts;
    bool is_attribute = op == nullptr && names[i].fixes_shape;
    if (op != nullptr) {
      for (const AttrSpec& spec : op->attrs) {
        if (spec.name != name) continue;
        is_attribute = true;
        kind = spec.kind;
      }
    }
    if (!is_attribute) {
      data.push_back(out.in[i]);
      continue;
    }
    absl::StatusOr<const Array*> content = MustBeKnown(out.in[i]);
    absl::StatusOr<AttrValue> value =
        content.ok() ? AttrOfArray(**content, kind)
                     : absl::StatusOr<AttrValue>(content.status());
    if (!value.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("operand '", name, "' ", value.status().message()));
    }
    out.attrs.Set(name, *std::move(value));
    out.from_shapes = out.from_shapes || values_[out.in[i]].from_shapes;
  }
  // Operands behind one that became an attribute move up: our operator has no
  // place for it.
  out.in = std::move(data);
  while (!out.in.empty() && out.in.back() == kAbsent) out.in.pop_back();
  return absl::OkStatus();
}

absl::StatusOr<ImportId> GraphImporter::AddNode(const ImportNode& near,
                                                std::string op,
                                                std::vector<ImportId> in,
                                                Attrs attrs) {
  const ImportId id = static_cast<ImportId>(values_.size());
  values_.emplace_back();
  std::string stem = "value";
  for (const ImportId out : near.out) {
    if (out == kAbsent) continue;
    stem = values_[out].ours;
    break;
  }
  values_.back().ours = names_.Fresh(absl::StrCat(stem, "/", op));
  RETURN_IF_ERROR(
      AddNamed(near, std::move(op), std::move(in), std::move(attrs), id));
  return id;
}

absl::Status GraphImporter::AddNamed(const ImportNode& near, std::string op,
                                     std::vector<ImportId> in, Attrs attrs,
                                     ImportId output) {
  ImportNode node;
  node.who = near.who;
  node.op = std::move(op);
  node.in = std::move(in);
  node.attrs = std::move(attrs);
  node.out = {output};
  return FinishNode(std::move(node));
}

ImportId GraphImporter::AddConstant(const ImportNode& near, Array content) {
  const ImportId id = static_cast<ImportId>(values_.size());
  values_.emplace_back();
  const std::string stem = near.out.empty() || near.out[0] == kAbsent
                               ? "constant"
                               : values_[near.out[0]].ours;
  values_.back().ours = names_.Fresh(absl::StrCat(stem, "/constant"));
  SetKnown(id, std::move(content));
  return id;
}

void GraphImporter::SetKnown(ImportId output, Array array) {
  if (output == kAbsent) return;
  ImportValue& value = values_[output];
  value.kind = ImportValue::Kind::kParameter;
  value.type = array.type;
  value.known = true;
  value.content = std::move(array);
}

absl::Status GraphImporter::SetFilled(ImportId output, TensorType type,
                                      const std::string& element,
                                      bool is_weight) {
  if (type.bytes() > kMostFilledBytes - filled_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the fills of a model have at most ", kMostFilledBytes,
                     " bytes together, ", ToString(type), " is beyond that"));
  }
  filled_bytes_ += type.bytes();
  Array array;
  array.type = std::move(type);
  const int64_t n = array.type.num_elements();
  try {
    array.data.resize(array.type.bytes());
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a fill of ", array.type.bytes(), " bytes"));
  }
  for (int64_t i = 0; i < n; ++i) {
    element.copy(&array.data[i * element.size()], element.size());
  }
  SetKnown(output, std::move(array));
  // Where the parameters are known, each is an initializer.
  const bool may_train = is_weight && !provenance_.known();
  values_[output].trainable = n > 0 && values_[output].type.rank() > 0 &&
                              IsTrained(values_[output]) &&
                              (may_train || MustTrain(values_[output]));
  return absl::OkStatus();
}

absl::StatusOr<bool> GraphImporter::FoldNode(const ImportNode& node) {
  if (!CanFold(node.op) || folded_bytes_ > kMostFoldedBytes) return false;
  std::vector<const Array*> in;
  std::vector<ImportId> unbound;
  bool trainable = false;
  bool from_shapes = false;
  bool large = false;
  for (const ImportId id : node.in) {
    in.push_back(nullptr);
    if (id == kAbsent) continue;
    const ImportValue& value = values_[id];
    if (!value.known) return false;
    in.back() = &value.content;
    trainable = trainable || value.trainable;
    from_shapes = from_shapes || value.from_shapes;
    unbound.insert(unbound.end(), value.unbound.begin(), value.unbound.end());
    large = large || value.type.num_elements() > kMostKnownElements;
  }
  const bool stays = trainable || !unbound.empty();
  if (stays && large) return false;
  absl::StatusOr<std::vector<Array>> results =
      Fold(node.op, node.attrs, in, static_cast<int>(node.out.size()),
           stays ? kMostKnownElements : kMostFoldedElements);
  // What cannot be computed here may be an operator's.
  if (absl::IsUnimplemented(results.status())) return false;
  RETURN_IF_ERROR(results.status());
  std::sort(unbound.begin(), unbound.end());
  unbound.erase(std::unique(unbound.begin(), unbound.end()), unbound.end());
  for (size_t i = 0; i < node.out.size(); ++i) {
    if (node.out[i] == kAbsent) continue;
    ImportValue& value = values_[node.out[i]];
    value.known = true;
    value.content = std::move((*results)[i]);
    folded_bytes_ += value.content.type.bytes();
    value.type = value.content.type;
    value.trainable = trainable;
    value.from_shapes = from_shapes;
    value.unbound = unbound;
    value.kind =
        stays ? ImportValue::Kind::kComputed : ImportValue::Kind::kParameter;
  }
  return !stays;
}

absl::Status GraphImporter::FinishNode(ImportNode node) {
  const OpDef* const op = ops_.Find(node.op);
  if (op != nullptr) RETURN_IF_ERROR(FitAttrs(*op, node.attrs));
  ASSIGN_OR_RETURN(const bool folded, FoldNode(node));
  if (folded) return absl::OkStatus();
  if (op == nullptr || op->internal) {
    // Bound inputs may make it a constant.
    for (const ImportId id : node.in) {
      if (id == kAbsent) continue;
      absl::Status known = MustBeKnown(id).status();
      if (known.ok() && values_[id].trainable) {
        known = absl::InvalidArgumentError(
            absl::StrCat("must be constant, value ", Quote(values_[id].theirs),
                         " is trained"));
      }
      if (known.ok()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("unsupported operator where its operands are not "
                       "constant: each ",
                       known.message()));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("unsupported operator where its result is not one of at "
                     "most ",
                     kMostFoldedElements, " elements"));
  }
  return EmitNode(std::move(node));
}

absl::Status GraphImporter::EmitNode(ImportNode node) {
  const OpDef& op = *ops_.Find(node.op);
  while (!node.in.empty() && node.in.back() == kAbsent) node.in.pop_back();
  ASSIGN_OR_RETURN(node.attrs, CompleteAttrs(op, std::move(node.attrs)));
  std::vector<TensorType> types;
  for (const ImportId id : node.in) {
    types.push_back(id == kAbsent ? TensorType{} : values_[id].type);
  }
  absl::StatusOr<std::vector<TensorType>> out =
      InferTypes("", op, node.attrs, types);
  if (!out.ok()) {
    absl::string_view message = out.status().message();
    const std::string who = absl::StrCat("node '' (", op.name, "): ");
    if (message.substr(0, who.size()) == who) message.remove_prefix(who.size());
    return absl::InvalidArgumentError(message);
  }
  while (!node.out.empty() && node.out.back() == kAbsent) node.out.pop_back();
  // Of a list of results each has its place, read or not.
  if (op.max_outputs == INT_MAX && node.out.size() < out->size()) {
    node.out.resize(out->size(), kAbsent);
  }
  const size_t most =
      std::min<size_t>(static_cast<size_t>(op.max_outputs), out->size());
  if (node.out.size() > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("unsupported result ", most, ": of ", node.out.size(),
                     " there is no more than ", most));
  }
  for (size_t i = 0; i < node.out.size(); ++i) {
    if (node.out[i] == kAbsent) continue;
    ImportValue& value = values_[node.out[i]];
    const TensorType& type = (*out)[i];
    if (!type.present() || type.dtype == DType::kOpaque) {
      return absl::InvalidArgumentError(absl::StrCat("unsupported result ", i));
    }
    if (value.known && value.type != type) {
      // The operator's own rule is the one that counts.
      value.known = false;
      value.content = Array();
    }
    value.type = type;
    value.kind = ImportValue::Kind::kComputed;
    value.producer = static_cast<int32_t>(made_.size());
  }
  made_.push_back(std::move(node));
  return absl::OkStatus();
}

}  // namespace reprise
