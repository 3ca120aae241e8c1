#include "core/node_appender.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

absl::string_view KindName(AttrKind kind) {
  switch (kind) {
    case AttrKind::kInt:
      return "an integer (i)";
    case AttrKind::kFloat:
      return "a float (f)";
    case AttrKind::kString:
      return "a string (s)";
    case AttrKind::kBool:
      return "a bool (b)";
    case AttrKind::kType:
      return "an element type (type)";
    case AttrKind::kInts:
      return "a list of integers (ints)";
    case AttrKind::kFloats:
      return "a list of floats (floats)";
    case AttrKind::kTensor:
      return "a tensor (tensor)";
  }
  return "";
}

std::string Range(int least, int most) {
  if (most >= (1 << 20)) return absl::StrCat("at least ", least);
  return least == most ? absl::StrCat(least)
                       : absl::StrCat(least, " to ", most);
}

std::string Who(absl::string_view node_name, const OpDef& op) {
  return absl::StrCat("node '", node_name, "' (", op.name, "): ");
}

}  // namespace

absl::StatusOr<Attrs> CompleteAttrs(const OpDef& op, Attrs attrs) {
  for (const auto& [name, value] : attrs.values()) {
    const AttrSpec* found = nullptr;
    for (const AttrSpec& spec : op.attrs) {
      if (spec.name == name) found = &spec;
    }
    if (found == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown attribute '", name, "'"));
    }
    if (found->kind != KindOf(value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute '", name, "' must be ", KindName(found->kind),
                       ", got ", KindName(KindOf(value))));
    }
  }
  for (const AttrSpec& spec : op.attrs) {
    if (attrs.Has(spec.name)) continue;
    if (spec.required) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute '", spec.name, "' is required"));
    }
    if (spec.has_default) attrs.Set(spec.name, spec.default_value);
  }
  return attrs;
}

absl::StatusOr<std::vector<TensorType>> InferTypes(
    absl::string_view node_name, const OpDef& op, const Attrs& attrs,
    absl::Span<const TensorType> types) {
  const int num_inputs = static_cast<int>(types.size());
  if (num_inputs < op.min_inputs || num_inputs > op.max_inputs) {
    return absl::InvalidArgumentError(absl::StrCat(
        Who(node_name, op), "takes ", Range(op.min_inputs, op.max_inputs),
        " inputs, got ", num_inputs));
  }
  for (int i = 0; i < op.min_inputs; ++i) {
    if (!types[i].present()) {
      return absl::InvalidArgumentError(
          absl::StrCat(Who(node_name, op), "input ", i, " is required"));
    }
  }
  absl::StatusOr<std::vector<TensorType>> out = op.infer({types, attrs});
  if (!out.ok()) {
    // Operators begin with their own name, which `Who` has said.
    absl::string_view message = out.status().message();
    const std::string own = absl::StrCat(op.name, ": ");
    if (message.substr(0, own.size()) == own) message.remove_prefix(own.size());
    return absl::Status(out.status().code(),
                        absl::StrCat(Who(node_name, op), message));
  }
  for (const TensorType& type : *out) {
    if (!type.present() || type.dtype == DType::kOpaque) continue;
    const absl::StatusOr<TensorType> made =
        TensorType::Make(type.dtype, type.dims);
    if (!made.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(Who(node_name, op), made.status().message()));
    }
  }
  return out;
}

NodeAppender::NodeAppender(Graph& graph, const OpTable& ops)
    : graph_(graph), ops_(ops) {
  names_.reserve(graph.values.size() + graph.nodes.size());
  for (const Value& value : graph.values) names_.insert(value.name);
  for (const Node& node : graph.nodes) names_.insert(node.name);
}

std::string NodeAppender::UniqueName(const std::string& stem) {
  if (names_.insert(stem).second) return stem;
  int& next = next_suffix_[stem];
  while (true) {
    std::string name = absl::StrCat(stem, "_", ++next);
    if (names_.insert(name).second) return name;
  }
}

