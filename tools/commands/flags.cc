#include "tools/commands/flags.h"

#include <cfloat>
#include <cmath>
#include <memory>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/status_macros.h"
#include "tools/commands/size.h"
#include "tools/importer/onnx_file.h"

namespace reprise {
namespace {

// What CLI11 wants of a check: empty text, or what is wrong.
std::string CheckBinding(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, '=');
  int64_t value = 0;
  if (parts.size() == 2 && !parts[0].empty() &&
      absl::SimpleAtoi(parts[1], &value) && value >= 0) {
    return "";
  }
  return absl::StrCat("'", text, "' is not SYMBOL=NUMBER");
}

std::string CheckSize(const std::string& text) {
  return std::string(ParseSize(text).status().message());
}

// Accepts the numbers for which `allowed` holds; `what` they are is the error.
template <typename Predicate>
CLI::Validator Number(Predicate allowed, std::string what) {
  return CLI::Validator(
      [allowed, what = std::move(what)](std::string& text) -> std::string {
        double number = 0;
        if (absl::SimpleAtod(text, &number) && allowed(number)) return "";
        return absl::StrCat("'", text, "' is not ", what);
      },
      "");
}

template <typename T>
CLI::Validator IntegerIn(T low, T high) {
  return CLI::Validator(
      [low, high](std::string& text) -> std::string {
        T number = 0;
        if (absl::SimpleAtoi(text, &number) && number >= low &&
            number <= high) {
          text = absl::StrCat(number);
          return "";
        }
        return absl::StrCat("'", text, "' is not an integer from ", low, " to ",
                            high);
      },
      "");
}

}  // namespace

CLI::Validator FiniteNumber() {
  return Number([](double x) { return std::fabs(x) <= FLT_MAX; },
                "a finite number of float32");
}

CLI::Validator PositiveNumber(double high) {
  return Number([high](double x) { return x > 0 && x <= high; },
                absl::StrCat("a number above 0 and at most ", high));
}

CLI::Validator Fraction() {
  return Number([](double x) { return x >= 0 && x < 1; },
                "a fraction: at least 0 and below 1");
}

CLI::Validator Integer(int64_t low, int64_t high) {
  return IntegerIn<int64_t>(low, high);
}

CLI::Validator Seed() { return IntegerIn<uint64_t>(0, UINT64_MAX); }

CLI::Validator OnceForEach(const std::string& what) {
  return CLI::Validator(
      [what, seen = std::make_shared<std::set<std::string>>()](
          std::string& text) -> std::string {
        const std::string name = text.substr(0, text.find('='));
        if (seen->insert(name).second) return "";
        return absl::StrCat(what, " '", name, "' is given twice");
      },
      "");
}

