// The commands of planner_bench, each in a file of its own.

#ifndef TOOLS_BENCH_BENCH_H_
#define TOOLS_BENCH_BENCH_H_

#include <memory>
#include <string>
#include <vector>

#include "tools/commands/command.h"

namespace reprise {

std::unique_ptr<Command> MakeOffsetsBench();
std::unique_ptr<Command> MakeOrderBench();
std::unique_ptr<Command> MakeRematBench();

// Runs one command line and returns the exit code, as RunCommands does.
//
//   args: without the program's name.
int RunPlannerBench(std::vector<std::string> args, const Console& console);

}  // namespace reprise

#endif  // TOOLS_BENCH_BENCH_H_
