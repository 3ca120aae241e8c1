// Lowering walks the live nodes once, in order. For each it offers the layouts
// in which the operands exist, takes the operator's description, inserts the
// Reorders that the description asks for (each copy of a value is made once,
// and shared), and records the node under its signature.
//
// Fusion needs one look ahead: a node whose only reader is an activation that
// its kernel can apply takes the activation in; the value between them is
// `swallowed`. A node whose only reader makes the result on the way (the
// gradient of an activation in front of another gradient) leaves its operands
// to that reader.
//
// Cost: linear in nodes; a description is asked for once per distinct
// signature. Tested by tests/flow/lowering_test.cc.

#include "core/lowering.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/machine.h"
#include "core/status_macros.h"
#include "core/thread_scope.h"

namespace reprise {
namespace {

class Lowerer {
 public:
  Lowerer(const StepGraph& step, const OpTable& ops,
          const LoweringOptions& options)
      : step_(step),
        graph_(step.graph),
        reorder_(ops.Get("Reorder")),
        options_(options) {}

  absl::StatusOr<LoweredGraph> Lower() {
    lowered_.threads = options_.env.threads;
    MarkLive();
    AddSources();
    fused_.assign(graph_.nodes.size(), false);
    for (NodeId n = 0; n < static_cast<NodeId>(graph_.nodes.size()); ++n) {
      if (!live_[n] || fused_[n]) continue;
      RETURN_IF_ERROR(LowerNode(n));
    }
    for (const StepResult& result : step_.results) {
      const TensorType& type = graph_.values[result.value].type;
      ASSIGN_OR_RETURN(const LoweredValueId v,
                       CopyIn(result.value, type, Layout{}, Role::kForward));
      lowered_.results.push_back(v);
    }
    return std::move(lowered_);
  }

