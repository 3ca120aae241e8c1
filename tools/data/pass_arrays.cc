#include "tools/data/pass_arrays.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

template <typename T>
absl::StatusOr<absl::Span<char>> InputBytes(const std::string& name,
                                            Pass& pass) {
  ASSIGN_OR_RETURN(const absl::Span<T> elements, pass.Input<T>(name));
  return absl::Span<char>(reinterpret_cast<char*>(elements.data()),
                          elements.size() * sizeof(T));
}

template <typename T>
absl::StatusOr<std::string> OutputBytes(const std::string& name,
                                        const Pass& pass) {
  ASSIGN_OR_RETURN(const absl::Span<const T> elements, pass.Output<T>(name));
  return std::string(reinterpret_cast<const char*>(elements.data()),
                     elements.size() * sizeof(T));
}

absl::StatusOr<std::string> ReadOutput(const std::string& name, DType dtype,
                                       const Pass& pass) {
  switch (dtype) {
    case DType::kF32:
      return OutputBytes<float>(name, pass);
    case DType::kI32:
      return OutputBytes<int32_t>(name, pass);
    case DType::kI64:
      return OutputBytes<int64_t>(name, pass);
    case DType::kBool:
      return OutputBytes<bool>(name, pass);
    default:
      return OutputBytes<uint8_t>(name, pass);
  }
}

}  // namespace

absl::Status WriteInput(const std::string& name, const Array& array,
                        Pass& pass) {
  absl::StatusOr<absl::Span<char>> bytes;
  switch (array.type.dtype) {
    case DType::kF32:
      bytes = InputBytes<float>(name, pass);
      break;
    case DType::kI32:
      bytes = InputBytes<int32_t>(name, pass);
      break;
    case DType::kI64:
      bytes = InputBytes<int64_t>(name, pass);
      break;
    case DType::kBool:
      bytes = InputBytes<bool>(name, pass);
      break;
    default:
      bytes = InputBytes<uint8_t>(name, pass);
      break;
  }
  RETURN_IF_ERROR(bytes.status());
  if (bytes->size() != array.data.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", name, "' has ", bytes->size(), " bytes, got ",
                     array.data.size()));
  }
  std::copy(array.data.begin(), array.data.end(), bytes->begin());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PassResult>> ReadResults(const Pass& pass) {
  const StepGraph& step = pass.planned().step;
  std::vector<PassResult> results;
  for (const StepResult& entry : step.results) {
    PassResult result;
    result.name = entry.name;
    result.gradient = entry.kind == StepResult::Kind::kGradient;
    if (entry.kind == StepResult::Kind::kTotalLoss) continue;
    const bool known = std::any_of(
        results.begin(), results.end(), [&result](const PassResult& other) {
          return other.name == result.name && other.gradient == result.gradient;
        });
    if (known) continue;
    result.array.type = step.graph.values[entry.value].type;
    if (result.gradient) {
      ASSIGN_OR_RETURN(const absl::Span<const float> gradient,
                       pass.Gradient(entry.name));
      result.array.data.assign(reinterpret_cast<const char*>(gradient.data()),
                               gradient.size() * sizeof(float));
    } else {
      ASSIGN_OR_RETURN(result.array.data,
                       ReadOutput(entry.name, result.array.type.dtype, pass));
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace reprise
