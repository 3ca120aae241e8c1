// The stages of loading, in this order: symbols, values that nodes read from
// outside, regions, names of nodes and their results, order, attributes and
// types, and last what the file says about values (next contents, annotations,
// outputs, losses). A stage goes on after an error wherever what follows does
// not depend on it, so that one look at the errors is enough.
//
// Tested by tests/core/load_test.cc and load_rules_test.cc.

#include "core/load.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/error_list.h"
#include "core/graph_order.h"
#include "core/load_parts.h"
#include "core/load_regions.h"
#include "core/names.h"
#include "core/node_appender.h"
#include "core/proto_file.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

constexpr int kFormatVersion = 1;

class Loader {
 public:
  Loader(const proto::Graph& file, const OpTable& ops, absl::string_view source)
      : file_(file), ops_(ops), errors_(source) {}

  absl::StatusOr<Graph> Load(const Bindings& bindings) {
    ReadHeader();
    // Another version may mean anything; too much is not looked at.
    RETURN_IF_ERROR(errors_.status());
    ReadSymbols(bindings);
    ReadSources();
    regions_ = ReadRegions(file_, ops_, errors_);
    DeclareNodes();
    LinkNodes();
    ReadNodes();
    ReadStates();
    ReadAnnotations();
    ReadOutputs();
    ReadLosses();
    RETURN_IF_ERROR(errors_.status());
    graph_.regions = std::move(regions_.regions);
    return std::move(graph_);
  }

 private:
  // Where a name's value comes from, and its id once there is one.
  struct Declared {
    int32_t node;  // index in the file; kNoNode: a source
    ValueId id;
  };

  void ReadHeader();
  void ReadSymbols(const Bindings& bindings);
  void ReadSources();
  void DeclareNodes();
  void DeclareNode(int32_t n);
  void LinkNodes();
  void ReadNodes();
  void ReadNode(int32_t n);
  absl::StatusOr<Attrs> ReadAttrs(const proto::Node& node, const OpDef& op);
  void InferOutputs(int32_t n, Node node);
  void ReadStates();
  void ReadAnnotations();
  void ReadOutputs();
  void ReadLosses();

  // Adds a value that no node makes. `who` begins its errors.
  ValueId AddSource(absl::string_view who, const std::string& name,
                    const proto::TensorType& type, bool has_type,
                    ValueKind kind);

  // Says that the value `name` comes from the file's node `node`.
  absl::Status Declare(absl::string_view name, int32_t node);

  // Returns the value of a name, or nullptr and an error.
  const Value* Find(const std::string& who, const std::string& name,
                    ValueId* id);

  // Returns the name of node n: its own, or that of its first result.
  const std::string& NodeName(int32_t n) const;
  std::string Who(int32_t n) const;

  const proto::Graph& file_;
  const OpTable& ops_;
  ErrorList errors_;
  Graph graph_;
  LoadedRegions regions_;
  std::vector<const OpDef*> node_ops_;  // nullptr: unknown
  std::vector<int32_t> order_;          // of the file's nodes
  absl::flat_hash_map<absl::string_view, Declared> declared_;
};

void Loader::ReadHeader() {
  const int version = file_.format_version();
  if (version == 0) {
    errors_.Add(absl::StrCat("format_version is missing; this program reads ",
                             kFormatVersion));
    return;
  }
  if (version < 0 || version > kFormatVersion) {
    errors_.Add(absl::StrCat("format_version ", version,
                             " is unknown; this program reads up to ",
                             kFormatVersion));
    return;
  }
  errors_.AddIfError("graph", CheckNoUnknownFields(file_));
  if (!IsUtf8(file_.name()) || file_.name().size() > kMaxNameBytes) {
    errors_.Add(absl::StrCat("the graph's name has at most ", kMaxNameBytes,
                             " bytes of UTF-8, got ", file_.name().size(), ": ",
                             Quote(file_.name())));
  }
  graph_.name = file_.name();
  const auto check_count = [this](absl::string_view what, int64_t count) {
    if (count <= kMaxEntries) return;
    errors_.Add(absl::StrCat("a graph has at most ", kMaxEntries, " ", what,
                             ", got ", count));
  };
  check_count("symbols", file_.symbol_size());
  check_count("inputs", file_.input_size());
  check_count("parameters", file_.parameter_size());
  check_count("states", file_.state_size());
  check_count("nodes", file_.node_size());
  check_count("regions", file_.region_size());
  check_count("annotations", file_.annotation_size());
  check_count("outputs", file_.output_size());
  check_count("losses", file_.loss_size());
}

