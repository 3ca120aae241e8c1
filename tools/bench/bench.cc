#include "tools/bench/bench.h"

#include <utility>

namespace reprise {

int RunPlannerBench(std::vector<std::string> args, const Console& console) {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(MakeOffsetsBench());
  commands.push_back(MakeOrderBench());
  commands.push_back(MakeRematBench());
  return RunCommands(
      {"planner_bench", "Runs the planner's parts on instance files."},
      commands, std::move(args), console);
}

}  // namespace reprise
