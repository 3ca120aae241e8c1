#include "tests/conformance/goldens.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/file.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

// The largest file has 20 KB.
constexpr int64_t kMaxBytes = int64_t{64} << 20;

int64_t Int32At(absl::string_view content, size_t offset) {
  int32_t value;
  std::memcpy(&value, content.data() + offset, sizeof(value));
  return value;
}

absl::StatusOr<GoldenTensors> ParseTensors(absl::string_view content,
                                           size_t offset,
                                           absl::string_view source) {
  GoldenTensors tensors;
  while (offset < content.size()) {
    if (content.size() - offset < sizeof(int32_t)) {
      return absl::InvalidArgumentError(absl::StrCat(
          source, ": byte ", offset, ": a length has 4 bytes, got ",
          content.size() - offset));
    }
    const int64_t n = Int32At(content, offset);
    offset += sizeof(int32_t);
    const auto left = static_cast<int64_t>(content.size() - offset);
    if (n < 0 || n > left / static_cast<int64_t>(sizeof(float))) {
      return absl::InvalidArgumentError(absl::StrCat(
          source, ": byte ", offset - sizeof(int32_t), ": a tensor of ", n,
          " elements does not fit into the ", left, " bytes that follow"));
    }
    GoldenTensor tensor(n);
    if (n > 0) {
      std::memcpy(tensor.data(), content.data() + offset, n * sizeof(float));
    }
    offset += n * sizeof(float);
    tensors.push_back(std::move(tensor));
  }
  if (tensors.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": must have a tensor, got none"));
  }
  return tensors;
}

}  // namespace

absl::StatusOr<GoldenTensors> ParseLayerGolden(absl::string_view content,
                                               absl::string_view source) {
  return ParseTensors(content, 0, source);
}

absl::StatusOr<std::vector<GoldenTensors>> ParseModelGolden(
    absl::string_view content, absl::string_view source) {
  if (content.size() < sizeof(int32_t)) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": the number of iterations has 4 bytes, got ",
                     content.size()));
  }
  const int64_t iterations = Int32At(content, 0);
  ASSIGN_OR_RETURN(GoldenTensors tensors,
                   ParseTensors(content, sizeof(int32_t), source));
  const auto count = static_cast<int64_t>(tensors.size());
  if (iterations < 1 || count % iterations != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": ", count, " tensors must be those of 1 or ",
                     "more equal iterations, got ", iterations));
  }
  const int64_t each = count / iterations;
  std::vector<GoldenTensors> result(iterations);
  for (int64_t i = 0; i < count; ++i) {
    if (i >= each && tensors[i].size() != result[0][i % each].size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          source, ": tensor ", i % each, " must have ",
          result[0][i % each].size(), " elements in every iteration, got ",
          tensors[i].size(), " in iteration ", i / each));
    }
    result[i / each].push_back(std::move(tensors[i]));
  }
  return result;
}

absl::StatusOr<GoldenTensors> ReadLayerGolden(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string content, ReadFile(path, kMaxBytes));
  return ParseLayerGolden(content, path);
}

absl::StatusOr<std::vector<GoldenTensors>> ReadModelGolden(
    const std::string& path) {
  ASSIGN_OR_RETURN(const std::string content, ReadFile(path, kMaxBytes));
  return ParseModelGolden(content, path);
}

double Excess(const float* got, size_t size, const GoldenTensor& want,
              double rtol) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (size != want.size()) return kInfinity;
  double excess = 0;
  for (size_t i = 0; i < size; ++i) {
    const double g = got[i];
    const double w = want[i];
    if (g == w || (std::isnan(g) && std::isnan(w))) continue;
    const double difference = std::fabs(g - w) - rtol * std::fabs(w);
    excess = std::isnan(difference) ? kInfinity : std::max(excess, difference);
  }
  return excess;
}

}  // namespace reprise
