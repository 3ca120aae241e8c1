// Instances of rematerialization, as text.

#ifndef TOOLS_BENCH_REMAT_FILE_H_
#define TOOLS_BENCH_REMAT_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "planner/remat/remat.h"

namespace reprise {

struct RematFile {
  // What the goal needs, in the order of the file. Node i writes value i.
  RematGraph graph;
  std::vector<int32_t> number_of;  // per node: its number in the file
};

// Returns the instance in a file: a line `n m`, a line of n costs, a line of n
// numbers of bytes, then m lines `u v`: node v reads what node u writes.
// Numbers start at 0 and are an order in which the nodes can run; the last is
// the goal. Lines end in \n or \r\n; empty lines behind the last edge are
// skipped.
//
//   in_place: an operand that no later run reads may be overwritten by a result
//             of as many bytes.
//   source:   named at the start of every error.
//   errors:   InvalidArgument with line and numbers: a line that is missing or
//             has another number of fields, a field that is no integer in its
//             range, an edge with u >= v, lines behind the last edge, costs of
//             a sum beyond 2^53, bytes of a sum beyond 2^50.
absl::StatusOr<RematFile> ParseRemat(absl::string_view content,
                                     absl::string_view source, bool in_place);

// Returns the runs in the numbers of the file, one a line, and a line `-n`
// where the value of node n is dropped: behind the last run that reads it.
std::string ToText(const RematFile& file, absl::Span<const int32_t> runs);

}  // namespace reprise

#endif  // TOOLS_BENCH_REMAT_FILE_H_
