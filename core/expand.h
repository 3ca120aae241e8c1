// Turns a model's graph into the forward part of a step graph: nodes whose
// meaning depends on the mode are replaced by what they mean there.

#ifndef CORE_EXPAND_H_
#define CORE_EXPAND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/graph.h"
#include "core/node_appender.h"
#include "core/op_table.h"

namespace reprise {

// Scalars in the arena that the trainer writes before each step. All INT64 of
// rank 0 but the learning rate, which is FLOAT32.
struct StepScalars {
  ValueId seed = kNoValue;
  ValueId step = kNoValue;        // completed optimizer steps, from 0
  ValueId micro_step = kNoValue;  // within the step, from 0
  ValueId lr = kNoValue;
};

// What OpDef::expand sees of its node.
class ExpandBuilder {
 public:
  bool training() const { return training_; }
  const Attrs& attrs() const { return node_.attrs; }
  int num_inputs() const { return static_cast<int>(node_.in.size()); }
  int num_outputs() const { return static_cast<int>(node_.out.size()); }

  // The node's operands, as values of the step graph.
  ValueId in(int i) const;
  bool wants_out(int i) const;
  const TensorType& type(ValueId value) const;

  // Equal for equal logical node names, on every machine.
  int64_t NameHash() const;

  const StepScalars& scalars() const { return scalars_; }

  // Adds a node of the same region. An output that stands for output i of the
  // replaced node gets its name by `SetOut`.
  std::vector<ValueId> Add(absl::string_view op, std::vector<ValueId> in,
                           Attrs attrs, int num_outputs);

  // Adds an update node: it has effect kUpdate, belongs to no region, and is
  // left out (all outputs kNoValue) where the mode updates nothing.
  std::vector<ValueId> AddUpdate(absl::string_view op, std::vector<ValueId> in,
                                 Attrs attrs, int num_outputs);

  // Says that output i of the replaced node is `value`. An output that is
  // wanted and not set is an error of the operator.
  void SetOut(int i, ValueId value);

 private:
  friend class Expander;
  ExpandBuilder(NodeAppender& appender, const Node& node,
                const std::vector<ValueId>& mapped, const StepScalars& scalars,
                bool training, bool updates)
      : appender_(appender),
        node_(node),
        mapped_(mapped),
        scalars_(scalars),
        training_(training),
        updates_(updates),
        outs_(node.out.size(), kNoValue) {}

  bool IsOperand(ValueId value) const;

  NodeAppender& appender_;
  const Node& node_;
  const std::vector<ValueId>& mapped_;  // model value -> step graph value
  const StepScalars& scalars_;
  bool training_;
  bool updates_;
  std::vector<ValueId> outs_;
};

// How nodes are expanded, apart from the operators' own rules.
struct ExpandOptions {
  bool training = true;  // Dropout drops, BatchNormalization uses the batch
  bool updates = true;   // states get their next content
};

// Copies `model` into the appender's empty graph, expanding every node.
//
//   returns: for each value of `model`, the value of the new graph; kNoValue
//            for results that the mode does not compute.
//   errors:  those of OpDef::expand; InvalidArgument if a node reads a result
//            that the mode does not compute.
absl::StatusOr<std::vector<ValueId>> Expand(const Graph& model,
                                            const StepScalars& scalars,
                                            const ExpandOptions& options,
                                            NodeAppender& appender);

}  // namespace reprise

#endif  // CORE_EXPAND_H_
