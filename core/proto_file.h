// Messages on disk, as text (.textproto) or binary (any other name).
//
// Protobuf's parsers trust their input with memory and stack: two bytes of a
// file can become a message of a hundred, and a nested one a stack frame. So
// the bytes are walked first, without building anything, and refused by rule:
// unknown fields, other wire types, text that is not UTF-8, nesting and counts
// beyond the caps.

#ifndef CORE_PROTO_FILE_H_
#define CORE_PROTO_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace reprise {

inline constexpr int64_t kMaxFileBytes = int64_t{1} << 30;

// Messages within messages, the outermost one included.
inline constexpr int kMaxMessageNesting = 64;

// Entries of one repeated field of the outermost message.
inline constexpr int64_t kMaxEntries = 2'000'000;

// Messages and strings in a file altogether.
inline constexpr int64_t kMaxElements = 100'000'000;

// What binary content of a foreign format is held to.
struct BinaryRules {
  // Fields that this program's description of the format lacks are passed
  // over: they come from newer writers.
  bool skip_unknown_fields = false;

  // Messages and strings altogether.
  int64_t max_elements = kMaxElements;
};

// Fills `message` from a file's content.
//
//   source: named at the start of every error.
//   errors: InvalidArgument with the line and column, or byte, and the rule.
absl::Status ParseText(absl::string_view text, absl::string_view source,
                       google::protobuf::Message& message);
absl::Status ParseBinary(absl::string_view bytes, absl::string_view source,
                         google::protobuf::Message& message,
                         const BinaryRules& rules = {});

// Fills `message` from the file `path`: text if the name ends in .textproto.
//
//   errors: those of ParseText, ParseBinary and ReadFile.
absl::Status ReadProtoFile(const std::string& path,
                           google::protobuf::Message& message);

// Writes `message` in the format that the name asks for; the old file or the
// new one stands, whole.
absl::Status WriteProtoFile(const google::protobuf::Message& message,
                            const std::string& path);

}  // namespace reprise

#endif  // CORE_PROTO_FILE_H_
