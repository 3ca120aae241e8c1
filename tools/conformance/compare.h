// Whether results are what a test says they are.

#ifndef TOOLS_CONFORMANCE_COMPARE_H_
#define TOOLS_CONFORMANCE_COMPARE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/trainer.h"
#include "tools/data/array.h"
#include "tools/importer/importer.h"

namespace reprise {

// Returns how `got` differs from `expected`: in type, or by more than
// atol + rtol |expected| in an element, with the largest error. Empty: not.
// Integers and bools must be equal; NaN equals NaN.
std::string Difference(const Array& got, const Array& expected, double rtol,
                       double atol);

// Returns how outputs (y, and the mask if it is there) break what a training
// Dropout of `x` promises: y is 0 where the mask is, x / (1 - ratio) elsewhere,
// and about `ratio` of the mask is 0. Empty: in nothing.
std::string BrokenDropoutLaw(const Array& x, float ratio,
                             const std::vector<const Array*>& outputs);

// Gives the trainer the model's weights.
absl::Status SetWeights(const ImportedModel& imported, Trainer& trainer);

// Writes the model's inputs, in its order, to a pass.
absl::Status WriteInputs(const ImportedModel& imported,
                         const std::vector<Array>& inputs, Pass& pass);

}  // namespace reprise

#endif  // TOOLS_CONFORMANCE_COMPARE_H_
