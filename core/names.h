// Which strings may name things, and how a doubtful one is shown.

#ifndef CORE_NAMES_H_
#define CORE_NAMES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace reprise {

inline constexpr int kMaxNameBytes = 256;

// Names that begin with this are the framework's own: gradients, replays,
// optimizer slots.
inline constexpr absl::string_view kReservedPrefix = "__";

// Ok iff `name` may name something in a file: at most kMaxNameBytes, of the
// form [A-Za-z0-9_./][A-Za-z0-9_./:-]*, and not reserved.
//
//   errors: InvalidArgument with the rule that is broken.
absl::Status CheckName(absl::string_view name);

// As CheckName for a pattern of names, in which `*` stands for any run of
// characters; reserved names are not excluded.
absl::Status CheckGlob(absl::string_view glob);

// Returns whether `text` is well-formed UTF-8 (RFC 3629: no surrogates, no
// overlong forms, nothing above U+10FFFF).
bool IsUtf8(absl::string_view text);

// Returns `text` in quotes with every unusual byte escaped, cut short if long:
// fit for an error message, whatever it holds.
std::string Quote(absl::string_view text);

}  // namespace reprise

#endif  // CORE_NAMES_H_
