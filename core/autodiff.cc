#include "core/autodiff.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/node_appender.h"
#include "core/status_macros.h"

namespace reprise {

const Attrs& GradBuilder::attrs() const {
  return appender_.graph().nodes[node_].attrs;
}
int GradBuilder::num_inputs() const {
  return static_cast<int>(appender_.graph().nodes[node_].in.size());
}
int GradBuilder::num_outputs() const {
  return static_cast<int>(appender_.graph().nodes[node_].out.size());
}

ValueId GradBuilder::in(int i) const {
  return i < num_inputs() ? appender_.graph().nodes[node_].in[i] : kNoValue;
}

ValueId GradBuilder::out(int i) { return appender_.EnsureOutput(node_, i); }

ValueId GradBuilder::out_grad(int i) const {
  if (i >= num_outputs()) return kNoValue;
  const ValueId v = appender_.graph().nodes[node_].out[i];
  // Values beyond the vector are hidden outputs, which no loss reads.
  if (v == kNoValue || v >= static_cast<ValueId>(grads_.size())) {
    return kNoValue;
  }
  return grads_[v];
}

bool GradBuilder::needs_grad(int i) const {
  const ValueId v = in(i);
  if (v == kNoValue || !active_[v]) return false;
  const std::vector<int>& no_grad =
      appender_.graph().nodes[node_].op->no_grad_inputs;
  return std::find(no_grad.begin(), no_grad.end(), i) == no_grad.end();
}

const TensorType& GradBuilder::type(ValueId value) const {
  return appender_.graph().values[value].type;
}

ValueId GradBuilder::Add(absl::string_view op, std::vector<ValueId> in,
                         Attrs attrs) {
  return AddMany(op, std::move(in), std::move(attrs), 1)[0];
}

std::vector<ValueId> GradBuilder::AddMany(absl::string_view op,
                                          std::vector<ValueId> in, Attrs attrs,
                                          int num_outputs) {
  return appender_.Add(op, std::move(in), std::move(attrs), num_outputs);
}

ValueId GradBuilder::Fill(const TensorType& type, float content) {
  return Add("Fill", {},
             {{"dims", type.dims}, {"dtype", type.dtype}, {"value", content}});
}

ValueId GradBuilder::SumTo(ValueId grad, const TensorType& to) {
  if (grad == kNoValue) return kNoValue;
  const Dims from = type(grad).dims;
  if (from == to.dims) return grad;
  const size_t lead = from.size() - to.dims.size();
  Ints axes;
  for (size_t i = 0; i < from.size(); ++i) {
    if (i < lead || (to.dims[i - lead] == 1 && from[i] != 1)) {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  ValueId sum = grad;
  if (!axes.empty()) {
    sum = Add("ReduceSum", {sum}, {{"axes", axes}, {"keepdims", int64_t{1}}});
  }
  if (sum != kNoValue && type(sum).dims != to.dims) {
    // A dim of 0 means itself here, not "as in the operand".
    sum = Add("Reshape", {sum},
              {{"shape", Ints(to.dims)}, {"allowzero", int64_t{1}}});
  }
  return sum;
}

// One run of AppendBackward.
class Differentiator {
 public:
  Differentiator(Graph& graph, const OpTable& ops,
                 absl::Span<const ValueId> wanted)
      : graph_(graph),
        appender_(graph, ops),
        num_nodes_(static_cast<NodeId>(graph.nodes.size())),
        active_(graph.values.size(), false),
        needed_(graph.values.size(), false),
        grads_(graph.values.size(), kNoValue) {
    for (const ValueId v : wanted) active_[v] = true;
  }

  absl::Status Run() {
    MarkActive();
    MarkNeeded();
    RETURN_IF_ERROR(CheckGradientsExist());
    SeedLosses();
    for (NodeId n = num_nodes_ - 1; n >= 0; --n) {
      if (OnPath(n)) RETURN_IF_ERROR(Differentiate(n));
    }
    return appender_.status();
  }

  ValueId grad(ValueId v) const { return grads_[v]; }

 private:
  static bool HasGradient(const OpDef& op, int input) {
    return std::find(op.no_grad_inputs.begin(), op.no_grad_inputs.end(),
                     input) == op.no_grad_inputs.end();
  }

  bool Differentiable(ValueId v) const {
    return graph_.values[v].type.dtype == DType::kF32;
  }

  // active: depends on a wanted value.
  void MarkActive() {
    for (NodeId n = 0; n < num_nodes_; ++n) {
      const Node& node = graph_.nodes[n];
      if (node.role != Role::kForward) continue;
      bool any = false;
      for (size_t i = 0; i < node.in.size(); ++i) {
        any = any || (node.in[i] != kNoValue && active_[node.in[i]] &&
                      HasGradient(*node.op, static_cast<int>(i)));
      }
      if (!any) continue;
      for (const ValueId v : node.out) {
        if (v != kNoValue && Differentiable(v)) active_[v] = true;
      }
    }
  }

  // needed: a loss depends on it.
  void MarkNeeded() {
    for (const Loss& loss : graph_.losses) {
      if (loss.weight != 0) needed_[loss.value] = true;
    }
    for (NodeId n = num_nodes_ - 1; n >= 0; --n) {
      if (!OnPath(n)) continue;
      const Node& node = graph_.nodes[n];
      for (size_t i = 0; i < node.in.size(); ++i) {
        const ValueId v = node.in[i];
        if (v != kNoValue && active_[v] &&
            HasGradient(*node.op, static_cast<int>(i))) {
          needed_[v] = true;
        }
      }
    }
  }

  bool OnPath(NodeId n) const {
    if (graph_.nodes[n].role != Role::kForward) return false;
    for (const ValueId v : graph_.nodes[n].out) {
      if (v != kNoValue && v < static_cast<ValueId>(needed_.size()) &&
          active_[v] && needed_[v]) {
        return true;
      }
    }
    return false;
  }

  absl::Status CheckGradientsExist() const {
    std::vector<std::string> missing;
    for (NodeId n = 0; n < num_nodes_; ++n) {
      const Node& node = graph_.nodes[n];
      if (OnPath(n) && !node.op->grad) {
        missing.push_back(
            absl::StrCat("node '", node.name, "' (", node.op->name, ")"));
      }
    }
    if (missing.empty()) return absl::OkStatus();
    return absl::UnimplementedError(absl::StrCat(
        missing.size(), " node", missing.size() == 1 ? "" : "s",
        " between the loss and a trained value without a gradient: ",
        absl::StrJoin(missing, ", ")));
  }

  void SetPlace(NodeId n) {
    NodeAppender::Place place;
    place.role = Role::kBackward;
    place.origin = n;
    place.prefix = "__grad/";
    place.label = n == kNoNode ? "loss" : graph_.nodes[n].name;
    appender_.SetPlace(std::move(place));
  }

  void SeedLosses() {
    for (const Loss& loss : graph_.losses) {
      if (loss.weight == 0 || !active_[loss.value]) continue;
      SetPlace(graph_.values[loss.value].producer);
      const TensorType type = graph_.values[loss.value].type;
      Accumulate(loss.value, appender_.Add("Fill", {},
                                           {{"dims", type.dims},
                                            {"dtype", type.dtype},
                                            {"value", loss.weight}},
                                           1)[0]);
    }
  }

  // Contributions are added in the order in which they come: nodes from last
  // to first, a node's operands from first to last.
  void Accumulate(ValueId v, ValueId contribution) {
    if (contribution == kNoValue) return;
    grads_[v] = grads_[v] == kNoValue
                    ? contribution
                    : appender_.Add("Add", {grads_[v], contribution}, {}, 1)[0];
  }

  absl::Status Differentiate(NodeId n) {
    bool any = false;
    for (const ValueId v : graph_.nodes[n].out) {
      any = any || (v != kNoValue && v < static_cast<ValueId>(grads_.size()) &&
                    grads_[v] != kNoValue);
    }
    if (!any) return absl::OkStatus();
    SetPlace(n);
    GradBuilder builder(appender_, active_, grads_, n);
    const std::vector<ValueId> in_grads = graph_.nodes[n].op->grad(builder);
    RETURN_IF_ERROR(appender_.status());
    const std::vector<ValueId> in = graph_.nodes[n].in;
    for (size_t i = 0; i < in.size() && i < in_grads.size(); ++i) {
      if (in_grads[i] == kNoValue || !builder.needs_grad(static_cast<int>(i))) {
        continue;
      }
      const TensorType& want = graph_.values[in[i]].type;
      const TensorType& got = graph_.values[in_grads[i]].type;
      if (want != got) {
        return absl::InternalError(absl::StrCat(
            "node '", graph_.nodes[n].name, "' (", graph_.nodes[n].op->name,
            "): the gradient of input ", i, " must be ", ToString(want),
            ", got ", ToString(got)));
      }
      Accumulate(in[i], in_grads[i]);
    }
    return absl::OkStatus();
  }

  Graph& graph_;
  NodeAppender appender_;
  const NodeId num_nodes_;
  std::vector<bool> active_;
  std::vector<bool> needed_;
  std::vector<ValueId> grads_;
};

absl::StatusOr<std::vector<ValueId>> AppendBackward(
    Graph& graph, const OpTable& ops, absl::Span<const ValueId> wanted) {
  Differentiator differentiator(graph, ops, wanted);
  RETURN_IF_ERROR(differentiator.Run());
  std::vector<ValueId> grads;
  grads.reserve(wanted.size());
  for (const ValueId v : wanted) grads.push_back(differentiator.grad(v));
  return grads;
}

}  // namespace reprise
