// Arrays into and out of the passes of a trainer.

#ifndef TOOLS_DATA_PASS_ARRAYS_H_
#define TOOLS_DATA_PASS_ARRAYS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/trainer.h"
#include "tools/data/array.h"

namespace reprise {

// Writes the content of an input.
//
//   errors: those of Pass::Input; InvalidArgument if the bytes are not as many
//           as the input has.
absl::Status WriteInput(const std::string& name, const Array& array,
                        Pass& pass);

// One result of a run.
struct PassResult {
  std::string name;
  bool gradient = false;
  Array array;
};

// Returns outputs, losses and gradients of the last run, each once.
absl::StatusOr<std::vector<PassResult>> ReadResults(const Pass& pass);

}  // namespace reprise

#endif  // TOOLS_DATA_PASS_ARRAYS_H_
