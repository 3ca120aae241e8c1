// What measures: the machine's rates, the profile of a step, and the file that
// carries rates to the planner.

#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/machine.h"
#include "gtest/gtest.h"
#include "tests/tools/command_line.h"
#include "tools/measure/machine_rates.h"
#include "tools/measure/step_profile.h"

namespace reprise {
namespace {

constexpr char kLesson[] = "examples/lesson_two_layers.textproto";

std::string MachineFile(const std::string& name, const std::string& text) {
  const std::string path =
      absl::StrCat(::testing::TempDir(), "/", name, ".textproto");
  std::ofstream(path) << text;
  return path;
}

// Rates at which only the overhead of a kernel counts: 7 ns each.
constexpr char kFast[] =
    "format_version: 1 matmul_flops_per_second: 1e18 "
    "conv_flops_per_second: 1e18 vector_flops_per_second: 1e18 "
    "bytes_per_second: 1e18 kernel_overhead_nanoseconds: 7";

TEST(MeasureTest, RatesOfThisMachineAreAMachine) {
  const absl::StatusOr<proto::Machine> machine =
      MeasureMachine("here", /*max_threads=*/1);
  ASSERT_TRUE(machine.ok()) << machine.status();
  EXPECT_TRUE(CheckMachine(*machine).ok()) << CheckMachine(*machine);
  EXPECT_EQ(machine->matmul_flops_per_second_size(), 1);
}

TEST(MeasureTest, CostsComeFromTheMachineGiven) {
  const std::string path = MachineFile("fast", kFast);
  const nlohmann::json sweep = nlohmann::json::parse(
      RunReprise({"sweep", kLesson, "--machine=" + path, "--format=json"}).out);
  const nlohmann::json plan =
      nlohmann::json::parse(RunReprise({"plan", kLesson, "--format=json"}).out);
  EXPECT_EQ(sweep["cost_nanoseconds"].get<int64_t>() % 7, 0);
  EXPECT_EQ(sweep["cost_nanoseconds"].get<int64_t>(),
            7 * (plan["steps"].get<int64_t>() -
                 plan["recomputed_steps"].get<int64_t>()));
}

TEST(MeasureTest, FingerprintIsOfTheRatesAndNotOfTheName) {
  proto::Machine machine = DefaultMachine();
  const std::string before = MachineFingerprint(machine);
  machine.set_name("other");
  EXPECT_EQ(MachineFingerprint(machine), before);
  machine.set_bytes_per_second(0, machine.bytes_per_second(0) + 1);
  EXPECT_NE(MachineFingerprint(machine), before);
}

TEST(MeasureTest, MachineThatIsNoneIsRefusedByField) {
  struct Bad {
    const char* name;
    std::string text;
    const char* message;
  };
  const std::string fast = kFast;
  const Bad cases[] = {
      {"version", "name: 'x'", "format_version must be 1, got 0"},
      {"empty", "format_version: 1",
       "matmul_flops_per_second: must have a rate"},
      {"zero", fast + " bytes_per_second: 0",
       "bytes_per_second: must be at least 1 and finite, got 0"},
      {"nan", fast + " conv_flops_per_second: nan",
       "conv_flops_per_second: must be at least 1 and finite, got nan"},
      {"overhead",
       "format_version: 1 matmul_flops_per_second: 1 "
       "conv_flops_per_second: 1 vector_flops_per_second: 1 "
       "bytes_per_second: 1 kernel_overhead_nanoseconds: -1",
       "kernel_overhead_nanoseconds: must be in [0, 1000000000], got -1"},
  };
  for (const Bad& bad : cases) {
    const std::string path = MachineFile(bad.name, bad.text);
    const CommandResult result =
        RunReprise({"plan", kLesson, "--machine=" + path});
    EXPECT_EQ(result.code, 1) << bad.name;
    EXPECT_TRUE(absl::StrContains(result.err, bad.message)) << result.err;
    EXPECT_TRUE(absl::StrContains(result.err, path)) << result.err;
  }
}

// Every step of the plan is in the profile once, and times add up.
TEST(MeasureTest, ProfileHasEveryStepOfAPlan) {
  const nlohmann::json bench = nlohmann::json::parse(
      RunReprise({"bench", kLesson, "--seconds=0.01", "--format=json"}).out);
  int64_t steps = 0;
  int64_t flops = 0;
  for (const nlohmann::json& op : bench["ops"]) {
    int64_t of_kernels = 0;
    for (const nlohmann::json& kernel : op["kernels"]) {
      of_kernels += kernel["steps"].get<int64_t>();
    }
    EXPECT_EQ(op["steps"].get<int64_t>(), of_kernels);
    steps += of_kernels;
    flops += op["flops"].get<int64_t>();
  }
  EXPECT_EQ(steps, bench["steps"].get<int64_t>());
  EXPECT_EQ(flops, bench["flops"].get<int64_t>());
}

}  // namespace
}  // namespace reprise
