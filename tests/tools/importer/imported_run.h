// Runs ONNX models in tests, and compares with definitions in double.

#ifndef TESTS_TOOLS_IMPORTER_IMPORTED_RUN_H_
#define TESTS_TOOLS_IMPORTER_IMPORTED_RUN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/tools/importer/onnx_builder.h"
#include "tools/data/array.h"

namespace reprise {

// Elements of both signs, none of them equal, of order one.
std::vector<float> Wave(int64_t n, double phase);

Array FloatArray(const Dims& dims, const std::vector<float>& elements);
Array IntArray(const Dims& dims, const std::vector<int64_t>& elements);

// "2", "3" for {2, 3}: how OnnxBuilder::Input takes dims.
std::vector<std::string> DimNames(const Dims& dims);

// Imports, plans and runs a model in evaluation mode.
//
//   inputs:  in the model's order.
//   returns: its outputs, in the model's order.
absl::StatusOr<std::vector<Array>> RunImported(
    OnnxBuilder& builder, const std::vector<Array>& inputs);

// Expects floats of these dims, each within 1e-5 (and 1e-5 of itself) of the
// definition: sums of tens of products of order one, in float32.
void ExpectDefinition(const std::string& what, const Array& got,
                      const Dims& dims, const std::vector<double>& want);

// Expects the import to fail with an error that has the text.
void ExpectNotImported(OnnxBuilder& builder, const std::string& text);

}  // namespace reprise

#endif  // TESTS_TOOLS_IMPORTER_IMPORTED_RUN_H_
