#include "core/checkpoint.h"

#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/error_list.h"
#include "core/names.h"
#include "core/safetensors.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

constexpr char kFormatKey[] = "format";
constexpr char kWeightsFormat[] = "reprise weights 1";
constexpr char kCheckpointFormat[] = "reprise checkpoint 1";
constexpr char kStepKey[] = "step";
constexpr char kMicroStepKey[] = "micro_step";
constexpr char kSeedKey[] = "seed";
constexpr char kParametersKey[] = "parameters_sha256";
constexpr char kMathKey[] = "math_sha256";

bool IsWeight(ValueKind kind) {
  return kind == ValueKind::kParameter || kind == ValueKind::kState;
}

// The trainer writes scalars itself, from the position.
bool IsSaved(ValueKind kind) { return kind != ValueKind::kScalar; }

std::vector<TensorView> ViewsOf(absl::Span<const PersistentTensor> tensors,
                                bool (*wanted)(ValueKind)) {
  std::vector<TensorView> views;
  for (const PersistentTensor& tensor : tensors) {
    if (wanted(tensor.kind)) {
      views.push_back({tensor.name, tensor.type, tensor.data});
    }
  }
  return views;
}

// One tensor to read and where to.
struct Transfer {
  const SafetensorsEntry* entry;
  void* data;
};

// Pairs the wanted tensors with the file's and lists what does not pair. The
// framework's own tensors in the file are passed over if only weights are
// wanted.
std::vector<Transfer> Match(const SafetensorsFile& file,
                            absl::Span<const PersistentTensor> tensors,
                            bool (*wanted)(ValueKind), bool weights_only,
                            ErrorList& differences) {
  absl::flat_hash_map<absl::string_view, const SafetensorsEntry*> in_file;
  for (const SafetensorsEntry& entry : file.entries()) {
    if (weights_only && absl::StartsWith(entry.name, kReservedPrefix)) continue;
    in_file[entry.name] = &entry;
  }
  std::vector<Transfer> transfers;
  for (const PersistentTensor& tensor : tensors) {
    if (!wanted(tensor.kind)) continue;
    const auto it = in_file.find(tensor.name);
    if (it == in_file.end()) {
      differences.Add(absl::StrCat(Quote(tensor.name), " ",
                                   ToString(tensor.type),
                                   " is not in the file"));
      continue;
    }
    const SafetensorsEntry* entry = it->second;
    in_file.erase(it);
    if (entry->type != tensor.type) {
      differences.Add(absl::StrCat(Quote(tensor.name), " is ",
                                   ToString(entry->type), " in the file, ",
                                   ToString(tensor.type), " here"));
      continue;
    }
    transfers.push_back({entry, tensor.data});
  }
  // In the file's order, so that the list does not depend on hashes.
  for (const SafetensorsEntry& entry : file.entries()) {
    if (in_file.count(entry.name) == 0) continue;
    differences.Add(absl::StrCat(Quote(entry.name), " ", ToString(entry.type),
                                 " of the file is unknown here"));
  }
  return transfers;
}

absl::Status Differs(const ErrorList& differences) {
  return absl::FailedPreconditionError(differences.status().message());
}

absl::Status ReadAll(const SafetensorsFile& file,
                     const std::vector<Transfer>& transfers) {
  for (const Transfer& transfer : transfers) {
    RETURN_IF_ERROR(file.Read(*transfer.entry, transfer.data));
  }
  return absl::OkStatus();
}

// Returns the number under `key`, which the metadata must have.
template <typename Integer>
absl::StatusOr<Integer> Number(const SafetensorsFile& file, const char* key) {
  const auto it = file.metadata().find(key);
  Integer number;
  if (it == file.metadata().end() || !absl::SimpleAtoi(it->second, &number) ||
      number < Integer{0}) {
    return absl::InvalidArgumentError(absl::StrCat(
        file.path(), ": a checkpoint has a number as metadata '", key,
        "', got ", it == file.metadata().end() ? "none" : Quote(it->second)));
  }
  return number;
}

std::string Text(const SafetensorsFile& file, const char* key) {
  const auto it = file.metadata().find(key);
  return it == file.metadata().end() ? "" : it->second;
}

