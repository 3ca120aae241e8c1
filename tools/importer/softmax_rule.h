// Operators along one axis that took everything from it on as one row.

#ifndef TOOLS_IMPORTER_SOFTMAX_RULE_H_
#define TOOLS_IMPORTER_SOFTMAX_RULE_H_

#include "absl/status/status.h"
#include "tools/importer/graph_importer.h"

namespace reprise {

// Softmax and LogSoftmax. Before version 13 between two Reshapes, where the
// axis is not the last one.
absl::Status RuleSoftmax(GraphImporter& graph, ImportNode& node);

// Hardmax is OneHot of ArgMax, likewise.
absl::Status RuleHardmax(GraphImporter& graph, ImportNode& node);

}  // namespace reprise

#endif  // TOOLS_IMPORTER_SOFTMAX_RULE_H_
