// Runs ONNX's backend tests from their folders.

#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "tools/conformance/conformance_command.h"

int main(int argc, char** argv) {
  const reprise::Console console{std::cout, std::cerr,
                                 isatty(STDERR_FILENO) != 0};
  return reprise::RunOnnxConformance(
      std::vector<std::string>(argv + 1, argv + argc), console);
}
