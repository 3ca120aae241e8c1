#include "core/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

// The kernel takes at most 2 GiB - 4 KiB at a time.
constexpr int64_t kMaxTransferBytes = int64_t{1} << 30;

absl::Status SystemError(absl::string_view path, absl::string_view what) {
  return absl::ErrnoToStatus(errno, absl::StrCat(path, ": ", what));
}

absl::Status WriteAll(int fd, const std::string& path,
                      absl::string_view bytes) {
  while (!bytes.empty()) {
    const size_t chunk =
        std::min(bytes.size(), static_cast<size_t>(kMaxTransferBytes));
    const ssize_t written = write(fd, bytes.data(), chunk);
    if (written < 0) {
      if (errno == EINTR) continue;
      return SystemError(path, "cannot write");
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

// Returns the empty temporary file, locked. Whoever held it before may have
// renamed it away while we waited: then what we hold is the finished file, and
// we look again.
absl::StatusOr<FileDescriptor> LockTemporary(const std::string& path) {
  while (true) {
    FileDescriptor fd(
        open(path.c_str(),
             O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
    if (fd.get() < 0) return SystemError(path, "cannot create");
    while (flock(fd.get(), LOCK_EX) != 0) {
      if (errno != EINTR) return SystemError(path, "cannot lock");
    }
    struct stat held;
    struct stat named;
    if (fstat(fd.get(), &held) != 0) return SystemError(path, "cannot stat");
    if (lstat(path.c_str(), &named) != 0 || held.st_ino != named.st_ino ||
        held.st_dev != named.st_dev) {
      continue;
    }
    if (ftruncate(fd.get(), 0) != 0) return SystemError(path, "cannot empty");
    return fd;
  }
}

// Makes a rename in the folder of `path` durable.
absl::Status SyncFolder(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : path.substr(0, slash);
  const FileDescriptor fd(
      open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return SystemError(folder, "cannot open");
  // Some file systems have nothing to sync for a folder and say EINVAL.
  if (fsync(fd.get()) != 0 && errno != EINVAL) {
    return SystemError(folder, "cannot sync");
  }
  return absl::OkStatus();
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = other.Release();
  }
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) close(fd_);
}

int FileDescriptor::Release() { return std::exchange(fd_, -1); }

absl::StatusOr<OpenFile> OpenForReading(const std::string& path) {
  OpenFile file;
  // O_NONBLOCK: opening a pipe nobody writes to would wait for ever.
  file.fd =
      FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd.get() < 0) return SystemError(path, "cannot open");
  struct stat info;
  if (fstat(file.fd.get(), &info) != 0) return SystemError(path, "cannot stat");
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is not a regular file"));
  }
  file.bytes = info.st_size;
  return file;
}

absl::Status ReadAt(const FileDescriptor& fd, const std::string& path,
                    int64_t offset, int64_t bytes, void* dst) {
  char* to = static_cast<char*>(dst);
  while (bytes > 0) {
    const size_t chunk =
        static_cast<size_t>(std::min(bytes, kMaxTransferBytes));
    const ssize_t got = pread(fd.get(), to, chunk, offset);
    if (got < 0) {
      if (errno == EINTR) continue;
      return SystemError(path, "cannot read");
    }
    if (got == 0) {
      return absl::DataLossError(absl::StrCat(path, ": ends at byte ", offset,
                                              ", ", bytes,
                                              " bytes before its time"));
    }
    to += got;
    offset += got;
    bytes -= got;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     int64_t max_bytes) {
  ASSIGN_OR_RETURN(const OpenFile file, OpenForReading(path));
  if (file.bytes > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": a file has at most ", max_bytes,
                     " bytes, this one has ", file.bytes));
  }
  std::string content(static_cast<size_t>(file.bytes), '\0');
  RETURN_IF_ERROR(ReadAt(file.fd, path, 0, file.bytes, &content[0]));
  return content;
}

absl::Status ReplaceFile(const std::string& path,
                         absl::Span<const absl::string_view> parts) {
  struct stat old;
  if (lstat(path.c_str(), &old) == 0 && !S_ISREG(old.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is there and is not a regular file"));
  }
  const std::string temporary = path + ".tmp";
  ASSIGN_OR_RETURN(const FileDescriptor fd, LockTemporary(temporary));
  absl::Status status;
  for (const absl::string_view part : parts) {
    status = WriteAll(fd.get(), temporary, part);
    if (!status.ok()) break;
  }
  if (status.ok() && fsync(fd.get()) != 0) {
    status = SystemError(temporary, "cannot sync");
  }
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = SystemError(path, "cannot rename to this");
  }
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  return SyncFolder(path);
}

}  // namespace reprise
