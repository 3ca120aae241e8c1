// Options that several commands share.

#ifndef TOOLS_COMMANDS_FLAGS_H_
#define TOOLS_COMMANDS_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "reprise.h"

namespace reprise {

// Accepts numbers that are neither infinite nor NaN: CLI11's own checks only
// compare, and let NaN through.
CLI::Validator FiniteNumber();

// MODEL, --set, --threads, --no-fusion.
struct ModelFlags {
  std::string model;
  std::vector<std::string> sets;  // "symbol=number"
  int threads = 0;
  bool no_fusion = false;

  void Add(CLI::App& app);
  Bindings symbols() const;
  TrainerOptions trainer_options() const;
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

// --budget, --strict.
struct BudgetFlags {
  int64_t budget_bytes = INT64_MAX;
  bool strict = false;

  void Add(CLI::App& app);
  void Apply(PlanOptions& options) const;
};

// --data, --scale, --holdout.
struct DataFlags {
  std::string data;
  absl::optional<float> scale;
  double holdout = 0;

  void Add(CLI::App& app);
};

}  // namespace reprise

#endif  // TOOLS_COMMANDS_FLAGS_H_
