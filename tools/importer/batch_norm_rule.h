// Modes and running statistics of BatchNormalization.

#ifndef TOOLS_IMPORTER_BATCH_NORM_RULE_H_
#define TOOLS_IMPORTER_BATCH_NORM_RULE_H_

#include "absl/status/status.h"
#include "tools/importer/graph_importer.h"

namespace reprise {

// Before version 14 further results meant training mode. In training mode what
// the running statistics become are results of nodes of their own, and the next
// content of states; ImportOptions::train_batch_norm asks for it.
absl::Status RuleBatchNormalization(GraphImporter& graph, ImportNode& node);

}  // namespace reprise

#endif  // TOOLS_IMPORTER_BATCH_NORM_RULE_H_
