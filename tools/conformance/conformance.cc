#include "tools/conformance/conformance.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/load.h"
#include "core/status_macros.h"
#include "reprise.h"
#include "tools/conformance/compare.h"
#include "tools/conformance/gradients.h"
#include "tools/data/pass_arrays.h"
#include "tools/importer/importer.h"
#include "tools/importer/onnx_file.h"

namespace reprise {
namespace {

bool IsFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool IsFolder(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::vector<std::string> EntriesOf(const std::string& folder) {
  std::vector<std::string> names;
  DIR* const dir = opendir(folder.c_str());
  if (dir == nullptr) return names;
  while (const dirent* const entry = readdir(dir)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  closedir(dir);
  std::sort(names.begin(), names.end());
  return names;
}

std::string LastPart(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

// The inputs and outputs of one data set.
struct DataSet {
  std::vector<Array> inputs;
  std::vector<Array> outputs;
};

absl::StatusOr<std::vector<Array>> ReadTensors(const std::string& folder,
                                               absl::string_view kind) {
  std::vector<Array> arrays;
  while (true) {
    const std::string path =
        absl::StrCat(folder, "/", kind, "_", arrays.size(), ".pb");
    if (!IsFile(path)) return arrays;
    ASSIGN_OR_RETURN(Array array, ReadOnnxTensor(path));
    arrays.push_back(std::move(array));
  }
}

// Returns the ratio of the Dropout that the graph is and that drops, or -1. A
// random mask cannot be that of another generator.
float RandomRatio(const onnx::ModelProto& model,
                  const ImportedModel& imported) {
  if (model.graph().node_size() != 1 ||
      model.graph().node(0).op_type() != "Dropout" || !imported.training_mode) {
    return -1;
  }
  for (const proto::Node& node : imported.graph.node()) {
    if (node.op() != "Dropout") continue;
    float ratio = 0.5f;  // our default
    for (const proto::Attribute& attribute : node.attribute()) {
      if (attribute.name() == "ratio") ratio = attribute.f();
    }
    return ratio > 0 ? ratio : -1;
  }
  return -1;
}

// One data set on its way through import, plan and run.
class Run {
 public:
  Run(const onnx::ModelProto& model, const OpTable& ops,
      const std::string& folder, const DataSet& data)
      : model_(model), ops_(ops), folder_(folder), data_(data) {}

  absl::Status Import() {
    ImportOptions options;
    int next = 0;
    for (const onnx::ValueInfoProto& input : model_.graph().input()) {
      if (next < static_cast<int>(data_.inputs.size())) {
        options.bind_if_needed[input.name()] = data_.inputs[next++];
      }
    }
    ASSIGN_OR_RETURN(imported_, ImportModel(model_, ops_, options, folder_,
                                            LastPart(folder_)));
    return absl::OkStatus();
  }

  absl::Status Forward() {
    const bool gradients = !imported_.gradients.empty();
    const PlanMode mode = gradients                 ? PlanMode::kGradients
                          : imported_.training_mode ? PlanMode::kForward
                                                    : PlanMode::kEvaluate;
    std::vector<std::string> names;
    for (const auto& [output, name] : imported_.gradients) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(name);
      }
    }
    TrainerOptions options;
    options.threads = 1;
    options.source = LastPart(folder_);
    ASSIGN_OR_RETURN(runner_,
                     MakeRunner(imported_.graph, mode, names, options));
    RETURN_IF_ERROR(SetWeights(imported_, *runner_));
    ASSIGN_OR_RETURN(Pass* const pass, runner_->Find(mode));
    RETURN_IF_ERROR(WriteInputs(imported_, data_.inputs, *pass));
    RETURN_IF_ERROR(runner_->Run(*pass));
    ASSIGN_OR_RETURN(results_, ReadResults(*pass));
    return absl::OkStatus();
  }

  // Returns what output i of the model came out as.
  const Array* Output(int i) const {
    const auto gradient = imported_.gradients.find(i);
    const bool is_gradient = gradient != imported_.gradients.end();
    for (const PassResult& result : results_) {
      if (result.gradient == is_gradient &&
          result.name ==
              (is_gradient ? gradient->second : imported_.outputs[i])) {
        return &result.array;
      }
    }
    return nullptr;
  }

  const ImportedModel& imported() const { return imported_; }

 private:
  const onnx::ModelProto& model_;
  const OpTable& ops_;
  const std::string& folder_;
  const DataSet& data_;
  ImportedModel imported_;
  std::unique_ptr<Trainer> runner_;
  std::vector<PassResult> results_;
};

void RunDataSet(const onnx::ModelProto& model, const std::string& folder,
                const DataSet& data, const OpTable& ops,
                const ConformanceOptions& options, ConformanceResult& result) {
  Run run(model, ops, folder, data);
  absl::Status status = run.Import();
  if (!status.ok()) {
    result.outcome = Outcome::kUnsupported;
    result.detail = std::string(status.message());
    return;
  }
  status = run.Forward();
  if (!status.ok()) {
    result.outcome = Outcome::kFailed;
    result.detail = std::string(status.message());
    return;
  }
  const auto fail = [&result](std::string why) {
    result.outcome = Outcome::kFailed;
    absl::StrAppend(&result.detail, result.detail.empty() ? "" : "; ", why);
  };
  if (data.outputs.size() != run.imported().outputs.size()) {
    fail(absl::StrCat("outputs given: ", data.outputs.size(),
                      ", of the model: ", run.imported().outputs.size()));
    return;
  }
  std::vector<const Array*> outputs;
  for (size_t i = 0; i < data.outputs.size(); ++i) {
    outputs.push_back(run.Output(static_cast<int>(i)));
    if (outputs.back() == nullptr) {
      fail(absl::StrCat("output ", i, ": is not there in this mode"));
      return;
    }
  }
  const float ratio = RandomRatio(model, run.imported());
  if (ratio > 0) {
    const std::string broken = BrokenDropoutLaw(data.inputs[0], ratio, outputs);
    if (!broken.empty()) fail(broken);
    result.detail = absl::StrCat(
        "held to the law of Dropout: masks are of another generator",
        broken.empty() ? "" : "; ", broken);
    return;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string difference =
        Difference(*outputs[i], data.outputs[i], options.rtol, options.atol);
    if (!difference.empty()) {
      fail(absl::StrCat("output ", i, ": ", difference));
    }
  }
  if (!options.gradients || result.outcome != Outcome::kPassed ||
      !run.imported().gradients.empty()) {
    return;
  }
  const absl::StatusOr<std::string> gradients =
      CompareGradients(run.imported(), data.inputs, ops);
  if (!gradients.ok()) {
    const std::string why(gradients.status().message());
    if (absl::IsUnimplemented(gradients.status())) {
      result.detail = absl::StrCat("gradients not compared: ", why);
      return;
    }
    fail(why);
  } else if (!gradients->empty()) {
    fail(*gradients);
  }
  result.gradients_compared = true;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FindOnnxTests(
    const std::string& folder) {
  if (!IsFolder(folder)) {
    return absl::NotFoundError(absl::StrCat(folder, ": is no folder"));
  }
  if (IsFile(absl::StrCat(folder, "/model.onnx"))) {
    return std::vector<std::string>{folder};
  }
  std::vector<std::string> tests;
  for (const std::string& name : EntriesOf(folder)) {
    std::string test = absl::StrCat(folder, "/", name);
    if (IsFile(absl::StrCat(test, "/model.onnx"))) {
      tests.push_back(std::move(test));
    }
  }
  return tests;
}

ConformanceResult RunOnnxTest(const std::string& folder, const OpTable& ops,
                              const ConformanceOptions& options) {
  ConformanceResult result;
  result.test = LastPart(folder);
  const auto unsupported = [&result](const absl::Status& status) {
    result.outcome = Outcome::kUnsupported;
    result.detail = std::string(status.message());
    return result;
  };
  const absl::StatusOr<onnx::ModelProto> model =
      ReadOnnxModel(absl::StrCat(folder, "/model.onnx"));
  if (!model.ok()) return unsupported(model.status());
  int num_sets = 0;
  for (const std::string& name : EntriesOf(folder)) {
    if (!absl::StartsWith(name, "test_data_set_")) continue;
    ++num_sets;
    const std::string set = absl::StrCat(folder, "/", name);
    DataSet data;
    absl::StatusOr<std::vector<Array>> arrays = ReadTensors(set, "input");
    if (!arrays.ok()) return unsupported(arrays.status());
    data.inputs = *std::move(arrays);
    arrays = ReadTensors(set, "output");
    if (!arrays.ok()) return unsupported(arrays.status());
    data.outputs = *std::move(arrays);
    RunDataSet(*model, folder, data, ops, options, result);
    if (result.outcome != Outcome::kPassed) return result;
  }
  if (num_sets == 0) {
    result.outcome = Outcome::kFailed;
    result.detail = "has no test_data_set_* folder";
  }
  return result;
}

}  // namespace reprise
