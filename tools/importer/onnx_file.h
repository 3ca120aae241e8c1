// ONNX files on disk: models, single tensors, and the bytes that a model keeps
// in files beside it.
//
// Nothing is trusted: the wire format is walked before anything is built, and a
// tensor's dims, element type, content and external bytes must agree before
// memory is taken.

#ifndef TOOLS_IMPORTER_ONNX_FILE_H_
#define TOOLS_IMPORTER_ONNX_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "onnx/onnx_pb.h"
#include "tools/data/array.h"

namespace reprise {

// Messages and strings in an ONNX file: each costs memory beyond its bytes.
inline constexpr int64_t kMaxOnnxElements = 10'000'000;

// Content of all tensors of one model together: 64 GiB.
inline constexpr int64_t kMaxContentBytes = int64_t{1} << 36;

// Returns the message that `bytes` hold.
//
//   source: named at the start of every error.
//   errors: InvalidArgument with the byte and the rule that is broken there;
//           fields that this program does not know are passed over.
absl::StatusOr<onnx::ModelProto> ParseOnnxModel(absl::string_view bytes,
                                                absl::string_view source);

// Returns the model in the file `path`.
//
//   errors: those of ParseOnnxModel and ReadFile.
absl::StatusOr<onnx::ModelProto> ReadOnnxModel(const std::string& path);

// Returns the tensor in the file `path` (a TensorProto, as in test data).
//
//   errors: those of ReadFile and TensorReader::Read.
absl::StatusOr<Array> ReadOnnxTensor(const std::string& path);

// Returns ONNX's name of an element type, e.g. "FLOAT16".
std::string OnnxTypeName(int64_t data_type);

// Returns the element type, or InvalidArgument naming one that is not
// supported.
absl::StatusOr<DType> DTypeOfOnnx(int64_t data_type);

// Returns whether a path names the model's kind of file: it ends in .onnx.
bool IsOnnxPath(absl::string_view path);

// Decodes tensors of one model.
class TensorReader {
 public:
  //   folder: of the model; external data lies in it. Empty: there is none.
  explicit TensorReader(std::string folder) : folder_(std::move(folder)) {}

  // Returns the content of `tensor`, whose bytes it may take.
  //
  //   errors: InvalidArgument, without the tensor's name, for an element type
  //           that is not supported, dims that are no shape, content of another
  //           size than the dims say, or external data whose path is not a
  //           plain relative one, leads out of the folder by a link, or whose
  //           range is not within its file; ResourceExhausted beyond
  //           kMaxContentBytes.
  absl::StatusOr<Array> Read(onnx::TensorProto& tensor);

 private:
  absl::StatusOr<std::string> ReadExternal(const onnx::TensorProto& tensor,
                                           int64_t bytes) const;

  std::string folder_;
  int64_t total_bytes_ = 0;
};

}  // namespace reprise

#endif  // TOOLS_IMPORTER_ONNX_FILE_H_
