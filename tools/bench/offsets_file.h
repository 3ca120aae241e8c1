// Instances of offset placement, as tables in text.

#ifndef TOOLS_BENCH_OFFSETS_FILE_H_
#define TOOLS_BENCH_OFFSETS_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "planner/liveness.h"

namespace reprise {

struct OffsetsFile {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // as many fields as columns

  // Those that have bytes, in the order of rows. Steps are ranks of the file's
  // times, which may be far apart.
  std::vector<Buffer> buffers;

  // For each row: its buffer; -1: it has no bytes.
  std::vector<int32_t> buffer_of;
};

// Returns the instance in a CSV file: a header that names the columns id,
// lower, upper and size in any order, and maybe others, then a line for each
// buffer, which has `size` bytes and lives in [lower, upper). Spaces around
// fields and empty lines are skipped; lines end in \n or \r\n.
//
//   source: named at the start of every error.
//   errors: InvalidArgument with line and numbers: no header, a column that is
//           missing, twice there or not supported (alignment, gaps), a line
//           with another number of fields, an id twice there, lower, upper or
//           size that is no integer from 0 to 2^63 - 1, lower >= upper, or a
//           sum of sizes beyond 2^62.
absl::StatusOr<OffsetsFile> ParseOffsets(absl::string_view content,
                                         absl::string_view source);

// Returns the file with a column `offset` of bytes: in place of the one it has,
// or behind all others.
//
//   offsets: one per buffer; rows without bytes get 0.
std::string WithOffsets(const OffsetsFile& file,
                        absl::Span<const int64_t> offsets);

}  // namespace reprise

#endif  // TOOLS_BENCH_OFFSETS_FILE_H_