absl::StatusOr<TrainingPosition> ReadPosition(const SafetensorsFile& file) {
  const std::string format = Text(file, kFormatKey);
  if (format != kCheckpointFormat) {
    return absl::InvalidArgumentError(absl::StrCat(
        file.path(), ": is no checkpoint that this program reads: its format ",
        "is ", Quote(format), ", not '", kCheckpointFormat, "'"));
  }
  TrainingPosition position;
  ASSIGN_OR_RETURN(position.step, Number<int64_t>(file, kStepKey));
  ASSIGN_OR_RETURN(position.micro_step, Number<int64_t>(file, kMicroStepKey));
  ASSIGN_OR_RETURN(position.seed, Number<uint64_t>(file, kSeedKey));
  position.fingerprints.parameters = Text(file, kParametersKey);
  position.fingerprints.math = Text(file, kMathKey);
  return position;
}

}  // namespace

absl::Status SaveWeights(const std::string& path,
                         absl::Span<const PersistentTensor> tensors) {
  return WriteSafetensors(path, ViewsOf(tensors, IsWeight),
                          {{kFormatKey, kWeightsFormat}});
}

absl::Status LoadWeights(const std::string& path,
                         absl::Span<const PersistentTensor> tensors) {
  ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  ErrorList differences(path);
  const std::vector<Transfer> transfers =
      Match(file, tensors, IsWeight, /*weights_only=*/true, differences);
  if (!differences.empty()) return Differs(differences);
  return ReadAll(file, transfers);
}

absl::Status CopyWeights(absl::Span<const TensorView> weights,
                         absl::Span<const PersistentTensor> tensors,
                         absl::string_view source) {
  ErrorList differences(source);
  std::map<absl::string_view, const TensorView*> given;
  for (const TensorView& weight : weights) given[weight.name] = &weight;
  std::vector<std::pair<const TensorView*, void*>> copies;
  for (const PersistentTensor& tensor : tensors) {
    if (!IsWeight(tensor.kind)) continue;
    const auto it = given.find(tensor.name);
    if (it == given.end()) {
      differences.Add(absl::StrCat(Quote(tensor.name), " ",
                                   ToString(tensor.type), " is not given"));
      continue;
    }
    const TensorView* const weight = it->second;
    given.erase(it);
    if (weight->type != tensor.type) {
      differences.Add(absl::StrCat(Quote(tensor.name), " is given as ",
                                   ToString(weight->type), ", and is ",
                                   ToString(tensor.type), " here"));
      continue;
    }
    copies.emplace_back(weight, tensor.data);
  }
  for (const auto& [name, weight] : given) {
    differences.Add(absl::StrCat(Quote(name), " ", ToString(weight->type),
                                 " is given and unknown here"));
  }
  if (!differences.empty()) return Differs(differences);
  for (const auto& [weight, data] : copies) {
    const int64_t bytes = weight->type.bytes();
    if (bytes > 0) std::memcpy(data, weight->data, bytes);
  }
  return absl::OkStatus();
}

absl::Status SaveCheckpoint(const std::string& path,
                            absl::Span<const PersistentTensor> tensors,
                            const TrainingPosition& position) {
  return WriteSafetensors(path, ViewsOf(tensors, IsSaved),
                          {{kFormatKey, kCheckpointFormat},
                           {kStepKey, absl::StrCat(position.step)},
                           {kMicroStepKey, absl::StrCat(position.micro_step)},
                           {kSeedKey, absl::StrCat(position.seed)},
                           {kParametersKey, position.fingerprints.parameters},
                           {kMathKey, position.fingerprints.math}});
}

absl::StatusOr<TrainingPosition> LoadCheckpoint(
    const std::string& path, absl::Span<const PersistentTensor> tensors,
    const TrainingPosition& here, bool allow_different_math) {
  ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  ASSIGN_OR_RETURN(const TrainingPosition there, ReadPosition(file));
  ErrorList differences(path);
  const std::vector<Transfer> transfers =
      Match(file, tensors, IsSaved, /*weights_only=*/false, differences);
  const auto compare = [&differences](absl::string_view what,
                                      absl::string_view in_file,
                                      absl::string_view here) {
    if (in_file == here) return;
    differences.Add(absl::StrCat(what, Quote(in_file), " in the file, ",
                                 Quote(here), " here"));
  };
  compare("names and types of parameters and states have the fingerprint ",
          there.fingerprints.parameters, here.fingerprints.parameters);
  if (!allow_different_math) {
    compare(
        "nodes, attributes and the binding of symbols have the fingerprint ",
        there.fingerprints.math, here.fingerprints.math);
    compare("the seed is ", absl::StrCat(there.seed), absl::StrCat(here.seed));
  }
  if (!differences.empty()) return Differs(differences);
  RETURN_IF_ERROR(ReadAll(file, transfers));
  return there;
}

}  // namespace reprise
