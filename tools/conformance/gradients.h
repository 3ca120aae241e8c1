// Gradients of an imported model against central differences.

#ifndef TOOLS_CONFORMANCE_GRADIENTS_H_
#define TOOLS_CONFORMANCE_GRADIENTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/op_table.h"
#include "tools/data/array.h"
#include "tools/importer/importer.h"

namespace reprise {

// Returns how the gradients by the model's inputs of a fixed weighted sum of
// its outputs differ from what moving single elements does to that sum. Empty:
// they agree. Where the sum has a kink, a gradient between the slopes of both
// sides agrees; where it jumps, or is no number on one side, any does.
//
//   errors: Unimplemented if nothing is to be differentiated, an operator on
//           the way has no gradient, or the sum is infinite.
absl::StatusOr<std::string> CompareGradients(const ImportedModel& imported,
                                             const std::vector<Array>& inputs,
                                             const OpTable& ops);

}  // namespace reprise

#endif  // TOOLS_CONFORMANCE_GRADIENTS_H_
