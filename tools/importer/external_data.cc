// Tensor content in files beside the model. A path comes from the model, so it
// may name nothing but a plain file inside the model's folder: every part of it
// is opened from the one before, and no link is followed. A file with a second
// hard link could be any file of the same disk, and is refused too.

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/file.h"
#include "core/names.h"
#include "core/status_macros.h"
#include "tools/importer/onnx_file.h"

namespace reprise {
namespace {

absl::Status Refused(absl::string_view location, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("external data ", Quote(location), ": ", why));
}

// Opens `location` within `folder`, part by part.
absl::StatusOr<FileDescriptor> OpenInside(const std::string& folder,
                                          const std::string& location) {
  const std::vector<std::string> parts = absl::StrSplit(location, '/');
  for (const std::string& part : parts) {
    if (part.empty() || part == "." || part == ".." ||
        part.find('\0') != std::string::npos) {
      return Refused(location,
                     "a path has plain names between slashes, is relative and "
                     "stays inside the model's folder");
    }
  }
  FileDescriptor at(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (size_t i = 0; at.get() >= 0 && i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK |
                      (last ? 0 : O_DIRECTORY);
    at = FileDescriptor(openat(at.get(), parts[i].c_str(), flags));
  }
  if (at.get() >= 0) return at;
  // A link where a folder should be reads as "not a directory".
  if (errno == ELOOP || errno == ENOTDIR) {
    return Refused(location, "symbolic links are not followed");
  }
  return Refused(location, std::strerror(errno));
}

// Reads a number >= 0 of the tensor's list of keys; `absent` if it is not
// there.
absl::StatusOr<int64_t> Number(const onnx::TensorProto& tensor,
                               absl::string_view location,
                               absl::string_view key, int64_t absent) {
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() != key) continue;
    int64_t number = 0;
    if (absl::SimpleAtoi(entry.value(), &number) && number >= 0) return number;
    return Refused(location, absl::StrCat(key, " must be a number >= 0, got ",
                                          Quote(entry.value())));
  }
  return absent;
}

}  // namespace

absl::StatusOr<std::string> TensorReader::ReadExternal(
    const onnx::TensorProto& tensor, int64_t bytes) const {
  std::string location;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
  }
  if (folder_.empty()) {
    return Refused(location, "this file has no folder to keep it in");
  }
  ASSIGN_OR_RETURN(const int64_t offset, Number(tensor, location, "offset", 0));
  ASSIGN_OR_RETURN(const int64_t length,
                   Number(tensor, location, "length", bytes));
  if (length != bytes) {
    return Refused(location,
                   absl::StrCat("the tensor has ", bytes,
                                " bytes, its length here is ", length));
  }
  ASSIGN_OR_RETURN(const FileDescriptor fd, OpenInside(folder_, location));
  struct stat info;
  if (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return Refused(location, "is no regular file");
  }
  if (info.st_nlink != 1) {
    return Refused(location, absl::StrCat("has ", info.st_nlink,
                                          " hard links, one is allowed"));
  }
  const int64_t file_bytes = info.st_size;
  if (offset > file_bytes || length > file_bytes - offset) {
    return Refused(location,
                   absl::StrCat("bytes ", offset, " to ", offset, " + ", length,
                                " are not within its ", file_bytes));
  }
  std::string data;
  try {
    data.resize(length);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", length, " bytes of external data"));
  }
  RETURN_IF_ERROR(ReadAt(fd, location, offset, length, &data[0]));
  return data;
}

}  // namespace reprise
