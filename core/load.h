// From a model file to a checked Graph.

#ifndef CORE_LOAD_H_
#define CORE_LOAD_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/graph.h"
#include "core/op_table.h"
#include "proto/graph.pb.h"

namespace reprise {

// Values for symbols, which override their defaults.
using Bindings = std::map<std::string, int64_t>;

// Returns the message in `path`: text if the name ends in .textproto, binary
// otherwise. Unknown fields are an error.
//
//   errors: NotFound; InvalidArgument naming the file (for text: line and
//           column), or a size above 1 GiB.
absl::StatusOr<proto::Graph> ReadGraphFile(const std::string& path);

// Writes `graph` in the format that the name asks for; the old file or the new
// one stands, whole.
absl::Status WriteGraphFile(const proto::Graph& graph, const std::string& path);

// Returns the checked graph: symbols bound, nodes sorted (stably, producers
// first), types inferred, attributes complete, regions judged.
//
//   source: named at the start of every error.
//   errors: InvalidArgument with every independent error found, one a line,
//           each naming node, rule and numbers. docs/formats.md lists the
//           rules.
absl::StatusOr<Graph> LoadGraph(const proto::Graph& graph, const OpTable& ops,
                                const Bindings& bindings,
                                absl::string_view source);

// SHA-256 over canonical content, as 64 hex digits.
struct Fingerprints {
  std::string parameters;  // names and types of parameters: weights files
  std::string math;        // nodes, order, attributes, binding
};
Fingerprints FingerprintsOf(const Graph& graph);

}  // namespace reprise

#endif  // CORE_LOAD_H_
