// `reprise run`: one forward pass, and gradients, on given data.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/file.h"
#include "core/status_macros.h"
#include "tools/commands/command.h"
#include "tools/commands/flags.h"
#include "tools/commands/output_file.h"
#include "tools/commands/report.h"
#include "tools/data/gzip.h"
#include "tools/data/npy.h"
#include "tools/data/pass_arrays.h"
#include "tools/importer/onnx_file.h"

namespace reprise {
namespace {

// The most elements that are printed one by one.
constexpr int64_t kMostPrinted = 64;

std::string CheckNameAndFile(const std::string& text) {
  const size_t at = text.find('=');
  if (at != std::string::npos && at > 0 && at + 1 < text.size()) return "";
  return absl::StrCat("'", text, "' is not NAME=FILE.npy");
}

// Returns enough digits to tell float32 numbers apart. The sign of a NaN means
// nothing, and is not shown.
std::string FloatText(double number) {
  if (std::isnan(number)) return "nan";
  return absl::StrFormat("%.9g", number);
}

// Returns an element as JSON, in which what is no finite number is null.
Json ElementJson(const Array& array, int64_t index) {
  if (array.type.dtype != DType::kF32) return ElementAsInt(array, index);
  const double element = ElementAsDouble(array, index);
  return std::isfinite(element) ? Json(element) : Json(nullptr);
}

Json ResultJson(const PassResult& result) {
  Json json = {{"name", result.name},
               {"gradient", result.gradient},
               {"type", ToString(result.array.type)}};
  const int64_t elements = result.array.type.num_elements();
  if (elements <= kMostPrinted) {
    json["elements"] = Json::array();
    for (int64_t i = 0; i < elements; ++i) {
      json["elements"].push_back(ElementJson(result.array, i));
    }
  }
  return json;
}

// Returns the elements, in brackets as the dims have them.
std::string Elements(const Array& array, int axis, int64_t first) {
  if (axis == array.type.rank()) {
    return array.type.dtype == DType::kF32
               ? FloatText(ElementAsDouble(array, first))
               : absl::StrCat(ElementAsInt(array, first));
  }
  const int64_t stride =
      Product(absl::MakeConstSpan(array.type.dims).subspan(axis + 1));
  std::vector<std::string> parts;
  for (int64_t i = 0; i < array.type.dims[axis]; ++i) {
    parts.push_back(Elements(array, axis + 1, first + i * stride));
  }
  return absl::StrCat("[", absl::StrJoin(parts, ", "), "]");
}

std::string ResultText(const PassResult& result) {
  const int64_t elements = result.array.type.num_elements();
  std::string text =
      absl::StrCat(result.gradient ? "gradient of " : "", result.name, " ",
                   ToString(result.array.type));
  if (elements <= kMostPrinted) {
    return absl::StrCat(text, " = ", Elements(result.array, 0, 0), "\n");
  }
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double sum = 0;
  for (int64_t i = 0; i < elements; ++i) {
    const double element = ElementAsDouble(result.array, i);
    low = std::min(low, element);
    high = std::max(high, element);
    sum += element;
  }
  return absl::StrCat(text, ": ", FloatText(low), " to ", FloatText(high),
                      ", mean ", FloatText(sum / static_cast<double>(elements)),
                      "\n");
}

// Returns a file's name for a result: what a path gives meaning to becomes _.
std::string FileName(const std::string& result, bool gradient) {
  std::string name = absl::StrCat(gradient ? "grad." : "", result, ".npy");
  std::replace(name.begin(), name.end(), '/', '_');
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

class RunCommand : public Command {
 public:
  std::string name() const override { return "run"; }
  std::string help() const override {
    return "Run a model forward on given data; with --grad, gradients too";
  }
  void AddOptions(CLI::App& app) override {
    model_.Add(app);
    app.add_option("--input", inputs_, "Content of an input, one for each")
        ->type_name("NAME=FILE.npy")
        ->check(CheckNameAndFile)
        ->check(OnceForEach("input"))
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_option("--grad", gradients_,
                   "Inputs and parameters whose gradients to print, with "
                   "commas between; the pass then has training semantics")
        ->type_name("NAMES")
        ->delimiter(',');
    app.add_option("--load", load_, "Weights (safetensors)");
    app.add_option("--out-dir", out_dir_,
                   "Folder that gets each result as a .npy file; made if it "
                   "is not there");
    app.add_option("--seed", seed_, "Of initial weights and dropout")
        ->transform(Seed());
    format_.Add(app);
  }

  absl::Status Run(const Console& console) override {
    std::map<std::string, TensorType> types;
    if (IsOnnxPath(model_.model)) {
      RETURN_IF_ERROR(ReadArrays());
      for (const auto& [name, array] : arrays_) types[name] = array.type;
    }
    ASSIGN_OR_RETURN(const ModelSource source,
                     model_.Read(console, std::move(types)));
    const proto::Graph& graph = source.graph;
    RETURN_IF_ERROR(ReadInputs(graph));
    if (!out_dir_.empty()) RETURN_IF_ERROR(MakeFolder(out_dir_));
    ASSIGN_OR_RETURN(TrainerOptions options, model_.trainer_options());
    RETURN_IF_ERROR(BindDims(graph, options.symbols));
    const PlanMode mode =
        gradients_.empty() ? PlanMode::kEvaluate : PlanMode::kGradients;
    ASSIGN_OR_RETURN(PlannedTrainer planned,
                     PlanRunner(graph, mode, gradients_, options));
    planned.plan.config.set_seed(seed_);
    ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> runner,
                     Trainer::Create(std::move(planned.plan)));
    RETURN_IF_ERROR(source.SetWeights(*runner));
    if (!load_.empty()) RETURN_IF_ERROR(runner->LoadWeights(load_));
    ASSIGN_OR_RETURN(Pass* const pass, runner->Find(mode));
    RETURN_IF_ERROR(CheckFiles(*pass));
    for (const ValueId input : pass->planned().model.inputs) {
      const Value& value = pass->planned().model.values[input];
      const Array& array = arrays_.at(value.name);
      if (array.type != value.type) {
        return absl::InvalidArgumentError(absl::StrCat(
            model_.model, ": input '", value.name, "' is ",
            ToString(value.type), ", its file has ", ToString(array.type)));
      }
      RETURN_IF_ERROR(WriteInput(value.name, array, *pass));
    }
    RETURN_IF_ERROR(runner->Run(*pass));
    ASSIGN_OR_RETURN(const std::vector<PassResult> results, ReadResults(*pass));
    RETURN_IF_ERROR(WriteFiles(results));
    if (format_.json()) {
      Json json = {{"model", model_.model}, {"results", Json::array()}};
      for (const PassResult& result : results) {
        json["results"].push_back(ResultJson(result));
      }
      console.out << Dump(json);
    } else {
      for (const PassResult& result : results)
        console.out << ResultText(result);
    }
    return absl::OkStatus();
  }

 private:
  // Reads every --input that has not been read.
  absl::Status ReadArrays() {
    for (const std::string& text : inputs_) {
      const size_t at = text.find('=');
      const auto [array, is_new] = arrays_.emplace(text.substr(0, at), Array());
      if (!is_new) continue;
      const std::string path = text.substr(at + 1);
      ASSIGN_OR_RETURN(const std::string content,
                       ReadFile(path, kMaxDataFileBytes));
      ASSIGN_OR_RETURN(array->second, ParseNpy(content, path));
    }
    return absl::OkStatus();
  }

  // Reads every --input; the model's inputs and the files must be the same.
  absl::Status ReadInputs(const proto::Graph& graph) {
    std::vector<std::string> names;
    for (const proto::Input& input : graph.input()) {
      names.push_back(input.name());
    }
    for (const std::string& text : inputs_) {
      const std::string name = text.substr(0, text.find('='));
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        return absl::InvalidArgumentError(absl::StrCat(
            model_.model, ": has no input '", name, "'; ",
            names.empty() ? "it has none at all"
                          : absl::StrCat("there are '",
                                         absl::StrJoin(names, "', '"), "'")));
      }
    }
    RETURN_IF_ERROR(ReadArrays());
    for (const std::string& name : names) {
      if (arrays_.find(name) == arrays_.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat(model_.model, ": input '", name, "' needs --input ",
                         name, "=FILE.npy"));
      }
    }
    return absl::OkStatus();
  }

