// Reverse-mode differentiation: appends to a step graph the nodes that compute
// gradients. What a gradient rule names is what is kept for it.

#ifndef CORE_AUTODIFF_H_
#define CORE_AUTODIFF_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/graph.h"
#include "core/op_table.h"

namespace reprise {

class NodeAppender;

// What a gradient rule (OpDef::grad) sees of its node, and how it adds nodes.
class GradBuilder {
 public:
  const Attrs& attrs() const;
  int num_inputs() const;
  int num_outputs() const;

  // The node's operands. kNoValue: absent.
  ValueId in(int i) const;

  // A result of the node. Naming one that the node does not have yet (a
  // statistic or workspace) adds it to the forward node.
  ValueId out(int i);

  // The gradient of a result; kNoValue if the loss does not depend on it.
  ValueId out_grad(int i) const;

  // Whether anybody reads the gradient of input i: a rule must not compute
  // what nobody asked for, as it would keep its operands alive.
  bool needs_grad(int i) const;

  const TensorType& type(ValueId value) const;

  // Adds a backward node and returns its outputs; the first one where `Add`.
  ValueId Add(absl::string_view op, std::vector<ValueId> in, Attrs attrs = {});
  std::vector<ValueId> AddMany(absl::string_view op, std::vector<ValueId> in,
                               Attrs attrs, int num_outputs);

  // Adds a value of `type` filled with `content`.
  ValueId Fill(const TensorType& type, float content);

  // Adds the sum of `grad` over the axes along which an operand of type `to`
  // was broadcast; `grad` itself where none was.
  ValueId SumTo(ValueId grad, const TensorType& to);

 private:
  friend class Differentiator;
  GradBuilder(NodeAppender& appender, const std::vector<bool>& active,
              const std::vector<ValueId>& grads, NodeId node)
      : appender_(appender), active_(active), grads_(grads), node_(node) {}

  NodeAppender& appender_;
  const std::vector<bool>& active_;
  const std::vector<ValueId>& grads_;
  NodeId node_;
};

// Appends the gradients of sum_i weight_i * loss_i with respect to `wanted`.
//
//   graph:   forward nodes only; gets backward nodes and hidden outputs.
//   wanted:  inputs or parameters of dtype f32.
//   returns: one gradient per wanted value; kNoValue if no loss depends on it.
//   errors:  Unimplemented listing every node on the way that has no gradient.
absl::StatusOr<std::vector<ValueId>> AppendBackward(
    Graph& graph, const OpTable& ops, absl::Span<const ValueId> wanted);

}  // namespace reprise

#endif  // CORE_AUTODIFF_H_
