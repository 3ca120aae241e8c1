// What a model computes from constants, computed while it is imported: shape
// arithmetic above all, on the host, element by element.

#ifndef TOOLS_IMPORTER_FOLD_H_
#define TOOLS_IMPORTER_FOLD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/attributes.h"
#include "tools/data/array.h"

namespace reprise {

// Larger results stay nodes.
inline constexpr int64_t kMostFoldedElements = int64_t{1} << 20;

// Returns whether Fold knows the operator.
bool CanFold(absl::string_view op);

// Returns the results of one node with constant operands.
//
//   attrs: in the form that operators of ours have.
//   in:    nullptr for absent operands.
//   errors: InvalidArgument if the operands break the operator's rule;
//           Unimplemented for element types or sizes that are left to kernels.
absl::StatusOr<std::vector<Array>> Fold(const std::string& op,
                                        const Attrs& attrs,
                                        const std::vector<const Array*>& in,
                                        int num_outputs, int64_t most_elements);

// Returns an array of integers, of rank 1 or, for a single one, 0.
Array VectorOfInts(const std::vector<int64_t>& numbers);
Array ScalarOfInt(int64_t number);
Array ScalarOfFloat(float number);

}  // namespace reprise

#endif  // TOOLS_IMPORTER_FOLD_H_
