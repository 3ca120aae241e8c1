// Runs the command line in the test's own process.

#ifndef TESTS_TOOLS_COMMAND_LINE_H_
#define TESTS_TOOLS_COMMAND_LINE_H_

#include <sstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tools/commands/command.h"

namespace reprise {

struct CommandResult {
  int code = 0;
  std::string out;
  std::string err;

  // The report; discarded if it is no JSON.
  nlohmann::json json() const {
    return nlohmann::json::parse(out, /*cb=*/nullptr,
                                 /*allow_exceptions=*/false);
  }
};

inline CommandResult RunReprise(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  CommandResult result;
  result.code = RunCommandLine(args, Console{out, err});
  result.out = out.str();
  result.err = err.str();
  return result;
}

}  // namespace reprise

#endif  // TESTS_TOOLS_COMMAND_LINE_H_
