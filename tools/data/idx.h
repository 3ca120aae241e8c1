// idx files, in which MNIST is published.

#ifndef TOOLS_DATA_IDX_H_
#define TOOLS_DATA_IDX_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/data/array.h"

namespace reprise {

// Returns whether `content` begins like an idx file.
bool LooksLikeIdx(absl::string_view content);

// Returns the array in an idx file: unsigned bytes, big-endian int32 or
// float32.
//
//   source: named at the start of every error.
//   errors: InvalidArgument with the numbers that do not fit: magic number,
//           element type, dims against bytes.
absl::StatusOr<Array> ParseIdx(absl::string_view content,
                               absl::string_view source);

}  // namespace reprise

#endif  // TOOLS_DATA_IDX_H_
