// planner_bench, run in this process, and its files.

#ifndef TESTS_TOOLS_BENCH_LINE_H_
#define TESTS_TOOLS_BENCH_LINE_H_

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/tools/command_line.h"
#include "tools/bench/bench.h"

namespace reprise {

inline CommandResult RunBench(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  CommandResult result;
  result.code = RunPlannerBench(args, Console{out, err});
  result.out = out.str();
  result.err = err.str();
  return result;
}

// Writes a file of the test's own; returns its path.
inline std::string Write(const std::string& name, const std::string& content) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

inline std::string Read(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

}  // namespace reprise

#endif  // TESTS_TOOLS_BENCH_LINE_H_
