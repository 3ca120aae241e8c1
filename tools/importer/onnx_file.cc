#include "tools/importer/onnx_file.h"

#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/file.h"
#include "core/names.h"
#include "core/proto_file.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

BinaryRules OnnxRules() {
  BinaryRules rules;
  rules.skip_unknown_fields = true;
  rules.max_elements = kMaxOnnxElements;
  return rules;
}

// Returns how many elements a typed field has, `bytes` of content in raw_data
// aside.
int64_t NumTyped(const onnx::TensorProto& tensor) {
  return int64_t{tensor.float_data_size()} + tensor.int32_data_size() +
         tensor.int64_data_size() + tensor.double_data_size() +
         tensor.uint64_data_size() + tensor.string_data_size();
}

template <typename T, typename Field>
std::string Packed(const Field& field) {
  std::string data(field.size() * sizeof(T), '\0');
  char* to = &data[0];
  for (const auto element : field) {
    const T value = static_cast<T>(element);
    std::memcpy(to, &value, sizeof(T));
    to += sizeof(T);
  }
  return data;
}

// Returns the typed content; `low` and `high` are what its type holds.
absl::StatusOr<std::string> NarrowContent(const onnx::TensorProto& tensor,
                                          int32_t high) {
  for (const int32_t element : tensor.int32_data()) {
    if (element < 0 || element > high) {
      return absl::InvalidArgumentError(absl::StrCat(
          "elements are 0 to ", high, ", got ", element, " in int32_data"));
    }
  }
  return Packed<uint8_t>(tensor.int32_data());
}

absl::StatusOr<std::string> TypedContent(const onnx::TensorProto& tensor,
                                         DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return Packed<float>(tensor.float_data());
    case DType::kI64:
      return Packed<int64_t>(tensor.int64_data());
    case DType::kI32:
      return Packed<int32_t>(tensor.int32_data());
    case DType::kBool:
      return NarrowContent(tensor, 1);
    default:
      return NarrowContent(tensor, 255);
  }
}

}  // namespace

bool IsOnnxPath(absl::string_view path) {
  return absl::EndsWith(path, ".onnx");
}

absl::StatusOr<onnx::ModelProto> ParseOnnxModel(absl::string_view bytes,
                                                absl::string_view source) {
  onnx::ModelProto model;
  RETURN_IF_ERROR(ParseBinary(bytes, source, model, OnnxRules()));
  if (!model.has_graph()) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": a model has a graph, this one has none"));
  }
  return model;
}

absl::StatusOr<onnx::ModelProto> ReadOnnxModel(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string content, ReadFile(path, kMaxFileBytes));
  return ParseOnnxModel(content, path);
}

absl::StatusOr<Array> ReadOnnxTensor(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string content, ReadFile(path, kMaxFileBytes));
  onnx::TensorProto tensor;
  RETURN_IF_ERROR(ParseBinary(content, path, tensor, OnnxRules()));
  absl::StatusOr<Array> array = TensorReader("").Read(tensor);
  if (array.ok()) return array;
  return absl::Status(array.status().code(),
                      absl::StrCat(path, ": ", array.status().message()));
}

std::string OnnxTypeName(int64_t data_type) {
  // As newer versions of the format number them.
  static constexpr const char* kNames[] = {
      "UNDEFINED",      "FLOAT",      "UINT8",
      "INT8",           "UINT16",     "INT16",
      "INT32",          "INT64",      "STRING",
      "BOOL",           "FLOAT16",    "DOUBLE",
      "UINT32",         "UINT64",     "COMPLEX64",
      "COMPLEX128",     "BFLOAT16",   "FLOAT8E4M3FN",
      "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
      "UINT4",          "INT4",       "FLOAT4E2M1",
      "FLOAT8E8M0",     "UINT2",      "INT2"};
  if (data_type < 0 ||
      data_type >= static_cast<int64_t>(sizeof(kNames) / sizeof(kNames[0]))) {
    return absl::StrCat("number ", data_type);
  }
  return kNames[data_type];
}

absl::StatusOr<DType> DTypeOfOnnx(int64_t data_type) {
  switch (data_type) {
    case onnx::TensorProto::FLOAT:
      return DType::kF32;
    case onnx::TensorProto::INT32:
      return DType::kI32;
    case onnx::TensorProto::INT64:
      return DType::kI64;
    case onnx::TensorProto::BOOL:
      return DType::kBool;
    case onnx::TensorProto::UINT8:
      return DType::kU8;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("element type ", OnnxTypeName(data_type),
                       " is not supported; FLOAT, INT32, INT64, BOOL and "
                       "UINT8 are"));
  }
}

absl::StatusOr<Array> TensorReader::Read(onnx::TensorProto& tensor) {
  ASSIGN_OR_RETURN(const DType dtype, DTypeOfOnnx(tensor.data_type()));
  ASSIGN_OR_RETURN(TensorType type,
                   TensorType::Make(dtype, Dims(tensor.dims().begin(),
                                                tensor.dims().end())));
  if (tensor.has_segment()) {
    return absl::InvalidArgumentError("tensors in segments are not supported");
  }
  const int64_t bytes = type.bytes();
  if (bytes > kMaxContentBytes - total_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the tensors of a model have at most ", kMaxContentBytes,
                     " bytes together, ", ToString(type), " is beyond that"));
  }
  Array array;
  array.type = std::move(type);
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    if (tensor.has_raw_data() || NumTyped(tensor) > 0) {
      return absl::InvalidArgumentError("content both here and external");
    }
    ASSIGN_OR_RETURN(array.data, ReadExternal(tensor, bytes));
  } else if (tensor.has_raw_data()) {
    if (NumTyped(tensor) > 0) {
      return absl::InvalidArgumentError("content in raw_data and besides");
    }
    array.data = std::move(*tensor.mutable_raw_data());
  } else {
    ASSIGN_OR_RETURN(array.data, TypedContent(tensor, dtype));
    if (NumTyped(tensor) * SizeOf(dtype) !=
        static_cast<int64_t>(array.data.size())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "content of ", ToString(dtype), " is in the field of another type"));
    }
  }
  if (static_cast<int64_t>(array.data.size()) != bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToString(array.type), " has ", bytes, " bytes, got ",
                     array.data.size()));
  }
  if (dtype == DType::kBool) {
    for (const char element : array.data) {
      if (element != 0 && element != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("elements of BOOL are 0 or 1, got ",
                         static_cast<int>(static_cast<uint8_t>(element))));
      }
    }
  }
  total_bytes_ += bytes;
  return array;
}

}  // namespace reprise
