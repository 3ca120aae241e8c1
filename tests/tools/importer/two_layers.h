// A small model that tests of what becomes of a model share.

#ifndef TESTS_TOOLS_IMPORTER_TWO_LAYERS_H_
#define TESTS_TOOLS_IMPORTER_TWO_LAYERS_H_

#include <string>
#include <vector>

#include "tests/tools/importer/onnx_builder.h"

namespace reprise {

inline std::vector<std::string> Ops(const proto::Graph& graph) {
  std::vector<std::string> ops;
  for (const proto::Node& node : graph.node()) ops.push_back(node.op());
  return ops;
}

// x [n, 4], two dense layers of 3 and 5.
inline OnnxBuilder TwoLayers(const std::string& rows = "n") {
  OnnxBuilder builder;
  builder.Input("x", {rows, "4"})
      .Floats("w1", {4, 3}, std::vector<float>(12, 0.5f))
      .Floats("b1", {3}, {1, 2, 3})
      .Floats("w2", {3, 5}, std::vector<float>(15, 0.25f))
      .Floats("b2", {5}, {1, 2, 3, 4, 5})
      .Output("y");
  builder.Node("Gemm", {"x", "w1", "b1"}, {"h"});
  builder.Node("Relu", {"h"}, {"r"});
  builder.Node("Gemm", {"r", "w2", "b2"}, {"s"});
  OnnxBuilder::Int(builder.Node("Softmax", {"s"}, {"y"}), "axis", 1);
  return builder;
}

}  // namespace reprise

#endif  // TESTS_TOOLS_IMPORTER_TWO_LAYERS_H_
