#include "tools/importer/free_dims.h"

#include <string>
#include <utility>

#include "core/load.h"

namespace reprise {
namespace {

using google::protobuf::RepeatedField;

// Opens the entry of `shape` in which it differs from `other`. Returns whether
// there is just one, or none.
bool FreeShape(const RepeatedField<int64_t>& other,
               RepeatedField<int64_t>& shape) {
  if (other.size() != shape.size()) return false;
  int differs = -1;
  bool has_open = false;
  for (int i = 0; i < shape.size(); ++i) {
    has_open = has_open || shape.Get(i) == -1;
    if (other.Get(i) == shape.Get(i)) continue;
    if (differs >= 0) return false;
    differs = i;
  }
  // 0: as the operand has it there.
  if (differs >= 0) shape.Set(differs, has_open ? 0 : -1);
  return true;
}

bool FreeNode(const proto::Node& other, proto::Node& node) {
  if (other.SerializeAsString() == node.SerializeAsString()) return true;
  if (node.op() != "Reshape" ||
      other.attribute_size() != node.attribute_size()) {
    return false;
  }
  for (int i = 0; i < node.attribute_size(); ++i) {
    proto::Attribute& attribute = *node.mutable_attribute(i);
    const proto::Attribute& there = other.attribute(i);
    if (there.SerializeAsString() == attribute.SerializeAsString()) continue;
    if (attribute.name() != "shape" || there.name() != "shape" ||
        !FreeShape(there.ints().v(), *attribute.mutable_ints()->mutable_v())) {
      return false;
    }
  }
  proto::Node compared = other;
  *compared.mutable_attribute() = node.attribute();
  return compared.SerializeAsString() == node.SerializeAsString();
}

// Returns whether `graph`, at the values that `other` has for its symbols, has
// values of the same types.
bool HasTypesOf(const proto::Graph& other, const OpTable& ops,
                const proto::Graph& graph) {
  Bindings bindings;
  for (const proto::Symbol& symbol : other.symbol()) {
    bindings[symbol.name()] = symbol.default_value();
  }
  const absl::StatusOr<Graph> there = LoadGraph(other, ops, {}, "");
  const absl::StatusOr<Graph> here = LoadGraph(graph, ops, bindings, "");
  if (!there.ok() || !here.ok() ||
      there->values.size() != here->values.size()) {
    return false;
  }
  for (size_t i = 0; i < here->values.size(); ++i) {
    if (there->values[i].type != here->values[i].type) return false;
  }
  return true;
}

}  // namespace

bool FreeDims(const ImportedModel& other, const OpTable& ops,
              ImportedModel& imported) {
  proto::Graph compared = other.graph;
  proto::Graph graph = imported.graph;
  if (compared.node_size() != graph.node_size()) return false;
  for (int n = 0; n < graph.node_size(); ++n) {
    if (!FreeNode(compared.node(n), *graph.mutable_node(n))) return false;
    *compared.mutable_node(n) = graph.node(n);
  }
  if (compared.symbol_size() != graph.symbol_size()) return false;
  for (int i = 0; i < graph.symbol_size(); ++i) {
    compared.mutable_symbol(i)->set_default_value(
        graph.symbol(i).default_value());
  }
  if (compared.SerializeAsString() != graph.SerializeAsString() ||
      other.weights.size() != imported.weights.size()) {
    return false;
  }
  for (size_t i = 0; i < other.weights.size(); ++i) {
    const Array& a = other.weights[i].array;
    const Array& b = imported.weights[i].array;
    if (a.type != b.type || a.data != b.data) return false;
  }
  if (!HasTypesOf(other.graph, ops, graph)) return false;
  imported.graph = std::move(graph);
  return true;
}

}  // namespace reprise
