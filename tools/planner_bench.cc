// Runs the planner's parts on instance files.

#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "tools/bench/bench.h"

int main(int argc, char** argv) {
  const reprise::Console console{std::cout, std::cerr,
                                 isatty(STDERR_FILENO) != 0};
  return reprise::RunPlannerBench(
      std::vector<std::string>(argv + 1, argv + argc), console);
}
