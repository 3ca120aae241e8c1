// One command of the command line.

#ifndef TOOLS_COMMANDS_COMMAND_H_
#define TOOLS_COMMANDS_COMMAND_H_

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"

namespace reprise {

// Where a command writes.
struct Console {
  std::ostream& out;  // reports
  std::ostream& err;  // progress
  bool err_is_terminal = false;
};

class Command {
 public:
  virtual ~Command() = default;

  virtual std::string name() const = 0;
  virtual std::string help() const = 0;

  // Adds options, bound to members of this object.
  virtual void AddOptions(CLI::App& app) = 0;

  // Does it. The error is of the input: usage has been judged.
  virtual absl::Status Run(const Console& console) = 0;
};

std::unique_ptr<Command> MakeCheckCommand();
std::unique_ptr<Command> MakeResidualsCommand();
std::unique_ptr<Command> MakePlanCommand();
std::unique_ptr<Command> MakeSweepCommand();
std::unique_ptr<Command> MakeRunCommand();
std::unique_ptr<Command> MakeTrainCommand();
std::unique_ptr<Command> MakeEvalCommand();
std::unique_ptr<Command> MakeBenchCommand();
std::unique_ptr<Command> MakeCalibrateCommand();
std::unique_ptr<Command> MakeZooCommand();
std::unique_ptr<Command> MakeImportCommand();

struct Program {
  std::string name;
  std::string about;  // a sentence, for --help
};

// Runs the one of `commands` that a command line names, and returns the exit
// code: 0, 1 if the input is wrong, 2 if the usage is.
//
//   args: without the program's name.
int RunCommands(const Program& program,
                const std::vector<std::unique_ptr<Command>>& commands,
                std::vector<std::string> args, const Console& console);

// Runs one command line of `reprise`.
int RunCommandLine(std::vector<std::string> args, const Console& console);

}  // namespace reprise

#endif  // TOOLS_COMMANDS_COMMAND_H_