void Loader::ReadSymbols(const Bindings& bindings) {
  for (const proto::Symbol& symbol : file_.symbol()) {
    const std::string who = absl::StrCat("symbol ", Quote(symbol.name()));
    errors_.AddIfError(who, CheckNoUnknownFields(symbol));
    const absl::Status name = CheckName(symbol.name());
    errors_.AddIfError(who, name);
    // 0 is what a default left out reads as.
    if (symbol.default_value() < 1) {
      errors_.Add(absl::StrCat(who, ": default_value must be at least 1, got ",
                               symbol.default_value()));
    }
    if (!graph_.symbols.emplace(symbol.name(), symbol.default_value()).second) {
      errors_.Add(absl::StrCat(who, ": is declared twice"));
    }
  }
  for (const auto& [name, value] : bindings) {
    const auto it = graph_.symbols.find(name);
    if (it == graph_.symbols.end()) {
      errors_.Add(absl::StrCat("cannot set ", Quote(name), " to ", value,
                               ": the graph has no such symbol"));
    } else if (value < 0) {
      errors_.Add(absl::StrCat("cannot set ", Quote(name), " to ", value,
                               ": dims are at least 0"));
    } else {
      it->second = value;
    }
  }
}

absl::Status Loader::Declare(absl::string_view name, int32_t node) {
  RETURN_IF_ERROR(CheckName(name));
  const auto [it, fresh] =
      declared_.try_emplace(name, Declared{node, kNoValue});
  if (fresh) return absl::OkStatus();
  const int32_t other = it->second.node;
  return absl::InvalidArgumentError(absl::StrCat(
      "the name ", Quote(name), " is taken by ",
      other == kNoNode ? "an input, parameter or state" : Who(other)));
}

ValueId Loader::AddSource(absl::string_view who, const std::string& name,
                          const proto::TensorType& type, bool has_type,
                          ValueKind kind) {
  const std::string named = absl::StrCat(who, " ", Quote(name));
  const absl::Status declared = Declare(name, kNoNode);
  errors_.AddIfError(named, declared);
  Value value;
  value.name = name;
  value.kind = kind;
  if (!has_type) {
    errors_.Add(absl::StrCat(named, ": has no type"));
  } else {
    absl::StatusOr<TensorType> read = ReadTensorType(type, graph_.symbols);
    errors_.AddIfError(named, read.status());
    if (read.ok()) value.type = *std::move(read);
  }
  const ValueId id = static_cast<ValueId>(graph_.values.size());
  graph_.values.push_back(std::move(value));
  if (declared.ok()) declared_[name].id = id;
  return id;
}

void Loader::ReadSources() {
  for (const proto::Input& input : file_.input()) {
    errors_.AddIfError(absl::StrCat("input ", Quote(input.name())),
                       CheckNoUnknownFields(input));
    graph_.inputs.push_back(AddSource("input", input.name(), input.type(),
                                      input.has_type(), ValueKind::kInput));
  }
  const auto check_initializer = [this](const std::string& who, ValueId id,
                                        const auto& source) {
    errors_.AddIfError(who, CheckNoUnknownFields(source));
    const TensorType& type = graph_.values[id].type;
    if (!source.has_initializer() || !type.present()) return;
    errors_.AddIfError(
        who, CheckInitializer(source.initializer(), type, graph_.symbols));
  };
  for (const proto::Parameter& parameter : file_.parameter()) {
    Parameter read;
    read.value = AddSource("parameter", parameter.name(), parameter.type(),
                           parameter.has_type(), ValueKind::kParameter);
    const std::string who = absl::StrCat("parameter ", Quote(parameter.name()));
    check_initializer(who, read.value, parameter);
    read.initializer = parameter.initializer();
    const TensorType& type = graph_.values[read.value].type;
    read.trainable = parameter.has_trainable() ? parameter.trainable()
                                               : type.dtype == DType::kF32;
    if (read.trainable && type.present() && type.dtype != DType::kF32) {
      errors_.Add(
          absl::StrCat(who, ": only f32 can be trained, got ", ToString(type)));
    }
    graph_.parameters.push_back(std::move(read));
  }
  for (const proto::State& state : file_.state()) {
    State read;
    read.value = AddSource("state", state.name(), state.type(),
                           state.has_type(), ValueKind::kState);
    check_initializer(absl::StrCat("state ", Quote(state.name())), read.value,
                      state);
    read.initializer = state.initializer();
    graph_.states.push_back(std::move(read));
  }
}

