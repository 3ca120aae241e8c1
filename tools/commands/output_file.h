// Files that a command is going to write: judged before the work begins.

#ifndef TOOLS_COMMANDS_OUTPUT_FILE_H_
#define TOOLS_COMMANDS_OUTPUT_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace reprise {

// Ok if ReplaceFile(path) should succeed as things stand: what is there, if
// anything, is a regular file, and its folder can be written to. Writes
// nothing. An empty path stands for an option not given: Ok.
//
//   errors: naming `path` and the system's reason.
absl::Status CheckWritable(const std::string& path);

// Ok if each of `outputs` is writable and none is another one, or one of
// `inputs`, which would be lost. Empty paths stand for options not given.
//
//   errors: those of CheckWritable; InvalidArgument naming both paths.
absl::Status CheckOutputs(const std::vector<std::string>& outputs,
                          const std::vector<std::string>& inputs);

// Creates a folder, and those around it, if it is not there.
//
//   errors: naming `path` and the system's reason.
absl::Status MakeFolder(const std::string& path);

}  // namespace reprise

#endif  // TOOLS_COMMANDS_OUTPUT_FILE_H_
