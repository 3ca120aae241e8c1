// The operators of image classifiers, in double, as ONNX defines them: loops
// over a model file's nodes that share nothing with the importer.

#ifndef TESTS_TOOLS_IMPORTER_DOUBLE_NETWORK_H_
#define TESTS_TOOLS_IMPORTER_DOUBLE_NETWORK_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "onnx/onnx_pb.h"
#include "tools/data/array.h"

namespace reprise {

class DoubleNetwork {
 public:
  struct Tensor {
    std::vector<int64_t> dims;
    std::vector<double> data;
  };

  explicit DoubleNetwork(const onnx::ModelProto& model) : model_(model) {}

  // Fills a weight with numbers that depend on its name alone, here and in
  // `array`: of matrices and kernels such that signals keep their size, of
  // vectors between 0.5 and 1.5.
  void Randomize(const std::string& name, Array& array);

  // Returns the first output for the one input.
  std::vector<double> Run(const Array& input);

 private:
  Tensor Compute(const onnx::NodeProto& node);
  const Tensor& In(const onnx::NodeProto& node, int i) const;

  const onnx::ModelProto& model_;
  std::map<std::string, Tensor> values_;
  std::map<std::string, std::vector<int64_t>> shapes_;  // integer constants
};

}  // namespace reprise

#endif  // TESTS_TOOLS_IMPORTER_DOUBLE_NETWORK_H_
