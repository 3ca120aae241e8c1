#include "tools/commands/command.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace reprise {
namespace {

constexpr int kInputIsWrong = 1;
constexpr int kUsageIsWrong = 2;

// Returns what is wrong with an option that is given nothing, as in `--save=`
// or `--save ""`, or empty text. CLI11 would take the next argument for its
// value.
std::string ErrorOfEmptyValue(const std::vector<std::string>& args) {
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (arg.empty() && i > 0) {
      return absl::StrCat("the argument after '", args[i - 1], "' is empty");
    }
    if (arg.rfind("--", 0) == 0 && arg.find('=') == arg.size() - 1) {
      return absl::StrCat("'", arg, "' has no value");
    }
  }
  return "";
}

std::vector<std::unique_ptr<Command>> MakeCommands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(MakeCheckCommand());
  commands.push_back(MakeResidualsCommand());
  commands.push_back(MakePlanCommand());
  commands.push_back(MakeSweepCommand());
  commands.push_back(MakeRunCommand());
  commands.push_back(MakeTrainCommand());
  commands.push_back(MakeEvalCommand());
  commands.push_back(MakeBenchCommand());
  commands.push_back(MakeCalibrateCommand());
  commands.push_back(MakeZooCommand());
  commands.push_back(MakeImportCommand());
  return commands;
}

}  // namespace

int RunCommands(const Program& program,
                const std::vector<std::unique_ptr<Command>>& commands,
                std::vector<std::string> args, const Console& console) {
  CLI::App app(program.about, program.name);
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, Command*>> entries;
  for (const std::unique_ptr<Command>& command : commands) {
    CLI::App* const sub = app.add_subcommand(command->name(), command->help());
    command->AddOptions(*sub);
    entries.emplace_back(sub, command.get());
  }

  // CLI11 would only say that a command is missing.
  const bool known =
      args.empty() || args[0].rfind('-', 0) == 0 ||
      std::any_of(commands.begin(), commands.end(),
                  [&args](const std::unique_ptr<Command>& command) {
                    return command->name() == args[0];
                  });
  if (!known) {
    console.err << program.name << ": no command '" << args[0]
                << "'; there are";
    for (const std::unique_ptr<Command>& command : commands) {
      console.err << " " << command->name();
    }
    console.err << "\n";
    return kUsageIsWrong;
  }

  const std::string empty_value = ErrorOfEmptyValue(args);
  if (!empty_value.empty()) {
    console.err << program.name << " " << args[0] << ": " << empty_value
                << "\n";
    return kUsageIsWrong;
  }

  // CLI11 takes arguments from the end, and reports by exceptions.
  std::reverse(args.begin(), args.end());
  try {
    app.parse(std::move(args));
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error, console.out, console.err);
    return code == 0 ? 0 : kUsageIsWrong;
  }
  for (const auto& [sub, command] : entries) {
    if (!sub->parsed()) continue;
    absl::Status status = command->Run(console);
    if (status.ok() && !console.out.flush()) {
      status = absl::UnavailableError("the output cannot be written");
    }
    if (status.ok()) return 0;
    console.err << program.name << " " << command->name() << ": "
                << status.message() << "\n";
    return kInputIsWrong;
  }
  return kUsageIsWrong;
}

int RunCommandLine(std::vector<std::string> args, const Console& console) {
  return RunCommands(
      {"reprise", "Trains neural networks in one planned block of memory."},
      MakeCommands(), std::move(args), console);
}

}  // namespace reprise
