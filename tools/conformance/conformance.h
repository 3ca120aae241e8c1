// Runs ONNX's backend tests: a folder with model.onnx and test_data_set_*
// folders of inputs and the outputs that they give.

#ifndef TOOLS_CONFORMANCE_CONFORMANCE_H_
#define TOOLS_CONFORMANCE_CONFORMANCE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/op_table.h"

namespace reprise {

// An output y agrees with what is given, g, if |y - g| <= atol + rtol |g|.
struct ConformanceOptions {
  double rtol = 1e-3;
  double atol = 1e-5;

  // Compare gradients too, with central differences.
  bool gradients = false;
};

enum class Outcome { kPassed, kFailed, kUnsupported };

struct ConformanceResult {
  std::string test;  // the folder's name
  Outcome outcome = Outcome::kPassed;

  // Why it failed, with the largest error, or what is not supported; of a test
  // that passed: what it was held to instead of the outputs, why gradients were
  // not compared, or nothing.
  std::string detail;

  bool gradients_compared = false;
};

// Returns the folders with a model.onnx at `folder` and one level below it, in
// the order of their names.
//
//   errors: NotFound if `folder` is none.
absl::StatusOr<std::vector<std::string>> FindOnnxTests(
    const std::string& folder);

// Runs all data sets of one test.
ConformanceResult RunOnnxTest(const std::string& folder, const OpTable& ops,
                              const ConformanceOptions& options);

}  // namespace reprise

#endif  // TOOLS_CONFORMANCE_CONFORMANCE_H_