ValueId NodeAppender::AddSource(const std::string& name, TensorType type,
                                ValueKind kind) {
  Value value;
  value.name = UniqueName(name);
  value.type = std::move(type);
  value.kind = kind;
  graph_.values.push_back(std::move(value));
  return static_cast<ValueId>(graph_.values.size()) - 1;
}

absl::StatusOr<std::vector<TensorType>> NodeAppender::Infer(
    const Node& node) const {
  std::vector<TensorType> types;
  types.reserve(node.in.size());
  for (const ValueId v : node.in) {
    types.push_back(v == kNoValue ? TensorType{} : graph_.values[v].type);
  }
  return InferTypes(node.name, *node.op, node.attrs, types);
}

std::vector<ValueId> NodeAppender::Add(absl::string_view op,
                                       std::vector<ValueId> in, Attrs attrs,
                                       int num_outputs,
                                       std::vector<std::string> out_names) {
  const std::vector<ValueId> none(num_outputs, kNoValue);
  if (!status_.ok()) return none;
  Node node;
  node.op = ops_.Find(op);
  if (node.op == nullptr) {
    status_ = absl::InternalError(absl::StrCat("'", place_.label,
                                               "' needs the operator '", op,
                                               "', which is unknown"));
    return none;
  }
  absl::StatusOr<Attrs> complete = CompleteAttrs(*node.op, std::move(attrs));
  if (!complete.ok()) {
    status_ = absl::InternalError(absl::StrCat(
        "'", place_.label, "': ", op, ": ", complete.status().message()));
    return none;
  }
  node.attrs = *std::move(complete);
  const bool named = !out_names.empty() && !out_names[0].empty();
  node.name =
      UniqueName(named ? absl::StrCat(out_names[0], "/", op)
                       : absl::StrCat(place_.prefix, place_.label, "/", op));
  node.in = std::move(in);
  node.region = place_.region;
  node.role = place_.role;
  node.origin = place_.origin;
  absl::StatusOr<std::vector<TensorType>> types = Infer(node);
  if (!types.ok()) {
    status_ = types.status();
    return none;
  }
  if (num_outputs > static_cast<int>(types->size())) {
    status_ = absl::InternalError(
        absl::StrCat("'", node.name, "' (", op, ") has ", types->size(),
                     " outputs, wanted ", num_outputs));
    return none;
  }
  const NodeId id = static_cast<NodeId>(graph_.nodes.size());
  for (int i = 0; i < num_outputs; ++i) {
    const std::string stem =
        i < static_cast<int>(out_names.size()) && !out_names[i].empty()
            ? out_names[i]
        : i == 0 ? absl::StrCat(node.name, ":y")
                 : absl::StrCat(node.name, ":", i);
    const ValueId v =
        AddSource(stem, std::move((*types)[i]), ValueKind::kComputed);
    graph_.values[v].producer = id;
    graph_.values[v].output = i;
    node.out.push_back(v);
  }
  std::vector<ValueId> out = node.out;
  graph_.nodes.push_back(std::move(node));
  return out;
}

ValueId NodeAppender::EnsureOutput(NodeId node_id, int index) {
  if (!status_.ok()) return kNoValue;
  {
    const Node& node = graph_.nodes[node_id];
    if (index < static_cast<int>(node.out.size()) &&
        node.out[index] != kNoValue) {
      return node.out[index];
    }
  }
  const absl::StatusOr<std::vector<TensorType>> types =
      Infer(graph_.nodes[node_id]);
  if (!types.ok()) {
    status_ = types.status();
    return kNoValue;
  }
  REPRISE_CHECK(index < static_cast<int>(types->size()));
  const std::string stem = absl::StrCat(graph_.nodes[node_id].name, ":", index);
  const ValueId v = AddSource(stem, (*types)[index], ValueKind::kComputed);
  Node& node = graph_.nodes[node_id];
  if (index >= static_cast<int>(node.out.size())) {
    node.out.resize(index + 1, kNoValue);
  }
  node.out[index] = v;
  graph_.values[v].producer = node_id;
  graph_.values[v].output = index;
  return v;
}

}  // namespace reprise
