// Constants that exporters write in double only to cast them: what the casts
// make of them is what they are.

#include <cstring>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "tools/importer/graph_importer.h"

namespace reprise {
namespace {

bool CastsToFloat(const onnx::NodeProto& node) {
  if (node.op_type() != "Cast") return false;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == "to") {
      return attribute.i() == onnx::TensorProto::FLOAT;
    }
  }
  return false;
}

// Makes a tensor of doubles one of floats, rounded as a Cast rounds. Content
// that is not all there is left to the reader of tensors, which refuses it.
void Narrow(onnx::TensorProto& tensor) {
  if (tensor.data_type() != onnx::TensorProto::DOUBLE ||
      tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    return;
  }
  onnx::TensorProto floats = tensor;
  floats.set_data_type(onnx::TensorProto::FLOAT);
  floats.clear_raw_data();
  floats.clear_double_data();
  for (const double number : tensor.double_data()) {
    floats.add_float_data(static_cast<float>(number));
  }
  const std::string& raw = tensor.raw_data();
  if (raw.size() % sizeof(double) != 0) return;
  for (size_t at = 0; at < raw.size(); at += sizeof(double)) {
    double number;
    std::memcpy(&number, &raw[at], sizeof(number));
    floats.add_float_data(static_cast<float>(number));
  }
  tensor = std::move(floats);
}

}  // namespace

void GraphImporter::NarrowDoubles() {
  absl::flat_hash_set<std::string> read_otherwise;
  for (const onnx::NodeProto& node : inlined_) {
    if (CastsToFloat(node)) continue;
    read_otherwise.insert(node.input().begin(), node.input().end());
  }
  for (const onnx::ValueInfoProto& output : model_.graph().output()) {
    read_otherwise.insert(output.name());
  }
  for (onnx::NodeProto& node : inlined_) {
    if (node.op_type() != "Constant" || node.output_size() != 1 ||
        read_otherwise.contains(node.output(0))) {
      continue;
    }
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) Narrow(*attribute.mutable_t());
    }
  }
}

}  // namespace reprise
