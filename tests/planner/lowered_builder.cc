#include "tests/planner/lowered_builder.h"

#include "absl/strings/str_cat.h"
#include "core/status_macros.h"

namespace reprise {

ValueId LoweredBuilder::AddStepValue(const std::string& name, int64_t bytes,
                                     ValueKind kind) {
  Value value;
  value.name = name;
  value.type = {DType::kU8, {bytes}};
  value.kind = kind;
  step_.values.push_back(std::move(value));
  return static_cast<ValueId>(step_.values.size()) - 1;
}

LoweredValueId LoweredBuilder::Source(const std::string& name, int64_t bytes,
                                      ValueKind kind) {
  LoweredValue value;
  value.bytes = bytes;
  value.kind = kind;
  value.logical = {AddStepValue(name, bytes, kind)};
  value.copy_of = static_cast<LoweredValueId>(graph_.values.size());
  graph_.values.push_back(std::move(value));
  return graph_.values.back().copy_of;
}

LoweredValueId LoweredBuilder::Input(const std::string& name, int64_t bytes) {
  const LoweredValueId v = Source(name, bytes, ValueKind::kInput);
  graph_.inputs.push_back(v);
  step_.inputs.push_back(graph_.values[v].logical[0]);
  return v;
}

LoweredValueId LoweredBuilder::Parameter(const std::string& name,
                                         int64_t bytes) {
  const LoweredValueId v = Source(name, bytes, ValueKind::kParameter);
  graph_.persistent.push_back(v);
  return v;
}

LoweredNodeId LoweredBuilder::AddNode(const NodeSpec& spec, bool is_reorder) {
  OpDef op;
  op.name = spec.op;
  op.effect = spec.effect;
  op.must_overwrite = spec.must_overwrite;
  op.first_statistic = spec.first_statistic;
  op.matmul = spec.matmul;
  ops_.push_back(std::move(op));

  LoweredSignature signature;
  signature.signature.op = &ops_.back();
  signature.description.scratchpad_bytes = spec.scratchpad_bytes;
  signature.description.library_heap_bytes = spec.library_heap_bytes;
  signature.description.may_overwrite = spec.may_overwrite;
  signature.description.implementation = "toy";
  signature.cost_nanoseconds = spec.cost_nanoseconds;
  graph_.signatures.push_back(std::move(signature));

  LoweredNode node;
  node.name = spec.name;
  node.signature = static_cast<SignatureId>(graph_.signatures.size()) - 1;
  node.in = spec.in;
  node.role = spec.role;
  node.effect = spec.effect;
  node.is_reorder = is_reorder;
  graph_.nodes.push_back(std::move(node));
  return static_cast<LoweredNodeId>(graph_.nodes.size()) - 1;
}

LoweredValueId LoweredBuilder::Add(const NodeSpec& spec) {
  const LoweredNodeId n = AddNode(spec, /*is_reorder=*/false);
  const NodeId step_node = static_cast<NodeId>(step_.nodes.size());
  graph_.nodes[n].logical = {step_node};
  Node node;
  node.name = spec.name;
  node.op = &ops_.back();
  node.region = spec.region;
  node.role = spec.role;
  if (spec.origin >= 0) {
    node.origin = graph_.nodes[graph_.values[spec.origin].producer].logical[0];
  }
  for (const LoweredValueId v : spec.in) {
    node.in.push_back(v < 0 ? kNoValue : graph_.values[v].logical[0]);
  }
  for (size_t i = 0; i < spec.out_bytes.size(); ++i) {
    if (spec.out_bytes[i] < 0) {
      graph_.nodes[n].out.push_back(-1);
      node.out.push_back(kNoValue);
      continue;
    }
    LoweredValue value;
    value.bytes = spec.out_bytes[i];
    for (const Overwrite& o : spec.must_overwrite) {
      if (o.out == static_cast<int>(i)) {
        value.kind = graph_.values[spec.in[o.in]].kind;
      }
    }
    value.producer = n;
    value.output = static_cast<int>(i);
    value.logical = {
        AddStepValue(i == 0 ? spec.name : absl::StrCat(spec.name, ".", i),
                     spec.out_bytes[i], value.kind)};
    value.copy_of = static_cast<LoweredValueId>(graph_.values.size());
    step_.values.back().producer = step_node;
    step_.values.back().output = static_cast<int>(i);
    node.out.push_back(value.logical[0]);
    graph_.nodes[n].out.push_back(value.copy_of);
    graph_.values.push_back(std::move(value));
  }
  step_.nodes.push_back(std::move(node));
  REPRISE_CHECK(!graph_.nodes[n].out.empty());
  return graph_.nodes[n].out[0];
}

LoweredValueId LoweredBuilder::OutputOf(LoweredValueId value, int i) const {
  return graph_.nodes[graph_.values[value].producer].out[i];
}

LoweredValueId LoweredBuilder::Reorder(const std::string& name,
                                       LoweredValueId value, int64_t bytes,
                                       Role role) {
  NodeSpec spec(name);
  spec.op = "Reorder";
  spec.in = {value};
  spec.role = role;
  const LoweredNodeId n = AddNode(spec, /*is_reorder=*/true);
  LoweredValue copy;
  copy.layout.format = name;
  copy.bytes = bytes;
  copy.producer = n;
  copy.logical = graph_.values[value].logical;
  copy.copy_of = graph_.values[value].copy_of;
  const LoweredValueId id = static_cast<LoweredValueId>(graph_.values.size());
  graph_.values.push_back(std::move(copy));
  graph_.nodes[n].out = {id};
  return id;
}

void LoweredBuilder::View(const std::string& name, LoweredValueId value) {
  const ValueId v =
      AddStepValue(name, graph_.values[value].bytes, ValueKind::kComputed);
  // A view is a node of its own in the step graph, with no kernel.
  OpDef op;
  op.name = "View";
  op.is_view = true;
  ops_.push_back(std::move(op));
  Node node;
  node.name = name;
  node.op = &ops_.back();
  node.in = {graph_.values[value].logical[0]};
  node.out = {v};
  step_.values[v].producer = static_cast<NodeId>(step_.nodes.size());
  step_.nodes.push_back(std::move(node));
  graph_.values[value].logical.push_back(v);
}

RegionId LoweredBuilder::AddRegion(const std::string& name, RegionId parent,
                                   Policy policy) {
  Region region;
  region.name = name;
  region.parent = parent;
  region.policy = std::move(policy);
  step_.regions.push_back(std::move(region));
  return static_cast<RegionId>(step_.regions.size()) - 1;
}

void LoweredBuilder::Annotate(LoweredValueId value, Keep keep) {
  step_.annotations[graph_.values[value].logical[0]] = keep;
}

void LoweredBuilder::Result(LoweredValueId value) {
  graph_.results.push_back(value);
}

void LoweredBuilder::Loss(LoweredValueId value) {
  reprise::Loss loss;
  loss.value = graph_.values[value].logical[0];
  step_.losses.push_back(loss);
}

void LoweredBuilder::Fuse(LoweredValueId from, LoweredValueId to) {
  LoweredNode& kept = graph_.nodes[graph_.values[from].producer];
  LoweredNode& gone = graph_.nodes[graph_.values[to].producer];
  // Ids are positions, so only the last node and value can go.
  REPRISE_CHECK(&gone == &graph_.nodes.back());
  REPRISE_CHECK(static_cast<size_t>(to) == graph_.values.size() - 1);
  kept.name = gone.name;
  kept.logical.push_back(gone.logical[0]);
  LoweredValue& value = graph_.values[from];
  value.swallowed = value.logical;
  value.logical = graph_.values[to].logical;
  value.bytes = graph_.values[to].bytes;
  graph_.values.pop_back();
  graph_.nodes.pop_back();
}

Policy PolicyOf(Policy::Kind kind, std::vector<std::string> names) {
  Policy policy;
  policy.kind = kind;
  policy.names = std::move(names);
  return policy;
}

Policy SaveNothing() { return PolicyOf(Policy::Kind::kSaveNothing); }

Policy SaveEverything() { return PolicyOf(Policy::Kind::kSaveEverything); }

Policy SaveNames(std::vector<std::string> names) {
  return PolicyOf(Policy::Kind::kSaveNames, std::move(names));
}

}  // namespace reprise