const std::string& Loader::NodeName(int32_t n) const {
  const proto::Node& node = file_.node(n);
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output()) {
    if (!output.empty()) return output;
  }
  return node.name();
}

std::string Loader::Who(int32_t n) const {
  const OpDef* op = node_ops_[n];
  return absl::StrCat("node ", Quote(NodeName(n)), " (",
                      op != nullptr ? op->name : Quote(file_.node(n).op()),
                      ")");
}

void Loader::DeclareNode(int32_t n) {
  const proto::Node& node = file_.node(n);
  const OpDef* op = ops_.Find(node.op());
  if (op == nullptr || op->internal) {
    errors_.Add(absl::StrCat("node ", Quote(NodeName(n)), ": unknown operator ",
                             Quote(node.op())));
  } else {
    node_ops_[n] = op;
  }
  bool wanted = false;
  for (const std::string& output : node.output()) {
    if (output.empty()) continue;
    wanted = true;
    const absl::Status declared = Declare(output, n);
    if (!declared.ok()) errors_.AddIfError(Who(n), declared);
  }
  if (!wanted) errors_.Add(absl::StrCat(Who(n), ": names no result"));
}

void Loader::DeclareNodes() {
  node_ops_.assign(file_.node_size(), nullptr);
  absl::flat_hash_set<absl::string_view> names;
  names.reserve(file_.node_size());
  declared_.reserve(declared_.size() + file_.node_size());
  for (int32_t n = 0; n < file_.node_size(); ++n) {
    DeclareNode(n);
    const std::string& name = NodeName(n);
    if (!file_.node(n).name().empty()) {
      errors_.AddIfError(absl::StrCat("node ", Quote(name)), CheckName(name));
    }
    if (!names.insert(name).second && !name.empty()) {
      errors_.Add(absl::StrCat(Who(n), ": another node has this name"));
    }
  }
}

void Loader::LinkNodes() {
  // The file's regions of each node, and what each node depends on.
  std::vector<RegionId> node_regions(file_.node_size(), kNoRegion);
  std::vector<std::pair<int32_t, int32_t>> pairs;
  for (int32_t n = 0; n < file_.node_size(); ++n) {
    const proto::Node& node = file_.node(n);
    for (const std::string& input : node.input()) {
      if (input.empty()) continue;
      const auto it = declared_.find(input);
      if (it == declared_.end()) {
        errors_.Add(absl::StrCat(Who(n), ": reads ", Quote(input),
                                 ", which nothing makes"));
      } else if (it->second.node != kNoNode) {
        pairs.emplace_back(n, it->second.node);
      }
    }
    if (node.region().empty()) continue;
    const auto region = regions_.by_name.find(node.region());
    if (region == regions_.by_name.end()) {
      errors_.Add(
          absl::StrCat(Who(n), ": unknown region ", Quote(node.region())));
    } else {
      node_regions[n] = region->second;
    }
  }
  Ordering ordering =
      OrderByDependencies(MakeDependencies(file_.node_size(), pairs));
  const auto node_who = [this](int32_t n) {
    return absl::StrCat("node ", Quote(NodeName(n)));
  };
  for (const std::vector<int32_t>& cycle : ordering.cycles) {
    errors_.Add(absl::StrCat("nodes must form no cycle, got ",
                             CycleText(cycle, node_who)));
  }
  if (ordering.cycles.empty()) {
    CheckRegionsAcyclic(regions_, node_regions, pairs, node_who, errors_);
  }
  order_ = std::move(ordering.order);
  regions_.of_node = std::move(node_regions);
}

void Loader::ReadNodes() {
  graph_.nodes.reserve(order_.size());
  graph_.values.reserve(graph_.values.size() + order_.size());
  for (const int32_t n : order_) ReadNode(n);
}

absl::StatusOr<Attrs> Loader::ReadAttrs(const proto::Node& node,
                                        const OpDef& op) {
  Attrs attrs;
  for (const proto::Attribute& attribute : node.attribute()) {
    if (attrs.Has(attribute.name())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "attribute ", Quote(attribute.name()), " is given twice"));
    }
    absl::StatusOr<AttrValue> value = ReadAttribute(attribute, graph_.symbols);
    if (!value.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute ", Quote(attribute.name()), ": ",
                       value.status().message()));
    }
    attrs.Set(attribute.name(), *std::move(value));
  }
  return CompleteAttrs(op, std::move(attrs));
}