void AddSymbolFlag(CLI::App& app, std::vector<std::string>& sets) {
  app.add_option("--set", sets, "Value of a symbol, e.g. --set batch=64")
      ->type_name("SYMBOL=N")
      ->check(CheckBinding)
      ->check(OnceForEach("symbol"))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void ModelFlags::Add(CLI::App& app) {
  app.add_option("MODEL", model, "Graph file: .textproto, .pb or .onnx")
      ->required();
  AddSymbolFlag(app, sets);
  app.add_option("--threads", threads, "Threads; 0: one for each core")
      ->transform(Integer(0, 1024));
  app.add_flag("--no-fusion", no_fusion, "Keep every node a kernel of its own");
  app.add_option("--machine", machine,
                 "Speeds to estimate costs with, written by calibrate");
  import.Add(app);
}

absl::StatusOr<ModelSource> ModelFlags::Read(
    const Console& console, std::map<std::string, TensorType> inputs) const {
  return ReadModel(model, import, SymbolsOf(sets), console, std::move(inputs));
}

Bindings ModelFlags::symbols() const {
  return IsOnnxPath(model) ? Bindings() : SymbolsOf(sets);
}

Bindings SymbolsOf(const std::vector<std::string>& sets) {
  Bindings bindings;
  for (const std::string& set : sets) {
    const std::vector<std::string> parts = absl::StrSplit(set, '=');
    int64_t value = 0;
    REPRISE_CHECK(absl::SimpleAtoi(parts[1], &value));
    bindings[parts[0]] = value;
  }
  return bindings;
}

absl::StatusOr<TrainerOptions> ModelFlags::trainer_options() const {
  TrainerOptions options;
  options.symbols = symbols();
  options.threads = threads;
  options.fusion = !no_fusion;
  options.source = model;
  if (!machine.empty()) {
    ASSIGN_OR_RETURN(options.machine, ReadMachine(machine));
  }
  return options;
}

void FormatFlag::Add(CLI::App& app) {
  app.add_option("--format", format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
}

void ConfigFlags::Add(CLI::App& app) {
  app.add_option("--config", config, "Train config file (proto/train.proto)");
  app.add_option("--optimizer", optimizer,
                 "In place of the config's: adam (without a config the "
                 "default), adamw, sgd, adagrad or rmsprop, as PyTorch has "
                 "them; onnx_adam, onnx_adagrad or onnx_momentum, as ONNX does")
      ->check(CLI::IsMember({"adam", "adamw", "sgd", "adagrad", "rmsprop",
                             "onnx_adam", "onnx_adagrad", "onnx_momentum"}));
  app.add_option_function<float>(
         "--lr", [this](float value) { lr = value; },
         "Learning rate, in place of the config's")
      ->check(PositiveNumber(FLT_MAX));
  app.add_option_function<uint64_t>(
         "--seed", [this](uint64_t value) { seed = value; },
         "Seed of weights, dropout, split and order, in place of the config's")
      ->transform(Seed());
}

absl::StatusOr<proto::TrainConfig> ConfigFlags::Read() const {
  proto::TrainConfig read;
  if (config.empty()) {
    read.set_format_version(1);
    read.mutable_adam();
  } else {
    ASSIGN_OR_RETURN(read, ReadTrainConfig(config));
  }
  if (optimizer == "adam") {
    read.mutable_adam()->Clear();
  } else if (optimizer == "adamw") {
    read.mutable_adamw()->Clear();
  } else if (optimizer == "sgd") {
    read.mutable_sgd()->Clear();
  } else if (optimizer == "adagrad") {
    read.mutable_adagrad()->Clear();
  } else if (optimizer == "rmsprop") {
    read.mutable_rmsprop()->Clear();
  } else if (optimizer == "onnx_adam") {
    read.mutable_onnx_adam()->Clear();
  } else if (optimizer == "onnx_adagrad") {
    read.mutable_onnx_adagrad()->Clear();
  } else if (optimizer == "onnx_momentum") {
    read.mutable_onnx_momentum()->Clear();
  }
  if (lr.has_value()) read.mutable_schedule()->set_lr(*lr);
  if (seed.has_value()) read.set_seed(*seed);
  return read;
}

void BudgetFlags::Add(CLI::App& app) {
  const auto add_size = [&app](const char* name, int64_t& bytes,
                               const char* help) {
    app.add_option_function<std::string>(
           name,
           [&bytes](const std::string& text) { bytes = *ParseSize(text); },
           help)
        ->type_name("SIZE")
        ->check(CheckSize);
  };
  add_size("--budget", budget_bytes, "Most bytes of the arena, e.g. 512MiB");
  add_size("--process-budget", process_budget_bytes,
           "Most bytes of the whole process: libraries, kernels and arena");
  app.add_flag("--strict", strict,
               "Refuse kernels that take heap during a step");
}

void BudgetFlags::Apply(TrainerOptions& options) const {
  options.plan.budget_bytes = budget_bytes;
  options.plan.strict = strict;
  options.process_budget_bytes = process_budget_bytes;
}

CLI::Option* DataFlags::Add(CLI::App& app) {
  app.add_option("--data", data,
                 ".npz, .csv[.gz], idx or .npy pair (features,labels), or text")
      ->required();
  app.add_option_function<float>(
         "--scale", [this](float value) { scale = value; },
         "Factor of the features (.csv, idx, .npy); idx bytes: 1/255")
      ->check(FiniteNumber());
  return app
      .add_option("--holdout", holdout,
                  "Fraction of the rows held out, drawn by the seed; of a "
                  "text, the end")
      ->check(Fraction());
}

}  // namespace reprise
