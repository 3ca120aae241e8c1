// Writes ONNX models in tests.

#ifndef TESTS_TOOLS_IMPORTER_ONNX_BUILDER_H_
#define TESTS_TOOLS_IMPORTER_ONNX_BUILDER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "onnx/onnx_pb.h"
#include "reprise.h"
#include "tools/importer/importer.h"
#include "tools/importer/onnx_file.h"

namespace reprise {

class OnnxBuilder {
 public:
  explicit OnnxBuilder(int64_t version = 22) {
    model_.set_ir_version(8);
    onnx::OperatorSetIdProto& set = *model_.add_opset_import();
    set.set_domain("");
    set.set_version(version);
    graph().set_name("g");
  }

  onnx::ModelProto& model() { return model_; }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }

  // A dim that begins with a letter is a name.
  OnnxBuilder& Input(const std::string& name,
                     const std::vector<std::string>& dims,
                     int type = onnx::TensorProto::FLOAT) {
    SetType(*graph().add_input(), name, dims, type);
    return *this;
  }

  OnnxBuilder& Output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }

  OnnxBuilder& Floats(const std::string& name, const std::vector<int64_t>& dims,
                      const std::vector<float>& elements) {
    onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    for (const int64_t dim : dims) tensor.add_dims(dim);
    for (const float element : elements) tensor.add_float_data(element);
    return *this;
  }

  OnnxBuilder& Ints(const std::string& name, const std::vector<int64_t>& dims,
                    const std::vector<int64_t>& elements) {
    onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    for (const int64_t dim : dims) tensor.add_dims(dim);
    for (const int64_t element : elements) tensor.add_int64_data(element);
    return *this;
  }

  onnx::NodeProto& Node(const std::string& op,
                        const std::vector<std::string>& in,
                        const std::vector<std::string>& out) {
    onnx::NodeProto& node = *graph().add_node();
    node.set_op_type(op);
    node.set_name(op + "_node");
    for (const std::string& name : in) node.add_input(name);
    for (const std::string& name : out) node.add_output(name);
    return node;
  }

  static void Int(onnx::NodeProto& node, const std::string& name, int64_t i) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(i);
  }

  static void Float(onnx::NodeProto& node, const std::string& name, float f) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(f);
  }

  static void IntList(onnx::NodeProto& node, const std::string& name,
                      const std::vector<int64_t>& ints) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const int64_t i : ints) attribute.add_ints(i);
  }

  static void FloatList(onnx::NodeProto& node, const std::string& name,
                        const std::vector<float>& floats) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::FLOATS);
    for (const float f : floats) attribute.add_floats(f);
  }

  static void String(onnx::NodeProto& node, const std::string& name,
                     const std::string& s) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(s);
  }

  static void StringList(onnx::NodeProto& node, const std::string& name,
                         const std::vector<std::string>& strings) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& s : strings) attribute.add_strings(s);
  }

  static void SetType(onnx::ValueInfoProto& value, const std::string& name,
                      const std::vector<std::string>& dims, int type) {
    value.set_name(name);
    onnx::TypeProto::Tensor& tensor =
        *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (const std::string& dim : dims) {
      onnx::TensorShapeProto::Dimension& to =
          *tensor.mutable_shape()->add_dim();
      if (!dim.empty() && (dim[0] == '-' || (dim[0] >= '0' && dim[0] <= '9'))) {
        to.set_dim_value(std::stoll(dim));
      } else if (!dim.empty()) {
        to.set_dim_param(dim);
      }
    }
  }

  // Imports through the wire format, as a file is.
  absl::StatusOr<ImportedModel> Import(const ImportOptions& options = {},
                                       const std::string& folder = "") {
    return ImportBytes(model_.SerializeAsString(), options, folder);
  }

  static absl::StatusOr<ImportedModel> ImportBytes(
      const std::string& bytes, const ImportOptions& options = {},
      const std::string& folder = "") {
    const absl::StatusOr<onnx::ModelProto> model =
        ParseOnnxModel(bytes, "m.onnx");
    if (!model.ok()) return model.status();
    const std::unique_ptr<OpTable> ops = MakeOpTable();
    return ImportModel(*model, *ops, options, folder, "m.onnx");
  }

 private:
  onnx::ModelProto model_;
};

}  // namespace reprise

#endif  // TESTS_TOOLS_IMPORTER_ONNX_BUILDER_H_
