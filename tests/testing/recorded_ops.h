// Operators whose descriptions come from a recording: what lowering and the
// planner see is then the same on every CPU and library.

#ifndef TESTS_TESTING_RECORDED_OPS_H_
#define TESTS_TESTING_RECORDED_OPS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/op.h"

namespace reprise {

// Descriptions by SignatureKey of what was offered.
using Recording = std::map<std::string, Description>;

// Returns AllOps(), every description being noted in `recording`, which must
// outlive them.
std::vector<OpDef> RecordingOps(Recording& recording);

// Returns AllOps(), described by `recording` alone; NotFound for a signature
// that it lacks.
std::vector<OpDef> RecordedOps(const Recording& recording);

// One line a description, in the order of keys.
std::string ToText(const Recording& recording);
absl::StatusOr<Recording> FromText(absl::string_view text);

}  // namespace reprise

#endif  // TESTS_TESTING_RECORDED_OPS_H_
