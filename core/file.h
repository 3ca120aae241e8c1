// Files, read whole and replaced whole.

#ifndef CORE_FILE_H_
#define CORE_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace reprise {

// A file descriptor that closes itself.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.Release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();

  int get() const { return fd_; }
  int Release();

 private:
  int fd_;
};

// A regular file open for reading.
struct OpenFile {
  FileDescriptor fd;
  int64_t bytes = 0;  // its size when it was opened
};

// Opens `path`.
//
//   errors: NotFound; InvalidArgument if it is no regular file (a pipe could
//           hang, a folder has no content); PermissionDenied, Unknown.
absl::StatusOr<OpenFile> OpenForReading(const std::string& path);

// Reads `bytes` bytes at `offset` into `dst`.
//
//   errors: DataLoss naming `path` if the file ends before.
absl::Status ReadAt(const FileDescriptor& fd, const std::string& path,
                    int64_t offset, int64_t bytes, void* dst);

// Returns the whole content.
//
//   errors: those of OpenForReading; InvalidArgument with both numbers if the
//           file is larger than `max_bytes`, before anything is read.
absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     int64_t max_bytes);

// Makes `parts`, one after the other, the content of `path`. Whenever the
// process or the machine stops, the old file or the new one stands, whole: the
// bytes go to `path` + ".tmp", which is synced and then renamed. Writers of one
// path wait for each other; a leftover of a killed one is overwritten.
//
//   errors: naming `path` and the system's reason; the old file stands.
absl::Status ReplaceFile(const std::string& path,
                         absl::Span<const absl::string_view> parts);

}  // namespace reprise

#endif  // CORE_FILE_H_
