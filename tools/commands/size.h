// Numbers of bytes as people write and read them.

#ifndef TOOLS_COMMANDS_SIZE_H_
#define TOOLS_COMMANDS_SIZE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise {

// Returns the bytes in e.g. "512MiB", "1.5 GB" or "4096": a number >= 0 and no
// unit, B, KB, MB, GB (powers of 1,000), KiB, MiB or GiB (powers of 1,024).
//
//   errors: InvalidArgument for anything else, or a size beyond int64.
absl::StatusOr<int64_t> ParseSize(absl::string_view text);

// Returns e.g. "512 B", "16.0 KiB", "1.21 MiB": three digits, or all of them
// below 1 KiB.
std::string FormatSize(int64_t bytes);

// Returns e.g. "1,797".
std::string FormatCount(int64_t count);

// Returns e.g. "850 ns", "1.21 ms", "12.3 s".
std::string FormatNanoseconds(int64_t nanoseconds);

}  // namespace reprise

#endif  // TOOLS_COMMANDS_SIZE_H_
