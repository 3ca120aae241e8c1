// Safetensors files: named tensors, row-major and little-endian, behind a JSON
// header. PyTorch, JAX and NumPy read and write them.
//
//   8 bytes  length n of the header, little-endian
//   n bytes  JSON: {"w": {"dtype": "F32", "shape": [2, 3],
//            "data_offsets": [0, 24]}, "__metadata__": {"step": "7"}}, padded
//            with spaces
//   rest     the tensors' bytes, without holes; offsets count from here
//
// Reading trusts nothing: a file is judged as a whole, from its header, before
// a byte of content is read.

#ifndef CORE_SAFETENSORS_H_
#define CORE_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/file.h"
#include "core/tensor_type.h"

namespace reprise {

// As in the reference implementation.
inline constexpr int64_t kMaxSafetensorsHeaderBytes = 100'000'000;

using SafetensorsMetadata = std::map<std::string, std::string>;

struct SafetensorsEntry {
  std::string name;
  TensorType type;
  int64_t offset = 0;  // from the end of the header
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // by offset
  SafetensorsMetadata metadata;
};

// Returns what a header says.
//
//   json:       the header without its length.
//   data_bytes: what follows it in the file.
//   errors: InvalidArgument, without a file name, if it is not JSON of the form
//           above; a name, key or dtype is unknown or doubled; or the tensors
//           overlap, leave holes, have another size than their type, or do not
//           end where the file does.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view json,
                                                         int64_t data_bytes);

// An open file whose header is good.
class SafetensorsFile {
 public:
  //   errors: those of OpenForReading and ParseSafetensorsHeader, naming the
  //           file; InvalidArgument if the header's length is impossible.
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<SafetensorsEntry>& entries() const {
    return header_.entries;
  }
  const SafetensorsMetadata& metadata() const { return header_.metadata; }

  // Reads the content of `entry`, straight from the file.
  //
  //   dst: entry.type.bytes() bytes.
  absl::Status Read(const SafetensorsEntry& entry, void* dst) const;

 private:
  SafetensorsFile(std::string path, FileDescriptor fd, int64_t data_begin,
                  SafetensorsHeader header)
      : path_(std::move(path)),
        fd_(std::move(fd)),
        data_begin_(data_begin),
        header_(std::move(header)) {}

  std::string path_;
  FileDescriptor fd_;
  int64_t data_begin_;
  SafetensorsHeader header_;
};

// A tensor to be written.
struct TensorView {
  std::string name;
  TensorType type;
  const void* data = nullptr;  // type.bytes() bytes, row-major
};

// Writes `tensors`; the old file or the new one stands, whole. Elements lie
// aligned to their size.
//
//   errors: InvalidArgument naming a tensor whose name is doubled, is no UTF-8
//           or whose element type the format lacks; those of ReplaceFile.
absl::Status WriteSafetensors(const std::string& path,
                              const std::vector<TensorView>& tensors,
                              const SafetensorsMetadata& metadata);

}  // namespace reprise

#endif  // CORE_SAFETENSORS_H_
