// Loading, second part: nodes get names, an order, attributes and types.
// Tested by tests/core/load_test.cc and load_rules_test.cc.

#include <climits>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/graph_order.h"
#include "core/load_parts.h"
#include "core/loader.h"
#include "core/names.h"
#include "core/node_appender.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

// Ok iff every number of `attrs` is in the range that `op` gives for it.
absl::Status CheckFloatRanges(const OpDef& op, const Attrs& attrs) {
  for (const AttrSpec& spec : op.attrs) {
    if (!attrs.Has(spec.name) || spec.float_range == FloatRange::kAny) continue;
    Floats numbers;
    if (spec.kind == AttrKind::kFloat) numbers = {attrs.Float(spec.name)};
    if (spec.kind == AttrKind::kFloats) numbers = attrs.FloatList(spec.name);
    const bool infinite = spec.float_range == FloatRange::kInfinite;
    for (const float number : numbers) {
      if (std::isfinite(number) || (infinite && std::isinf(number))) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("attribute ", Quote(spec.name), " must be ",
                       infinite ? "a number" : "finite", ", got ", number));
    }
  }
  return absl::OkStatus();
}

}  // namespace

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
    // A result's name has been judged.
    const absl::Status status =
        file_.node(n).name().empty() ? absl::OkStatus() : CheckName(name);
    if (!status.ok()) {
      errors_.AddIfError(absl::StrCat("node ", Quote(name)), status);
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
  ASSIGN_OR_RETURN(attrs, CompleteAttrs(op, std::move(attrs)));
  RETURN_IF_ERROR(CheckFloatRanges(op, attrs));
  return attrs;
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
  while (op.max_outputs != INT_MAX && !node.out.empty() &&
         node.out.back() == kNoValue) {
    node.out.pop_back();
  }
  graph_.nodes.push_back(std::move(node));
}

}  // namespace reprise
