// What the `infer` functions of operators share: judging inputs, with messages
// of one form, "Op: rule, got type".

#ifndef OPS_LIB_INFER_H_
#define OPS_LIB_INFER_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/op.h"
#include "core/tensor_type.h"

namespace reprise {

using InferredTypes = absl::StatusOr<std::vector<TensorType>>;

// Returns InvalidArgument with the concatenated parts.
template <class... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// Ok iff `type` is FLOAT32; otherwise "Op: x must be f32, got ...".
absl::Status RequireF32(absl::string_view op, absl::string_view operand,
                        const TensorType& type);

// Ok iff all inputs have the type of input 0, which is FLOAT32.
absl::Status RequireSameF32(absl::string_view op, const OpArgs& args);

// Returns the one type, after the check of products.
InferredTypes OneType(absl::string_view op, DType dtype, Dims dims);

// Returns the axes counted from the front, ascending.
//
//   errors: InvalidArgument if one is out of range or named twice.
absl::StatusOr<std::vector<int>> NormalizeAxes(absl::string_view op,
                                               const Ints& axes, int rank);

}  // namespace reprise

#endif  // OPS_LIB_INFER_H_