 private:
  // A node is live if a result, an update or the guard depends on it.
  void MarkLive() {
    live_.assign(graph_.nodes.size(), false);
    std::vector<bool> wanted(graph_.values.size(), false);
    for (const StepResult& result : step_.results) wanted[result.value] = true;
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      bool live = node.op->effect != Effect::kPure;
      for (const ValueId v : node.out) live = live || (v >= 0 && wanted[v]);
      if (!live) continue;
      live_[n] = true;
      for (const ValueId v : node.in) {
        if (v != kNoValue) wanted[v] = true;
      }
    }
    is_result_.assign(graph_.values.size(), false);
    for (const StepResult& result : step_.results) {
      is_result_[result.value] = true;
    }
    num_readers_.assign(graph_.values.size(), 0);
    reader_.assign(graph_.values.size(), kNoNode);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!live_[n]) continue;
      for (const ValueId v : graph_.nodes[n].in) {
        if (v == kNoValue) continue;
        ++num_readers_[v];
        reader_[v] = static_cast<NodeId>(n);
      }
    }
  }

  LoweredValueId AddValue(LoweredValue value) {
    const LoweredValueId id =
        static_cast<LoweredValueId>(lowered_.values.size());
    if (value.copy_of < 0) value.copy_of = id;
    lowered_.values.push_back(std::move(value));
    return id;
  }

  void AddSources() {
    lowered_of_.assign(graph_.values.size(), -1);
    for (ValueId v = 0; v < static_cast<ValueId>(graph_.values.size()); ++v) {
      const Value& value = graph_.values[v];
      if (value.producer != kNoNode) continue;
      LoweredValue lowered;
      lowered.bytes = value.type.bytes();
      lowered.kind = value.kind;
      lowered.logical = {v};
      lowered_of_[v] = AddValue(std::move(lowered));
      if (IsPersistent(value.kind)) {
        lowered_.persistent.push_back(lowered_of_[v]);
      }
    }
    for (const ValueId v : graph_.inputs) {
      lowered_.inputs.push_back(lowered_of_[v]);
    }
  }

  // Returns a lowered value with the content of `v`, seen as `type`, in
  // `layout`: what is there, or a Reorder of it.
  absl::StatusOr<LoweredValueId> CopyIn(ValueId v, const TensorType& type,
                                        const Layout& layout, Role role) {
    const LoweredValueId primary = lowered_of_[v];
    if (lowered_.values[primary].layout == layout) return primary;
    const LoweredValueId root = lowered_.values[primary].copy_of;
    std::string key =
        absl::StrCat(root, ":", layout.format, ":",
                     layout.row_major() ? "" : DimsToString(type.dims));
    const auto it = copies_.find(key);
    if (it != copies_.end()) {
      Carry(it->second, v);
      return it->second;
    }
    // A copy made for another view may already be what is wanted.
    if (lowered_.values[root].layout == layout && layout.row_major()) {
      Carry(root, v);
      return root;
    }
    Signature offered;
    offered.op = &reorder_;
    offered.attrs.Set("__to", layout.format);
    offered.in = {type};
    offered.out = {type};
    offered.in_layouts = {lowered_.values[primary].layout};
    LoweredNode node;
    ASSIGN_OR_RETURN(node.signature, Describe(std::move(offered)));
    node.name = absl::StrCat("__reorder/", graph_.values[v].name);
    node.in = {primary};
    node.role = role;
    node.is_reorder = true;
    const LoweredSignature& signature = lowered_.signatures[node.signature];
    LoweredValue copy;
    copy.layout = layout;
    copy.bytes = signature.description.out_bytes[0];
    copy.producer = static_cast<LoweredNodeId>(lowered_.nodes.size());
    copy.logical = {v};
    copy.copy_of = root;
    const LoweredValueId id = AddValue(std::move(copy));
    node.out = {id};
    lowered_.nodes.push_back(std::move(node));
    copies_.emplace(std::move(key), id);
    return id;
  }

  void Carry(LoweredValueId lowered, ValueId v) {
    std::vector<ValueId>& logical = lowered_.values[lowered].logical;
    if (std::find(logical.begin(), logical.end(), v) == logical.end()) {
      logical.push_back(v);
    }
  }

  // Returns the id of the signature that the operator makes of `offered`.
  absl::StatusOr<SignatureId> Describe(Signature offered) {
    std::string key = SignatureKey(offered);
    const auto it = described_.find(key);
    if (it != described_.end()) return it->second;
    LoweredSignature entry;
    ASSIGN_OR_RETURN(entry.description,
                     offered.op->describe(offered, options_.env));
    entry.signature = std::move(offered);
    entry.signature.in_layouts = entry.description.in_layouts;
    entry.signature.out_layouts = entry.description.out_layouts;
    const size_t num_in = entry.signature.in.size();
    const size_t num_out = entry.signature.out.size();
    if (entry.description.in_layouts.size() != num_in ||
        entry.description.out_layouts.size() != num_out ||
        entry.description.out_bytes.size() != num_out) {
      return absl::InternalError(
          absl::StrCat("operator ", entry.signature.op->name, " describes ",
                       entry.description.in_layouts.size(), " in, ",
                       entry.description.out_layouts.size(),
                       " out layouts and ", entry.description.out_bytes.size(),
                       " out sizes of ", num_in, " and ", num_out));
    }
    entry.cost_nanoseconds = CostNanoseconds(
        entry.description, options_.machine, options_.env.threads);
    // Different offers may end in one signature: one kernel.
    std::string final_key = SignatureKey(entry.signature);
    const auto [same, inserted] = signatures_.emplace(
        std::move(final_key),
        static_cast<SignatureId>(lowered_.signatures.size()));
    if (inserted) lowered_.signatures.push_back(std::move(entry));
    described_.emplace(std::move(key), same->second);
    return same->second;
  }

  absl::Status LowerView(const Node& node) {
    const ValueId in = node.in[0];
    const ValueId out = node.out[0];
    const TensorType& type = graph_.values[in].type;
    // The identity is a view in any layout; others need row-major order.
    const bool same_dims = type.dims == graph_.values[out].type.dims;
    const Layout layout =
        same_dims ? lowered_.values[lowered_of_[in]].layout : Layout{};
    ASSIGN_OR_RETURN(const LoweredValueId v,
                     CopyIn(in, type, layout, node.role));
    lowered_of_[out] = v;
    Carry(v, out);
    return absl::OkStatus();
  }

  // Returns the activation that node n's kernel can take in, or kNoNode.
  NodeId FusableActivation(const Node& node) const {
    if (!options_.fusion || node.op->fusable_activations.empty()) {
      return kNoNode;
    }
    const ValueId v = node.out[0];
    if (num_readers_[v] != 1 || is_result_[v]) return kNoNode;
    const auto annotation = graph_.annotations.find(v);
    if (annotation != graph_.annotations.end() &&
        annotation->second == Keep::kMustSave) {
      return kNoNode;
    }
    const Node& reader = graph_.nodes[reader_[v]];
    const std::vector<std::string>& names = node.op->fusable_activations;
    const bool can =
        std::find(names.begin(), names.end(), reader.op->name) != names.end() &&
        reader.role == node.role;
    return can ? reader_[v] : kNoNode;
  }

  // Whether the only reader of node n's result makes it on the way in its own
  // kernel; remembers that.
  bool AbsorbIntoReader(NodeId n) {
    const Node& node = graph_.nodes[n];
    if (!options_.fusion || node.out.size() != 1 || is_result_[node.out[0]] ||
        num_readers_[node.out[0]] != 1) {
      return false;
    }
    const NodeId reader = reader_[node.out[0]];
    if (graph_.nodes[reader].role != node.role) return false;
    for (const OpDef::FusableOperand& operand :
         graph_.nodes[reader].op->fusable_operands) {
      if (operand.op == node.op->name &&
          graph_.nodes[reader].in[operand.operand] == node.out[0]) {
        absorbed_[{reader, operand.operand}] = n;
        return true;
      }
    }
    return false;
  }

  // The operands of a node, those of absorbed ones in place of their results.
  std::vector<ValueId> OperandsOf(NodeId n, LoweredNode& lowered) const {
    const Node& node = graph_.nodes[n];
    std::vector<ValueId> in = node.in;
    for (const OpDef::FusableOperand& operand : node.op->fusable_operands) {
      const auto it = absorbed_.find({n, operand.operand});
      if (it == absorbed_.end()) continue;
      const Node& absorbed = graph_.nodes[it->second];
      in[operand.operand] = absorbed.in.back();
      in.insert(in.end(), absorbed.in.begin(), absorbed.in.end() - 1);
      lowered.logical.insert(lowered.logical.begin(), it->second);
    }
    return in;
  }

  absl::Status LowerNode(NodeId n) {
    const Node& node = graph_.nodes[n];
    if (node.op->is_view) return LowerView(node);
    if (AbsorbIntoReader(n)) return absl::OkStatus();

    LoweredNode lowered;
    lowered.name = node.name;
    lowered.role = node.role;
    lowered.effect = node.op->effect;
    lowered.logical = {n};
    std::vector<ValueId> outs = node.out;
    ValueId swallowed = kNoValue;
    Signature offered;
    offered.op = node.op;
    offered.attrs = node.attrs;
    const NodeId activation = FusableActivation(node);
    if (activation != kNoNode) {
      const Node& reader = graph_.nodes[activation];
      offered.attrs.Set("__activation", reader.op->name);
      swallowed = outs[0];
      outs[0] = reader.out[0];
      lowered.name = reader.name;
      lowered.logical.push_back(activation);
      fused_[activation] = true;
    }
    bool all_empty = node.op->effect == Effect::kPure;
    for (const ValueId v : outs) {
      const bool unread = v != kNoValue && v != outs[0] &&
                          num_readers_[v] == 0 && !is_result_[v] &&
                          node.op->effect == Effect::kPure;
      if (v == kNoValue || unread) {
        offered.out.push_back(TensorType{});
        continue;
      }
      offered.out.push_back(graph_.values[v].type);
      all_empty = all_empty && offered.out.back().num_elements() == 0;
    }
    if (all_empty) {
      for (const ValueId v : outs) {
        if (v == kNoValue) continue;
        LoweredValue empty;
        empty.logical = {v};
        lowered_of_[v] = AddValue(std::move(empty));
      }
      return absl::OkStatus();
    }
    const std::vector<ValueId> operands = OperandsOf(n, lowered);
    for (const ValueId v : operands) {
      if (v == kNoValue) {
        offered.in.push_back(TensorType{});
        offered.in_layouts.push_back(Layout{});
        continue;
      }
      offered.in.push_back(graph_.values[v].type);
      offered.in_layouts.push_back(lowered_.values[lowered_of_[v]].layout);
    }
    const absl::StatusOr<SignatureId> id = Describe(std::move(offered));
    if (!id.ok()) {
      return absl::Status(
          id.status().code(),
          absl::StrCat("node '", node.name, "' (", node.op->name,
                       "): ", id.status().message()));
    }
    lowered.signature = *id;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] == kNoValue) {
        lowered.in.push_back(-1);
        continue;
      }
      // Copied out: CopyIn may add signatures.
      const Layout wanted = lowered_.signatures[*id].description.in_layouts[i];
      const TensorType type = lowered_.signatures[*id].signature.in[i];
      ASSIGN_OR_RETURN(const LoweredValueId v,
                       CopyIn(operands[i], type, wanted, node.role));
      lowered.in.push_back(v);
    }
    return AddOutputs(node, std::move(lowered), outs, swallowed);
  }

  absl::Status AddOutputs(const Node& node, LoweredNode lowered,
                          const std::vector<ValueId>& outs, ValueId swallowed) {
    const LoweredSignature& entry = lowered_.signatures[lowered.signature];
    const LoweredNodeId id = static_cast<LoweredNodeId>(lowered_.nodes.size());
    for (size_t i = 0; i < outs.size(); ++i) {
      if (!entry.signature.out[i].present()) {
        lowered.out.push_back(-1);
        continue;
      }
      LoweredValue value;
      value.layout = entry.description.out_layouts[i];
      value.bytes = entry.description.out_bytes[i];
      value.workspace = entry.signature.out[i].dtype == DType::kOpaque;
      value.producer = id;
      value.output = static_cast<int>(i);
      value.logical = {outs[i]};
      if (i == 0 && swallowed != kNoValue) value.swallowed = {swallowed};
      for (const Overwrite& pair : node.op->must_overwrite) {
        if (pair.out != static_cast<int>(i)) continue;
        const LoweredValue& old = lowered_.values[lowered.in[pair.in]];
        if (!IsPersistent(old.kind) || old.bytes != value.bytes ||
            old.layout != value.layout) {
          return absl::InternalError(absl::StrCat(
              "node '", node.name, "' (", node.op->name, "): output ", i,
              " of ", value.bytes, " bytes must overwrite input ", pair.in,
              ", which is not persistent with the same layout and ",
              value.bytes, " bytes (it has ", old.bytes, ")"));
        }
        value.kind = old.kind;
      }
      lowered_of_[outs[i]] = AddValue(std::move(value));
      lowered.out.push_back(lowered_of_[outs[i]]);
    }
    lowered_.nodes.push_back(std::move(lowered));
    return absl::OkStatus();
  }

  const StepGraph& step_;
  const Graph& graph_;
  const OpDef& reorder_;
  const LoweringOptions& options_;
  LoweredGraph lowered_;
  std::vector<bool> live_;   // by node
  std::vector<bool> fused_;  // by node: part of an earlier kernel
  // The node that makes an operand of a later one, by that node and operand.
  absl::flat_hash_map<std::pair<NodeId, int>, NodeId> absorbed_;
  std::vector<bool> is_result_;  // by value
  std::vector<int> num_readers_;
  std::vector<NodeId> reader_;              // the last one
  std::vector<LoweredValueId> lowered_of_;  // primary copy, by value
  absl::flat_hash_map<std::string, LoweredValueId> copies_;
  absl::flat_hash_map<std::string, SignatureId> described_;   // as offered
  absl::flat_hash_map<std::string, SignatureId> signatures_;  // as chosen
};

}  // namespace

absl::StatusOr<LoweredGraph> Lower(const StepGraph& step, const OpTable& ops,
                                   const LoweringOptions& options) {
  const ThreadCountScope threads(options.env.threads);
  return Lowerer(step, ops, options).Lower();
}

}  // namespace reprise
