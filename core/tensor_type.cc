#include "core/tensor_type.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace reprise {

int64_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kI64:
      return 8;
    case DType::kBool:
    case DType::kU8:
      return 1;
    case DType::kNone:
    case DType::kOpaque:
      return 0;
  }
  return 0;
}

absl::string_view ToString(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kI32:
      return "i32";
    case DType::kI64:
      return "i64";
    case DType::kBool:
      return "bool";
    case DType::kU8:
      return "u8";
    case DType::kOpaque:
      return "opaque";
    case DType::kNone:
      return "none";
  }
  return "none";
}

absl::StatusOr<TensorType> TensorType::Make(DType dtype, Dims dims) {
  const std::string text = DimsToString(dims);
  if (dims.size() > kMaxRank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", dims.size(), " of ", text, " is above ", kMaxRank));
  }
  for (const int64_t dim : dims) {
    if (dim < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("dim ", dim, " of ", text, " is negative"));
    }
  }
  // Strides are products of nonzero dims, so these must fit even where a zero
  // makes the value empty.
  int64_t bytes = SizeOf(dtype) > 0 ? SizeOf(dtype) : 1;
  for (const int64_t dim : dims) {
    if (dim > 0 && (__builtin_mul_overflow(bytes, dim, &bytes) ||
                    bytes > kMaxTensorBytes)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "bytes of ", ToString(dtype), text, " exceed ", kMaxTensorBytes));
    }
  }
  return TensorType{dtype, std::move(dims)};
}

int64_t TensorType::num_elements() const { return Product(dims); }

std::string ToString(const TensorType& type) {
  if (!type.present()) return "none";
  return absl::StrCat(ToString(type.dtype), DimsToString(type.dims));
}

std::string DimsToString(absl::Span<const int64_t> dims) {
  return absl::StrCat("[", absl::StrJoin(dims, ","), "]");
}

int64_t Product(absl::Span<const int64_t> dims) {
  int64_t product = 1;
  for (const int64_t dim : dims) product *= dim;
  return product;
}

absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank,
                                  absl::string_view who) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(absl::StrCat(
        who, ": axis must be in [", -rank, ", ", rank, "), got ", axis));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

absl::StatusOr<Dims> BroadcastDims(absl::Span<const int64_t> a,
                                   absl::Span<const int64_t> b,
                                   absl::string_view who) {
  const size_t rank = std::max(a.size(), b.size());
  Dims out(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t da = i < rank - a.size() ? 1 : a[i - (rank - a.size())];
    const int64_t db = i < rank - b.size() ? 1 : b[i - (rank - b.size())];
    if (da != db && da != 1 && db != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(who, ": dims must broadcast, got ", DimsToString(a),
                       " and ", DimsToString(b)));
    }
    out[i] = da == 1 ? db : da;
  }
  return out;
}

}  // namespace reprise