void Loader::ReadNode(int32_t n) {
  const proto::Node& file_node = file_.node(n);
  const absl::Status unknown = CheckNoUnknownFields(file_node);
  if (!unknown.ok()) errors_.AddIfError(Who(n), unknown);
  const OpDef* op = node_ops_[n];
  if (op == nullptr) return;
  Node node;
  node.name = NodeName(n);
  node.op = op;
  node.region = regions_.of_node[n];
  absl::StatusOr<Attrs> attrs = ReadAttrs(file_node, *op);
  if (!attrs.ok()) {
    errors_.AddIfError(Who(n), attrs.status());
    return;
  }
  node.attrs = *std::move(attrs);
  for (const std::string& input : file_node.input()) {
    if (input.empty()) {
      if (op->max_inputs == INT_MAX) {
        errors_.Add(absl::StrCat(Who(n), ": operand ", node.in.size(),
                                 " of a list must be there"));
        return;
      }
      node.in.push_back(kNoValue);
      continue;
    }
    const auto it = declared_.find(input);
    // Errors upstream have been reported; there is no type to go on with.
    if (it == declared_.end() || it->second.id == kNoValue ||
        !graph_.values[it->second.id].type.present()) {
      return;
    }
    node.in.push_back(it->second.id);
  }
  while (!node.in.empty() && node.in.back() == kNoValue) node.in.pop_back();
  InferOutputs(n, std::move(node));
}

void Loader::InferOutputs(int32_t n, Node node) {
  const OpDef& op = *node.op;
  const proto::Node& file_node = file_.node(n);
  std::vector<TensorType> in;
  in.reserve(node.in.size());
  for (const ValueId v : node.in) {
    in.push_back(v == kNoValue ? TensorType{} : graph_.values[v].type);
  }
  absl::StatusOr<std::vector<TensorType>> types =
      InferTypes(node.name, op, node.attrs, in);
  if (!types.ok()) {
    errors_.Add(types.status().message());
    return;
  }
  const int num_named = file_node.output_size();
  const int most = std::min(op.max_outputs, static_cast<int>(types->size()));
  const int least = op.max_outputs == INT_MAX ? most : op.min_outputs;
  if (num_named < least || num_named > most) {
    errors_.Add(absl::StrCat(Who(n), ": has ", least,
                             least == most ? "" : absl::StrCat(" to ", most),
                             " results, got ", num_named));
    return;
  }
  const NodeId id = static_cast<NodeId>(graph_.nodes.size());
  for (int i = 0; i < num_named; ++i) {
    const std::string& name = file_node.output(i);
    node.out.push_back(kNoValue);
    if (name.empty()) continue;
    Value value;
    value.name = name;
    value.type = std::move((*types)[i]);
    value.producer = id;
    value.output = i;
    if (!value.type.present() || value.type.dtype == DType::kOpaque) {
      errors_.Add(absl::StrCat(Who(n), ": result ", i, " ", Quote(name),
                               " is not for reading"));
      return;
    }
    const auto it = declared_.find(name);
    if (it == declared_.end() || it->second.node != n) return;
    it->second.id = static_cast<ValueId>(graph_.values.size());
    node.out.back() = it->second.id;
    graph_.values.push_back(std::move(value));
  }
  while (op.max_outputs != INT_MAX && node.out.back() == kNoValue) {
    node.out.pop_back();
  }
  graph_.nodes.push_back(std::move(node));
}

const Value* Loader::Find(const std::string& who, const std::string& name,
                          ValueId* id) {
  const auto it = declared_.find(name);
  if (it == declared_.end()) {
    errors_.Add(absl::StrCat(who, ": there is no value ", Quote(name)));
    return nullptr;
  }
  // A value without a type has had its error.
  if (it->second.id == kNoValue) return nullptr;
  *id = it->second.id;
  const Value& value = graph_.values[*id];
  return value.type.present() ? &value : nullptr;
}

