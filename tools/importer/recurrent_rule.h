// Initial states and lengths of recurrent operators.

#ifndef TOOLS_IMPORTER_RECURRENT_RULE_H_
#define TOOLS_IMPORTER_RECURRENT_RULE_H_

#include "absl/status/status.h"
#include "tools/importer/graph_importer.h"

namespace reprise {

// Leaves out what says what is so without it: initial states of zeros, which
// exporters write out for each sample of the batch, and lengths that are those
// of x. A state that the user wants trained stays.
absl::Status RuleRecurrent(GraphImporter& graph, ImportNode& node);

}  // namespace reprise

#endif  // TOOLS_IMPORTER_RECURRENT_RULE_H_
