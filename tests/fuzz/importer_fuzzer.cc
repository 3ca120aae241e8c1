// ONNX models: whatever the bytes, an import ends with a Status.

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "reprise.h"
#include "tools/importer/importer.h"
#include "tools/importer/onnx_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const reprise::OpTable* const ops = reprise::MakeOpTable().release();
  const absl::StatusOr<onnx::ModelProto> model = reprise::ParseOnnxModel(
      absl::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!model.ok()) return 0;
  reprise::ImportOptions options;
  options.loss = size % 2 == 0 ? "mse" : "";
  options.head = size % 3 == 0 ? 2 : 0;
  reprise::ImportModel(*model, *ops, options, /*folder=*/"", "fuzz")
      .status()
      .IgnoreError();
  return 0;
}
