#include "tools/conformance/compare.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status_macros.h"
#include "tools/data/pass_arrays.h"

namespace reprise {

std::string Difference(const Array& got, const Array& expected, double rtol,
                       double atol) {
  if (got.type != expected.type) {
    return absl::StrCat("is ", ToString(got.type), ", not ",
                        ToString(expected.type));
  }
  const bool exact = got.type.dtype != DType::kF32;
  int64_t wrong = 0;
  double largest = 0;
  int64_t at = 0;
  const int64_t n = got.type.num_elements();
  for (int64_t i = 0; i < n; ++i) {
    const double a = ElementAsDouble(got, i);
    const double b = ElementAsDouble(expected, i);
    // Also of infinities.
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double error = std::fabs(a - b);
    const bool finite = std::isfinite(a) && std::isfinite(b);
    if (!exact && finite && error <= atol + rtol * std::fabs(b)) continue;
    ++wrong;
    if (error > largest || std::isnan(error)) {
      largest = error;
      at = i;
      if (std::isnan(error)) break;
    }
  }
  if (wrong == 0) return "";
  return absl::StrFormat(
      "%d of %d elements differ; largest error %.3g, %.9g instead of %.9g at "
      "%d",
      wrong, n, largest, ElementAsDouble(got, at),
      ElementAsDouble(expected, at), at);
}

std::string BrokenDropoutLaw(const Array& x, float ratio,
                             const std::vector<const Array*>& outputs) {
  const Array& y = *outputs[0];
  if (y.type != x.type) {
    return absl::StrCat("y is ", ToString(y.type), ", not ", ToString(x.type));
  }
  const int64_t n = y.type.num_elements();
  int64_t dropped = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double here = ElementAsDouble(y, i);
    const double kept = ElementAsDouble(x, i) / (1.0 - ratio);
    const bool is_kept = std::fabs(here - kept) <= 1e-5 * std::fabs(kept);
    if (!is_kept && here != 0) {
      return absl::StrFormat("y is %.9g at %d, neither 0 nor %.9g", here, i,
                             kept);
    }
    dropped += here == 0;
    if (outputs.size() > 1 && kept != 0 &&
        (ElementAsInt(*outputs[1], i) != 0) != (here != 0)) {
      return absl::StrCat("the mask is not that of y at ", i);
    }
  }
  // Six standard deviations of a binomial count.
  const double count = static_cast<double>(n);
  const double spread = 6 * std::sqrt(count * ratio * (1.0 - ratio));
  if (std::fabs(static_cast<double>(dropped) - count * ratio) > spread) {
    return absl::StrFormat("%d of %d elements are dropped at ratio %g", dropped,
                           n, ratio);
  }
  return "";
}

absl::Status SetWeights(const ImportedModel& imported, Trainer& trainer) {
  std::vector<TensorView> views;
  for (const NamedArray& weight : imported.weights) {
    views.push_back({weight.name, weight.array.type, weight.array.data.data()});
  }
  return trainer.SetWeights(views, "the model's weights");
}

absl::Status WriteInputs(const ImportedModel& imported,
                         const std::vector<Array>& inputs, Pass& pass) {
  for (size_t i = 0; i < imported.inputs.size(); ++i) {
    const std::string& name = imported.inputs[i];
    if (name.empty()) continue;
    if (i >= inputs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no content for input '", name, "'"));
    }
    RETURN_IF_ERROR(WriteInput(name, inputs[i], pass));
  }
  return absl::OkStatus();
}

}  // namespace reprise