void Loader::ReadStates() {
  absl::flat_hash_set<absl::string_view> seen;
  for (int s = 0; s < file_.state_size(); ++s) {
    const std::string& name = file_.state(s).next();
    const std::string who =
        absl::StrCat("state ", Quote(file_.state(s).name()));
    if (name.empty()) {
      errors_.Add(absl::StrCat(who, ": names no next content"));
      continue;
    }
    if (!seen.insert(name).second) {
      errors_.Add(absl::StrCat(who, ": ", Quote(name),
                               " is the next content of another state too"));
    }
    State& state = graph_.states[s];
    const Value* next = Find(who, name, &state.next);
    if (next == nullptr) continue;
    if (next->producer == kNoNode) {
      errors_.Add(absl::StrCat(who, ": the next content must be the result ",
                               "of a node, ", Quote(name), " is not"));
    }
    const TensorType& type = graph_.values[state.value].type;
    if (type.present() && type != next->type) {
      errors_.Add(absl::StrCat(who, ": is ", ToString(type),
                               ", its next content ", Quote(name), " is ",
                               ToString(next->type)));
    }
  }
}

void Loader::ReadAnnotations() {
  absl::flat_hash_map<absl::string_view, proto::ValueAnnotation::Keep> seen;
  for (const proto::ValueAnnotation& annotation : file_.annotation()) {
    const std::string who =
        absl::StrCat("annotation of ", Quote(annotation.value()));
    errors_.AddIfError(who, CheckNoUnknownFields(annotation));
    const bool save = annotation.keep() == proto::ValueAnnotation::MUST_SAVE;
    if (!save && annotation.keep() != proto::ValueAnnotation::MUST_RECOMPUTE) {
      errors_.Add(absl::StrCat(who, ": keep must be MUST_SAVE or ",
                               "MUST_RECOMPUTE, got ",
                               static_cast<int>(annotation.keep())));
      continue;
    }
    const auto [it, fresh] =
        seen.emplace(annotation.value(), annotation.keep());
    if (!fresh) {
      errors_.Add(it->second == annotation.keep()
                      ? absl::StrCat(who, ": is given twice")
                      : absl::StrCat(who, ": must_save and must_recompute ",
                                     "contradict each other"));
      continue;
    }
    ValueId id;
    const Value* value = Find(who, annotation.value(), &id);
    if (value == nullptr) continue;
    if (!save && value->producer == kNoNode) {
      errors_.Add(
          absl::StrCat(who, ": must_recompute needs the result of a ", "node"));
    }
    graph_.annotations[id] = save ? Keep::kMustSave : Keep::kMustRecompute;
  }
}

void Loader::ReadOutputs() {
  absl::flat_hash_set<absl::string_view> seen;
  for (const std::string& name : file_.output()) {
    const std::string who = absl::StrCat("output ", Quote(name));
    if (!seen.insert(name).second) {
      errors_.Add(absl::StrCat(who, ": is listed twice"));
    }
    ValueId id;
    if (Find(who, name, &id) != nullptr) graph_.outputs.push_back(id);
  }
}

void Loader::ReadLosses() {
  absl::flat_hash_set<absl::string_view> seen;
  for (const proto::Loss& file_loss : file_.loss()) {
    const std::string who = absl::StrCat("loss ", Quote(file_loss.value()));
    errors_.AddIfError(who, CheckNoUnknownFields(file_loss));
    if (!seen.insert(file_loss.value()).second) {
      errors_.Add(absl::StrCat(who, ": is listed twice"));
    }
    Loss loss;
    loss.weight = file_loss.has_weight() ? file_loss.weight() : 1.0f;
    if (!std::isfinite(loss.weight)) {
      errors_.Add(
          absl::StrCat(who, ": weight must be finite, got ", loss.weight));
    }
    const Value* value = Find(who, file_loss.value(), &loss.value);
    if (value == nullptr) continue;
    if (value->type.dtype != DType::kF32 || value->type.num_elements() != 1) {
      errors_.Add(absl::StrCat(who, ": must be f32 with one element, got ",
                               ToString(value->type)));
    }
    graph_.losses.push_back(loss);
  }
}

}  // namespace

absl::StatusOr<proto::Graph> ReadGraphFile(const std::string& path) {
  proto::Graph graph;
  RETURN_IF_ERROR(ReadProtoFile(path, graph));
  return graph;
}

absl::Status WriteGraphFile(const proto::Graph& graph,
                            const std::string& path) {
  return WriteProtoFile(graph, path);
}

absl::StatusOr<Graph> LoadGraph(const proto::Graph& graph, const OpTable& ops,
                                const Bindings& bindings,
                                absl::string_view source) {
  return Loader(graph, ops, source).Load(bindings);
}

}  // namespace reprise
