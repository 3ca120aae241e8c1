#include "tools/commands/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

absl::Status CannotWrite(const std::string& path, const std::string& reason) {
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": cannot be written: ", reason));
}

absl::Status SystemError(const std::string& path) {
  return CannotWrite(path, std::generic_category().message(errno));
}

// Ok if `path` is a regular file or is not there.
absl::Status CheckReplaceable(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) == 0) {
    return S_ISREG(info.st_mode)
               ? absl::OkStatus()
               : CannotWrite(path, "it is there and is not a regular file");
  }
  return errno == ENOENT ? absl::OkStatus() : SystemError(path);
}

bool IsSameFile(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  std::error_code none;
  return std::filesystem::path(a).lexically_normal() ==
             std::filesystem::path(b).lexically_normal() ||
         std::filesystem::equivalent(a, b, none);
}

}  // namespace

absl::Status CheckWritable(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  if (path.back() == '/') return CannotWrite(path, "it names a folder");
  RETURN_IF_ERROR(CheckReplaceable(path));
  // What ReplaceFile writes first.
  RETURN_IF_ERROR(CheckReplaceable(path + ".tmp"));
  const size_t slash = path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  struct stat info;
  if (stat(folder.c_str(), &info) != 0) return SystemError(path);
  if (!S_ISDIR(info.st_mode)) {
    return CannotWrite(path, absl::StrCat(folder, " is not a folder"));
  }
  return access(folder.c_str(), W_OK | X_OK) == 0 ? absl::OkStatus()
                                                  : SystemError(path);
}

absl::Status CheckOutputs(const std::vector<std::string>& outputs,
                          const std::vector<std::string>& inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    RETURN_IF_ERROR(CheckWritable(outputs[i]));
    for (const std::string& input : inputs) {
      if (IsSameFile(outputs[i], input)) {
        return absl::InvalidArgumentError(absl::StrCat(
            outputs[i], ": would be written over ", input, ", which is read"));
      }
    }
    for (size_t k = 0; k < i; ++k) {
      if (IsSameFile(outputs[i], outputs[k])) {
        return absl::InvalidArgumentError(
            absl::StrCat(outputs[i], ": two results would be this one file"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && !std::filesystem::is_directory(path, error) && !error) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": cannot be made a folder: ", error.message()));
}

}  // namespace reprise
