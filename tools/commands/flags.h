// Options that several commands share.

#ifndef TOOLS_COMMANDS_FLAGS_H_
#define TOOLS_COMMANDS_FLAGS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "reprise.h"
#include "tools/commands/model_source.h"

namespace reprise {

// Checks of numbers, used in place of CLI11's own: those let NaN through, show
// their limits with 308 digits, clamp what 64 bits do not hold and read a
// leading 0 as octal.

// Accepts numbers that a float32 can hold.
CLI::Validator FiniteNumber();

// Accepts numbers in (0, high].
CLI::Validator PositiveNumber(double high);

// Accepts numbers in [0, 1).
CLI::Validator Fraction();

// Accepts decimal integers in [low, high]; to be given to transform(), as it
// takes leading zeros away.
CLI::Validator Integer(int64_t low, int64_t high);

// The same in [0, 2^64).
CLI::Validator Seed();

// Bounds of steps and epochs that keep their products in int64.
inline constexpr int64_t kMostSteps = int64_t{1'000'000'000'000'000};
inline constexpr int64_t kMostEpochs = 1'000'000;

// Refuses a second NAME=VALUE of one name; `what` it is that is named.
CLI::Validator OnceForEach(const std::string& what);

// --set, as a list of "symbol=number", and what it says.
void AddSymbolFlag(CLI::App& app, std::vector<std::string>& sets);
Bindings SymbolsOf(const std::vector<std::string>& sets);

// MODEL, --set, --threads, --no-fusion, --machine, and the flags of importing.
struct ModelFlags {
  std::string model;
  std::vector<std::string> sets;
  ImportFlags import;
  int threads = 0;
  bool no_fusion = false;
  std::string machine;

  void Add(CLI::App& app);

  // The model, with the weights that an ONNX file has. Of such a file the
  // symbols are bound once it is read.
  //
  //   inputs: types of the data at hand, which tell an ONNX file's named dims.
  absl::StatusOr<ModelSource> Read(
      const Console& console,
      std::map<std::string, TensorType> inputs = {}) const;

  Bindings symbols() const;

  // errors: those of ReadMachine.
  absl::StatusOr<TrainerOptions> trainer_options() const;
};

// --format.
struct FormatFlag {
  std::string format = "text";

  void Add(CLI::App& app);
  bool json() const { return format == "json"; }
};

// --config, --optimizer, --lr, --seed.
struct ConfigFlags {
  std::string config;
  std::string optimizer;
  absl::optional<float> lr;
  absl::optional<uint64_t> seed;

  void Add(CLI::App& app);

  // The config file, or Adam with its defaults, changed by the other options.
  absl::StatusOr<proto::TrainConfig> Read() const;
};

// --budget, --process-budget, --strict.
struct BudgetFlags {
  int64_t budget_bytes = INT64_MAX;
  int64_t process_budget_bytes = INT64_MAX;
  bool strict = false;

  void Add(CLI::App& app);
  void Apply(TrainerOptions& options) const;
};

// --data, --scale, --holdout.
struct DataFlags {
  std::string data;
  absl::optional<float> scale;
  double holdout = 0;

  CLI::Option* Add(CLI::App& app);  // returns --holdout
};

}  // namespace reprise

#endif  // TOOLS_COMMANDS_FLAGS_H_
