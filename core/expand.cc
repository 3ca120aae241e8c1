#include "core/expand.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/random.h"
#include "core/status_macros.h"

namespace reprise {

ValueId ExpandBuilder::in(int i) const {
  if (i >= static_cast<int>(node_.in.size())) return kNoValue;
  const ValueId v = node_.in[i];
  return v == kNoValue ? kNoValue : mapped_[v];
}

bool ExpandBuilder::wants_out(int i) const {
  return i < num_outputs() && node_.out[i] != kNoValue;
}

const TensorType& ExpandBuilder::type(ValueId value) const {
  return appender_.graph().values[value].type;
}

int64_t ExpandBuilder::NameHash() const {
  return static_cast<int64_t>(reprise::NameHash(node_.name));
}

std::vector<ValueId> ExpandBuilder::Add(absl::string_view op,
                                        std::vector<ValueId> in, Attrs attrs,
                                        int num_outputs) {
  NodeAppender::Place place;
  place.region = node_.region;
  // Reserved, so that it cannot meet a name of the model still to come.
  place.prefix = "__";
  place.label = node_.name;
  appender_.SetPlace(std::move(place));
  const size_t before = appender_.graph().nodes.size();
  std::vector<ValueId> out =
      appender_.Add(op, std::move(in), std::move(attrs), num_outputs);
  if (appender_.graph().nodes.size() > before) {
    appender_.graph().nodes.back().written_as = node_.op;
  }
  return out;
}

std::vector<ValueId> ExpandBuilder::AddUpdate(absl::string_view op,
                                              std::vector<ValueId> in,
                                              Attrs attrs, int num_outputs) {
  if (!updates_) return std::vector<ValueId>(num_outputs, kNoValue);
  NodeAppender::Place place;
  place.role = Role::kUpdate;
  place.prefix = "__update/";
  place.label = node_.name;
  appender_.SetPlace(std::move(place));
  return appender_.Add(op, std::move(in), std::move(attrs), num_outputs);
}

void ExpandBuilder::SetOut(int i, ValueId value) {
  if (i < num_outputs()) outs_[i] = value;
}

bool ExpandBuilder::IsOperand(ValueId value) const {
  for (const ValueId v : node_.in) {
    if (v != kNoValue && mapped_[v] == value) return true;
  }
  return false;
}

class Expander {
 public:
  static absl::Status ExpandNode(const Graph& model, const Node& node,
                                 const StepScalars& scalars,
                                 const ExpandOptions& options,
                                 NodeAppender& appender,
                                 std::vector<ValueId>& mapped) {
    Graph& graph = appender.graph();
    ExpandBuilder builder(appender, node, mapped, scalars, options.training,
                          options.updates);
    RETURN_IF_ERROR(node.op->expand(builder));
    RETURN_IF_ERROR(appender.status());
    for (size_t i = 0; i < node.out.size(); ++i) {
      if (node.out[i] == kNoValue) continue;
      const ValueId out = builder.outs_[i];
      mapped[node.out[i]] = out;
      if (out == kNoValue) continue;
      Value& value = graph.values[out];
      // An operand handed through keeps its own name.
      if (value.producer == kNoNode || builder.IsOperand(out)) continue;
      value.name = model.values[node.out[i]].name;
      if (i > 0) continue;
      // The node that stands for the model's one takes over its name, and its
      // statistics are named after it like those of any other node.
      Node& stand_in = graph.nodes[value.producer];
      stand_in.name = node.name;
      for (size_t k = 1; k < stand_in.out.size(); ++k) {
        if (stand_in.out[k] == kNoValue) continue;
        graph.values[stand_in.out[k]].name = absl::StrCat(node.name, ":", k);
      }
    }
    return absl::OkStatus();
  }
};

absl::StatusOr<std::vector<ValueId>> Expand(const Graph& model,
                                            const StepScalars& scalars,
                                            const ExpandOptions& options,
                                            NodeAppender& appender) {
  Graph& graph = appender.graph();
  std::vector<ValueId> mapped(model.values.size(), kNoValue);
  for (size_t v = 0; v < model.values.size(); ++v) {
    const Value& value = model.values[v];
    if (value.producer != kNoNode) continue;
    mapped[v] = appender.AddSource(value.name, value.type, value.kind);
  }
  for (const Node& node : model.nodes) {
    for (const ValueId v : node.in) {
      if (v != kNoValue && mapped[v] == kNoValue) {
        return absl::InvalidArgumentError(absl::StrCat(
            "node '", node.name, "' (", node.op->name, "): reads '",
            model.values[v].name, "', which this mode does not compute"));
      }
    }
    if (node.op->expand) {
      RETURN_IF_ERROR(Expander::ExpandNode(model, node, scalars, options,
                                           appender, mapped));
      continue;
    }
    Node copy = node;
    const NodeId id = static_cast<NodeId>(graph.nodes.size());
    for (ValueId& v : copy.in) {
      if (v != kNoValue) v = mapped[v];
    }
    for (size_t i = 0; i < copy.out.size(); ++i) {
      if (copy.out[i] == kNoValue) continue;
      const Value& value = model.values[copy.out[i]];
      const ValueId v =
          appender.AddSource(value.name, value.type, ValueKind::kComputed);
      graph.values[v].producer = id;
      graph.values[v].output = static_cast<int>(i);
      mapped[copy.out[i]] = v;
      copy.out[i] = v;
    }
    graph.nodes.push_back(std::move(copy));
  }
  return mapped;
}

}  // namespace reprise
