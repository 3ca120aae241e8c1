// Golden files of nntrainer: tensors without names or shapes, one after the
// other, in an order that the file's suffix fixes.
//
//   .nnlayergolden   [int32 n][n floats], repeated: initial weights, inputs,
//                    outputs, gradients of the trained weights, weights,
//                    gradients of the inputs
//   .nnmodelgolden   [int32 iterations], then for each of them inputs, labels,
//                    parameters and outputs, each tensor as above
//
// All numbers are of four bytes, little-endian. Which tensors there are is
// known from elsewhere: tests/conformance/layer_networks.h, model_networks.h.

#ifndef TESTS_CONFORMANCE_GOLDENS_H_
#define TESTS_CONFORMANCE_GOLDENS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise {

// A tensor's elements; integers stand for the float of the same bits.
using GoldenTensor = std::vector<float>;
using GoldenTensors = std::vector<GoldenTensor>;

// Returns the tensors of a .nnlayergolden file.
//
//   source: named at the start of every error.
//   errors: InvalidArgument with the byte offset of a length that is negative
//           or beyond the end, or if there is no tensor.
absl::StatusOr<GoldenTensors> ParseLayerGolden(absl::string_view content,
                                               absl::string_view source);

// Returns the tensors of each iteration of a .nnmodelgolden file.
//
//   errors: those of ParseLayerGolden; InvalidArgument if the iterations are
//           none, or differ in the number or the lengths of their tensors.
absl::StatusOr<std::vector<GoldenTensors>> ParseModelGolden(
    absl::string_view content, absl::string_view source);

// The same of files.
//
//   errors: those of ReadFile too.
absl::StatusOr<GoldenTensors> ReadLayerGolden(const std::string& path);
absl::StatusOr<std::vector<GoldenTensors>> ReadModelGolden(
    const std::string& path);

// Returns the largest |got - want| - rtol |want|, which is at most atol where
// the two agree; infinity if the lengths differ or a number is no number in one
// of them alone.
double Excess(const float* got, size_t size, const GoldenTensor& want,
              double rtol);

}  // namespace reprise

#endif  // TESTS_CONFORMANCE_GOLDENS_H_