  // Symbols that --set does not bind get the sizes that the files have.
  absl::Status BindDims(const proto::Graph& graph, Bindings& symbols) const {
    for (const proto::Input& input : graph.input()) {
      const TensorType& type = arrays_.at(input.name()).type;
      if (type.rank() != input.type().dim_size()) continue;  // judged later
      for (int i = 0; i < type.rank(); ++i) {
        const std::string& symbol = input.type().dim(i).symbol();
        if (symbol.empty()) continue;
        const auto [bound, added] = symbols.emplace(symbol, type.dims[i]);
        if (!added && bound->second != type.dims[i]) {
          return absl::InvalidArgumentError(absl::StrCat(
              model_.model, ": symbol '", symbol, "' is ", bound->second,
              ", the file of input '", input.name(), "' has ", ToString(type)));
        }
      }
    }
    return absl::OkStatus();
  }

  std::string PathOf(const std::string& result, bool gradient) const {
    return absl::StrCat(out_dir_, "/", FileName(result, gradient));
  }

  // Ok if each result of `pass` can have a file of its own. Writes nothing.
  absl::Status CheckFiles(const Pass& pass) const {
    if (out_dir_.empty()) return absl::OkStatus();
    std::map<std::string, std::string> names;  // of results, by file
    for (const StepResult& result : pass.planned().step.results) {
      if (result.kind == StepResult::Kind::kTotalLoss) continue;
      const bool gradient = result.kind == StepResult::Kind::kGradient;
      const auto [other, is_new] =
          names.emplace(FileName(result.name, gradient), result.name);
      // One that is an output and a loss is listed twice, and written once.
      if (other->second != result.name) {
        return absl::InvalidArgumentError(
            absl::StrCat(out_dir_, ": results '", other->second, "' and '",
                         result.name, "' would be one file, ", other->first));
      }
      if (is_new) RETURN_IF_ERROR(CheckWritable(PathOf(result.name, gradient)));
    }
    return absl::OkStatus();
  }

  absl::Status WriteFiles(const std::vector<PassResult>& results) const {
    if (out_dir_.empty()) return absl::OkStatus();
    for (const PassResult& result : results) {
      const std::string npy = ToNpy(result.array);
      RETURN_IF_ERROR(ReplaceFile(PathOf(result.name, result.gradient), {npy}));
    }
    return absl::OkStatus();
  }

  ModelFlags model_;
  FormatFlag format_;
  std::vector<std::string> inputs_;
  std::vector<std::string> gradients_;
  std::string load_;
  std::string out_dir_;
  uint64_t seed_ = 0;
  std::map<std::string, Array> arrays_;  // by input
};

}  // namespace

std::unique_ptr<Command> MakeRunCommand() {
  return std::make_unique<RunCommand>();
}

}  // namespace reprise
