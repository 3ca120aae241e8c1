// The command line of onnx_conformance.

#ifndef TOOLS_CONFORMANCE_CONFORMANCE_COMMAND_H_
#define TOOLS_CONFORMANCE_CONFORMANCE_COMMAND_H_

#include <string>
#include <vector>

#include "tools/commands/command.h"

namespace reprise {

// Runs one command line and returns the exit code: 0, 1 if a test failed, 2 if
// the usage is wrong. The last line is `N passed, N failed, N unsupported`.
//
//   args: without the program's name.
int RunOnnxConformance(std::vector<std::string> args, const Console& console);

}  // namespace reprise

#endif  // TOOLS_CONFORMANCE_CONFORMANCE_COMMAND_H_
