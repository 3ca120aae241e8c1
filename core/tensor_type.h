// Element types, dims, and the type of a tensor.

#ifndef CORE_TENSOR_TYPE_H_
#define CORE_TENSOR_TYPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace reprise {

enum class DType : uint8_t {
  kNone,    // no tensor: an absent optional operand
  kF32,     // float
  kI32,     // int32_t
  kI64,     // int64_t
  kBool,    // one byte, 0 or 1
  kU8,      // uint8_t
  kOpaque,  // a oneDNN workspace: only its producer knows how many bytes
};

// Returns bytes per element; 0 for kNone and kOpaque.
int64_t SizeOf(DType dtype);

// Returns "f32", "i32", "i64", "bool", "u8", "opaque" or "none".
absl::string_view ToString(DType dtype);

using Dims = std::vector<int64_t>;

inline constexpr int kMaxRank = 8;

// 4 TiB. So small that sums over all values of a graph, and the flops of a
// matrix product (at most the power 3/2 of this), stay inside int64.
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 42;

struct TensorType {
  DType dtype = DType::kNone;
  Dims dims;  // outermost first; empty: a scalar

  // Returns the type, after the only check of products in the project.
  //
  //   errors: InvalidArgument if the rank is above kMaxRank, a dim is negative,
  //           or the product of bytes and of all dims but zeros is above
  //           kMaxTensorBytes.
  static absl::StatusOr<TensorType> Make(DType dtype, Dims dims);

  // False for an absent optional operand.
  bool present() const { return dtype != DType::kNone; }
  int rank() const { return static_cast<int>(dims.size()); }
  int64_t num_elements() const;
  int64_t bytes() const { return num_elements() * SizeOf(dtype); }

  friend bool operator==(const TensorType& a, const TensorType& b) {
    return a.dtype == b.dtype && a.dims == b.dims;
  }
  friend bool operator!=(const TensorType& a, const TensorType& b) {
    return !(a == b);
  }
};

// Returns e.g. "f32[32,784]"; "f32[]" for a scalar, "none" if absent.
std::string ToString(const TensorType& type);

// Returns e.g. "[32,784]".
std::string DimsToString(absl::Span<const int64_t> dims);

// Returns the product of dims [begin, end); 1 if empty.
int64_t Product(absl::Span<const int64_t> dims);

// Returns `axis` counted from the front, or InvalidArgument starting with
// `who` if it is outside [-rank, rank).
absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank,
                                  absl::string_view who);

// Returns the broadcast of two dims lists under ONNX's (numpy's) rule.
//
//   errors: InvalidArgument starting with `who`, with both lists.
absl::StatusOr<Dims> BroadcastDims(absl::Span<const int64_t> a,
                                   absl::Span<const int64_t> b,
                                   absl::string_view who);

// How the elements of a value lie in memory. Core compares layouts and hands
// them on; only ops/ gives them meaning.
struct Layout {
  std::string format;  // empty: dense row-major; otherwise a oneDNN format tag

  bool row_major() const { return format.empty(); }
  friend bool operator==(const Layout& a, const Layout& b) {
    return a.format == b.format;
  }
  friend bool operator!=(const Layout& a, const Layout& b) { return !(a == b); }
};

}  // namespace reprise

#endif  // CORE_TENSOR_TYPE_H_
