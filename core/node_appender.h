// Adds typed nodes to a graph under construction.

#ifndef CORE_NODE_APPENDER_H_
#define CORE_NODE_APPENDER_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/graph.h"
#include "core/op_table.h"

namespace reprise {

// Fills in attribute defaults, infers output types and makes names unique. The
// first error sticks and is returned by `status`: callers add a whole formula
// and look once.
class NodeAppender {
 public:
  // What the nodes to come are.
  struct Place {
    Role role = Role::kForward;
    NodeId origin = kNoNode;
    RegionId region = kNoRegion;
    std::string prefix;  // of node and value names, e.g. "__grad/"
    std::string label;   // what the node belongs to, in names and errors
  };

  NodeAppender(Graph& graph, const OpTable& ops);

  Graph& graph() { return graph_; }
  const absl::Status& status() const { return status_; }
  void SetPlace(Place place) { place_ = std::move(place); }

  // Returns the outputs, as many as asked for; all kNoValue after an error.
  // `out_names`: names of the outputs; where empty, one is made up.
  std::vector<ValueId> Add(absl::string_view op, std::vector<ValueId> in,
                           Attrs attrs, int num_outputs,
                           std::vector<std::string> out_names = {});

  // Returns output `index` of a node, adding a hidden value for it if it has
  // none yet.
  ValueId EnsureOutput(NodeId node, int index);

  // Adds a value without a producer.
  ValueId AddSource(const std::string& name, TensorType type, ValueKind kind);

  // Returns a name not yet in use that starts with `stem`.
  std::string UniqueName(const std::string& stem);

 private:
  absl::StatusOr<std::vector<TensorType>> Infer(const Node& node) const;

  Graph& graph_;
  const OpTable& ops_;
  absl::flat_hash_set<std::string> names_;
  absl::flat_hash_map<std::string, int> next_suffix_;
  Place place_;
  absl::Status status_;
};

// Returns `attrs` with the operator's defaults filled in.
//
//   errors: InvalidArgument naming an attribute that is unknown, of another
//           kind, or required and missing.
absl::StatusOr<Attrs> CompleteAttrs(const OpDef& op, Attrs attrs);

// Returns the types of all outputs the node can have.
//
//   types: type of each operand.
//   errors: InvalidArgument "node 'n' (Op): rule, got ...".
absl::StatusOr<std::vector<TensorType>> InferTypes(
    absl::string_view node_name, const OpDef& op, const Attrs& attrs,
    absl::Span<const TensorType> types);

}  // namespace reprise

#endif  // CORE_NODE_APPENDER_H_
