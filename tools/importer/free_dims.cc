#include "tools/importer/free_dims.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/load.h"

namespace reprise {
namespace {

using google::protobuf::RepeatedField;

// A symbol whose values in the two imports differ.
struct FreeSymbol {
  std::string name;
  int64_t here = 0;
  int64_t there = 0;
};

// Returns the one symbol that is `here` in one import and `there` in the other;
// nullptr if there is none, or more than one.
const FreeSymbol* FindSymbol(const std::vector<FreeSymbol>& symbols,
                             int64_t here, int64_t there) {
  const FreeSymbol* found = nullptr;
  for (const FreeSymbol& symbol : symbols) {
    if (symbol.here != here || symbol.there != there) continue;
    if (found != nullptr) return nullptr;
    found = &symbol;
  }
  return found;
}

// Makes entries of a list of integers in which `other` differs symbols. Returns
// whether each is one.
bool FreeEntries(const std::vector<FreeSymbol>& symbols,
                 const RepeatedField<int64_t>& other,
                 proto::Attribute& attribute) {
  if (attribute.has_ints()) {
    // Taken out first: both are of one union.
    const RepeatedField<int64_t> ints = attribute.ints().v();
    proto::Attribute::Dims& dims = *attribute.mutable_dims();
    for (const int64_t entry : ints) dims.add_v()->set_value(entry);
  }
  proto::Attribute::Dims& dims = *attribute.mutable_dims();
  if (dims.v_size() != other.size()) return false;
  for (int i = 0; i < other.size(); ++i) {
    proto::Dim& dim = *dims.mutable_v(i);
    // A symbol, by an earlier comparison: types tell whether it still is one.
    if (dim.has_symbol() || dim.value() == other.Get(i)) continue;
    const FreeSymbol* const symbol =
        FindSymbol(symbols, dim.value(), other.Get(i));
    if (symbol == nullptr) return false;
    dim.set_symbol(symbol->name);
  }
  return true;
}

// Opens the entry of `shape` in which it differs from `other`. Returns whether
// there is just one, or none, but for those that are open.
bool FreeShape(const RepeatedField<int64_t>& other,
               RepeatedField<int64_t>& shape) {
  if (other.size() != shape.size()) return false;
  int differs = -1;
  bool has_open = false;
  for (int i = 0; i < shape.size(); ++i) {
    has_open = has_open || shape.Get(i) == -1;
    // -1 and 0, by an earlier comparison: open already.
    if (other.Get(i) == shape.Get(i) || shape.Get(i) <= 0) continue;
    if (differs >= 0) return false;
    differs = i;
  }
  // 0: as the operand has it there.
  if (differs >= 0) shape.Set(differs, has_open ? 0 : -1);
  return true;
}

bool FreeNode(const std::vector<FreeSymbol>& symbols, const proto::Node& other,
              proto::Node& node) {
  if (other.SerializeAsString() == node.SerializeAsString()) return true;
  if (other.attribute_size() != node.attribute_size()) return false;
  for (int i = 0; i < node.attribute_size(); ++i) {
    proto::Attribute& attribute = *node.mutable_attribute(i);
    const proto::Attribute& there = other.attribute(i);
    if (there.SerializeAsString() == attribute.SerializeAsString()) continue;
    if (attribute.name() != there.name() || !there.has_ints()) return false;
    if (node.op() == "Reshape" && attribute.name() == "shape" &&
        attribute.has_ints()) {
      RepeatedField<int64_t> shape = attribute.ints().v();
      // Another entry is open already: this one is a symbol if it can.
      proto::Attribute freed = attribute;
      if (std::find(shape.begin(), shape.end(), -1) != shape.end() &&
          FreeEntries(symbols, there.ints().v(), freed)) {
        attribute = std::move(freed);
        continue;
      }
      if (FreeShape(there.ints().v(), shape)) {
        *attribute.mutable_ints()->mutable_v() = std::move(shape);
        continue;
      }
    }
    if (!attribute.has_ints() && !attribute.has_dims()) return false;
    if (!FreeEntries(symbols, there.ints().v(), attribute)) return false;
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
  if (compared.node_size() != graph.node_size() ||
      compared.symbol_size() != graph.symbol_size()) {
    return false;
  }
  std::vector<FreeSymbol> symbols;
  for (int i = 0; i < graph.symbol_size(); ++i) {
    const int64_t here = graph.symbol(i).default_value();
    const int64_t there = compared.symbol(i).default_value();
    if (here != there) symbols.push_back({graph.symbol(i).name(), here, there});
  }
  for (int n = 0; n < graph.node_size(); ++n) {
    if (!FreeNode(symbols, compared.node(n), *graph.mutable_node(n))) {
      return false;
    }
    *compared.mutable_node(n) = graph.node(n);
  }
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
