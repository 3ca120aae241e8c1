#include "tools/conformance/conformance_command.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/file.h"
#include "core/status_macros.h"
#include "nlohmann/json.hpp"
#include "reprise.h"
#include "tools/conformance/conformance.h"

namespace reprise {
namespace {

constexpr int64_t kMaxIndexBytes = int64_t{64} << 20;

// Returns the names of the tests that an index flags: a JSON list of objects
// with "test" and a bool under `flag`.
absl::StatusOr<std::set<std::string>> ReadIndex(const std::string& path,
                                                const std::string& flag) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxIndexBytes));
  const nlohmann::json index =
      nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  std::set<std::string> tests;
  bool good = index.is_array();
  for (size_t i = 0; good && i < index.size(); ++i) {
    const nlohmann::json& entry = index[i];
    good = entry.is_object() && entry.contains("test") &&
           entry["test"].is_string() && entry.contains(flag) &&
           entry[flag].is_boolean();
    if (good && entry[flag].get<bool>()) {
      tests.insert(entry["test"].get<std::string>());
    }
  }
  if (good) return tests;
  return absl::InvalidArgumentError(
      absl::StrCat(path,
                   ": an index is a JSON list of objects with a text "
                   "'test' and a bool '",
                   flag, "'"));
}

class ConformanceCommand : public Command {
 public:
  std::string name() const override { return "run"; }
  std::string help() const override {
    return "Run ONNX's backend tests: folders with model.onnx and "
           "test_data_set_*";
  }
  void AddOptions(CLI::App& app) override {
    app.add_option("DIR", folders_, "Test folders, or folders of test folders")
        ->required();
    app.add_flag("--grad", options_.gradients,
                 "Compare gradients with central differences too");
    app.add_option("--index", index_,
                   "JSON list of {\"test\": NAME, FLAG: true or false}");
    app.add_option("--only", flag_, "Run only what the index flags, e.g. f32")
        ->type_name("FLAG");
    app.add_flag("--quiet", quiet_, "Leave out what is unsupported");
  }

  absl::Status Run(const Console& console) override {
    if (index_.empty() != flag_.empty()) {
      return absl::InvalidArgumentError("--index and --only go together");
    }
    std::set<std::string> wanted;
    if (!index_.empty()) {
      ASSIGN_OR_RETURN(wanted, ReadIndex(index_, flag_));
    }
    const std::unique_ptr<OpTable> ops = MakeOpTable();
    int counts[3] = {0, 0, 0};
    int with_gradients = 0;
    for (const std::string& folder : folders_) {
      ASSIGN_OR_RETURN(const std::vector<std::string> tests,
                       FindOnnxTests(folder));
      for (const std::string& test : tests) {
        const std::string name = test.substr(test.rfind('/') + 1);
        if (!index_.empty() && wanted.count(name) == 0) continue;
        const ConformanceResult result = RunOnnxTest(test, *ops, options_);
        ++counts[static_cast<int>(result.outcome)];
        with_gradients += result.gradients_compared;
        Print(result, console);
      }
    }
    if (options_.gradients) {
      console.out << with_gradients << " with gradients\n";
    }
    console.out << counts[0] << " passed, " << counts[1] << " failed, "
                << counts[2] << " unsupported\n";
    if (counts[0] + counts[1] + counts[2] == 0) {
      return absl::NotFoundError("there is no test in these folders");
    }
    if (counts[1] > 0) {
      return absl::FailedPreconditionError(
          absl::StrCat(counts[1], " tests failed"));
    }
    return absl::OkStatus();
  }

 private:
  void Print(const ConformanceResult& result, const Console& console) const {
    if (result.detail.empty()) return;
    if (quiet_ && result.outcome == Outcome::kUnsupported) return;
    const char* const word = result.outcome == Outcome::kPassed ? "passed"
                             : result.outcome == Outcome::kFailed
                                 ? "failed"
                                 : "unsupported";
    console.out << word << " " << result.test << ": " << result.detail << "\n";
  }

  std::vector<std::string> folders_;
  std::string index_;
  std::string flag_;
  bool quiet_ = false;
  ConformanceOptions options_;
};

}  // namespace

int RunOnnxConformance(std::vector<std::string> args, const Console& console) {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(std::make_unique<ConformanceCommand>());
  // The one command goes without saying.
  args.insert(args.begin(), "run");
  return RunCommands({"onnx_conformance", commands[0]->help()}, commands,
                     std::move(args), console);
}

}  // namespace reprise
