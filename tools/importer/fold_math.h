// Arithmetic on constants, private to fold.cc: integers exactly, floats as
// float32.

#ifndef TOOLS_IMPORTER_FOLD_MATH_H_
#define TOOLS_IMPORTER_FOLD_MATH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/attributes.h"
#include "tools/data/array.h"

namespace reprise {

// Returns whether ComputeElements knows the operator.
bool IsElementwise(absl::string_view op);

// Returns the one result of an operator on elements, or of a reduction.
//
//   in: no nullptr.
//   errors: InvalidArgument for an integer division by zero, operands that do
//           not broadcast; Unimplemented for types it leaves to kernels.
absl::StatusOr<std::vector<Array>> ComputeElements(
    const std::string& op, const Attrs& attrs,
    const std::vector<const Array*>& in, int64_t most_elements);

// Returns start, start + delta, ... below limit (above it for delta < 0).
absl::StatusOr<std::vector<Array>> RangeOf(const Array& start,
                                           const Array& limit,
                                           const Array& delta,
                                           int64_t most_elements);

}  // namespace reprise

#endif  // TOOLS_IMPORTER_FOLD_MATH_H_
