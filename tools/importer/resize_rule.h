// How Upsample and the versions of Resize become today's Resize.

#ifndef TOOLS_IMPORTER_RESIZE_RULE_H_
#define TOOLS_IMPORTER_RESIZE_RULE_H_

#include "absl/status/status.h"
#include "tools/importer/graph_importer.h"

namespace reprise {

// Upsample (versions 7 and 9) and Resize 10 scale from the corner, and round
// down; from version 11 on, attributes say how. Scales or sizes that are there
// but empty stand for absent ones.
absl::Status RuleResize(GraphImporter& graph, ImportNode& node);

}  // namespace reprise

#endif  // TOOLS_IMPORTER_RESIZE_RULE_H_
