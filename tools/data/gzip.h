// Compressed files, whole in memory.

#ifndef TOOLS_DATA_GZIP_H_
#define TOOLS_DATA_GZIP_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise {

// The most bytes that a data file may have, before and after decompression.
inline constexpr int64_t kMaxDataFileBytes = int64_t{8} << 30;

// Returns the content of a file; decompressed if it begins like a gzip file.
//
//   errors: those of ReadFile (core/file.h) and Gunzip.
absl::StatusOr<std::string> ReadFileOrGzip(const std::string& path);

// Returns what the gzip members in `compressed` contain.
//
//   source: named at the start of every error.
//   errors: InvalidArgument with the byte if the stream is corrupt or ends too
//           early, or something else follows it; or above kMaxDataFileBytes.
absl::StatusOr<std::string> Gunzip(absl::string_view compressed,
                                   absl::string_view source);

}  // namespace reprise

#endif  // TOOLS_DATA_GZIP_H_
