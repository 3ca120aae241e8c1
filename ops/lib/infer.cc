#include "ops/lib/infer.h"

#include <algorithm>
#include <utility>

#include "core/status_macros.h"

namespace reprise {

absl::Status RequireF32(absl::string_view op, absl::string_view operand,
                        const TensorType& type) {
  if (type.dtype == DType::kF32) return absl::OkStatus();
  return Invalid(op, ": ", operand, " must be f32, got ", ToString(type));
}

absl::Status RequireSameF32(absl::string_view op, const OpArgs& args) {
  for (const TensorType& type : args.in) {
    RETURN_IF_ERROR(RequireF32(op, "operand", type));
    if (type != args.in[0]) {
      return Invalid(op, ": operands must be of one type, got ",
                     ToString(args.in[0]), " and ", ToString(type));
    }
  }
  return absl::OkStatus();
}

InferredTypes OneType(absl::string_view op, DType dtype, Dims dims) {
  absl::StatusOr<TensorType> type = TensorType::Make(dtype, std::move(dims));
  if (!type.ok()) return Invalid(op, ": ", type.status().message());
  return std::vector<TensorType>{*std::move(type)};
}

absl::StatusOr<std::vector<int>> NormalizeAxes(absl::string_view op,
                                               const Ints& axes, int rank) {
  std::vector<int> result;
  for (const int64_t axis : axes) {
    ASSIGN_OR_RETURN(const int normal, NormalizeAxis(axis, rank, op));
    if (std::find(result.begin(), result.end(), normal) != result.end()) {
      return Invalid(op, ": axes must differ, got axis ", normal, " twice in ",
                     DimsToString(axes));
    }
    result.push_back(normal);
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace reprise
