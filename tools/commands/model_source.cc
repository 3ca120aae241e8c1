#include "tools/commands/model_source.h"

#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/file.h"
#include "core/load.h"
#include "core/names.h"
#include "core/proto_file.h"
#include "core/status_macros.h"
#include "reprise.h"
#include "tools/commands/flags.h"
#include "tools/data/gzip.h"
#include "tools/data/npy.h"
#include "tools/importer/onnx_file.h"

namespace reprise {
namespace {

constexpr int64_t kMostHeads = int64_t{1} << 31;

std::string CheckNameAndFile(const std::string& text) {
  const size_t at = text.find('=');
  if (at != std::string::npos && at > 0 && at + 1 < text.size()) return "";
  return absl::StrCat("'", text, "' is not INPUT=FILE");
}

std::string CheckPattern(const std::string& text) {
  return IsUtf8(text) ? "" : "a pattern is UTF-8";
}

absl::StatusOr<Array> ReadContent(const std::string& path) {
  if (absl::EndsWith(path, ".pb")) return ReadOnnxTensor(path);
  ASSIGN_OR_RETURN(const std::string content,
                   ReadFile(path, kMaxDataFileBytes));
  return ParseNpy(content, path);
}

}  // namespace

void ImportFlags::Add(CLI::App& app) {
  const auto add_list =
      [&app](const char* name, std::vector<std::string>& to, const char* type,
             std::string (*check)(const std::string&), const char* help) {
        app.add_option(name, to, help)
            ->type_name(type)
            ->check(check)
            ->expected(1)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
      };
  add_list("--bind", binds, "INPUT=FILE", CheckNameAndFile,
           ".onnx: content of an input that becomes constant, .npy or .pb");
  add_list("--freeze", freeze, "GLOB", CheckPattern,
           ".onnx: initializers that are not trained");
  add_list("--trainable", trainable, "GLOB", CheckPattern,
           ".onnx: initializers that are trained although --freeze meets them");
  app.add_flag("--train-batch-norm", train_batch_norm,
               ".onnx: batch normalizations of inference mode use the batch in "
               "training steps");
  app.add_option("--loss", loss,
                 ".onnx: loss behind the first output, with an input of its "
                 "own: softmax_cross_entropy, nll or mse")
      ->check(CLI::IsMember({"softmax_cross_entropy", "nll", "mse"}));
  app.add_option("--head", head,
                 ".onnx: results of a new last dense layer in place of the "
                 "model's")
      ->transform(Integer(1, kMostHeads));
}

bool ImportFlags::given() const {
  return !binds.empty() || !freeze.empty() || !trainable.empty() ||
         train_batch_norm || !loss.empty() || head != 0;
}

absl::StatusOr<ImportOptions> ImportFlags::Read(const Bindings& symbols) const {
  ImportOptions options;
  for (const auto& [name, value] : symbols) {
    if (value > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--set: symbol ", Quote(name), " must be at least 1, got ",
                     value, ": it is what the model is imported at"));
  }
  options.symbols = symbols;
  options.freeze = freeze;
  options.trainable = trainable;
  options.train_batch_norm = train_batch_norm;
  options.loss = loss;
  options.head = head;
  for (const std::string& text : binds) {
    const size_t at = text.find('=');
    ASSIGN_OR_RETURN(Array array, ReadContent(text.substr(at + 1)));
    if (!options.bind.emplace(text.substr(0, at), std::move(array)).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--bind: input ", Quote(text.substr(0, at)), " is given twice"));
    }
  }
  return options;
}

absl::Status ModelSource::SetWeights(Trainer& trainer) const {
  if (!imported) return absl::OkStatus();
  std::vector<TensorView> views;
  for (const NamedArray& weight : weights) {
    views.push_back({weight.name, weight.array.type, weight.array.data.data()});
  }
  return trainer.SetWeights(views, path);
}

absl::StatusOr<ModelSource> ReadModel(
    const std::string& path, const ImportFlags& flags, const Bindings& symbols,
    const Console& console, std::map<std::string, TensorType> inputs) {
  ModelSource source;
  source.path = path;
  if (!IsOnnxPath(path)) {
    if (flags.given()) {
      return absl::InvalidArgumentError(absl::StrCat(
          path,
          ": --bind, --freeze, --trainable, --train-batch-norm, --loss and "
          "--head are for .onnx files"));
    }
    ASSIGN_OR_RETURN(source.graph, ReadGraphFile(path));
    return source;
  }
  ASSIGN_OR_RETURN(ImportOptions options, flags.Read(symbols));
  options.inputs = std::move(inputs);
  const std::unique_ptr<OpTable> ops = MakeOpTable();
  ASSIGN_OR_RETURN(ImportedModel imported, ImportFile(path, *ops, options));
  for (const std::string& note : imported.notes) {
    console.err << "note: " << note << "\n";
  }
  source.graph = std::move(imported.graph);
  source.weights = std::move(imported.weights);
  source.symbols = std::move(imported.symbols);
  source.imported = true;
  return source;
}

}  // namespace reprise
