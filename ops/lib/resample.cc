#include "ops/lib/resample.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>

#include "core/status_macros.h"
#include "ops/lib/infer.h"

namespace reprise {
namespace {

// Taps of one output element, the first of which is for input `first`.
struct Taps {
  int64_t first = 0;
  std::vector<double> weights;
};

// The weight of a cubic at a distance.
double Cubic(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

double Linear(double distance) { return std::max(0.0, 1 - std::abs(distance)); }

// The element right of `x`, whose left neighbour is the largest one below x:
// ratio, the distance from there, is in (0, 1].
bool NearestIsRight(double ratio, const std::string& mode) {
  if (ratio == 1 || mode == "ceil") return true;
  if (mode == "floor") return false;
  return mode == "round_prefer_ceil" ? ratio >= 0.5 : ratio > 0.5;
}

Taps TapsAt(double x, double scale, const Attrs& attrs) {
  const std::string& mode = attrs.String("mode");
  const double left = std::ceil(x) - 1;
  const double ratio = x - left;
  Taps taps;
  taps.first = static_cast<int64_t>(left);
  if (mode == "nearest") {
    if (NearestIsRight(ratio, attrs.String("nearest_mode"))) ++taps.first;
    taps.weights = {1};
    return taps;
  }
  // Smaller images are blurred by a wider window, if asked for.
  const double shrink =
      attrs.Int("antialias") != 0 ? std::min(scale, 1.0) : 1.0;
  const bool cubic = mode == "cubic";
  const double radius = cubic ? 2 : 1;
  const int64_t start = static_cast<int64_t>(std::floor(-radius / shrink)) + 1;
  taps.first += start;
  for (int64_t i = start; i <= 1 - start; ++i) {
    const double distance = (static_cast<double>(i) - ratio) * shrink;
    taps.weights.push_back(cubic ? Cubic(distance, attrs.Float("cubic_coeff_a"))
                                 : Linear(distance));
  }
  return taps;
}

// Where output element i lies among the inputs.
double PositionOf(int64_t i, const Resampling& axis, const std::string& mode) {
  const double x = static_cast<double>(i);
  const double from = static_cast<double>(axis.from);
  const double to = axis.scale * from;  // may have a fraction
  if (mode == "align_corners") {
    return to == 1 ? 0.0 : x * (from - 1) / (to - 1);
  }
  if (mode == "asymmetric") return x / axis.scale;
  if (mode == "tf_crop_and_resize") {
    const double roi = axis.roi_end - axis.roi_start;
    const double inside =
        to == 1 ? roi * (from - 1) / 2 : x * roi * (from - 1) / (to - 1);
    return inside + axis.roi_start * (from - 1);
  }
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (mode == "pytorch_half_pixel" && to == 1) return -0.5;
  const double centred = (x + 0.5) / axis.scale - 0.5;
  if (mode != "half_pixel_symmetric") return centred;
  return from / 2 * (1 - static_cast<double>(axis.to) / to) + centred;
}

absl::Status CheckOneOf(const Attrs& attrs, const char* name,
                        std::initializer_list<const char*> allowed) {
  const std::string& value = attrs.String(name);
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) {
    return absl::OkStatus();
  }
  return Invalid("Resize: ", name, " must be one of ONNX's, got '", value, "'");
}

}  // namespace

SparseRows SparseRows::Transposed() const {
  SparseRows t;
  t.columns = rows();
  t.begins.assign(columns + 1, 0);
  t.constants.assign(columns, 0.0f);
  t.entries.resize(entries.size());
  for (const Entry& entry : entries) ++t.begins[entry.column + 1];
  for (int64_t i = 0; i < columns; ++i) t.begins[i + 1] += t.begins[i];
  std::vector<int64_t> next(t.begins.begin(), t.begins.end() - 1);
  for (int64_t row = 0; row < rows(); ++row) {
    for (int64_t k = begins[row]; k < begins[row + 1]; ++k) {
      t.entries[next[entries[k].column]++] = {row, entries[k].weight};
    }
  }
  return t;
}

std::vector<AttrSpec> ResampleAttrs() {
  return {AttrSpec("mode", std::string("nearest")),
          AttrSpec("coordinate_transformation_mode", std::string("half_pixel")),
          AttrSpec("nearest_mode", std::string("round_prefer_floor")),
          AttrSpec("antialias", int64_t{0}),
          AttrSpec("cubic_coeff_a", -0.75f),
          AttrSpec("exclude_outside", int64_t{0}),
          AttrSpec("extrapolation_value", 0.0f).Allowing(FloatRange::kAny)};
}

absl::Status CheckResampleAttrs(const Attrs& attrs) {
  RETURN_IF_ERROR(CheckOneOf(attrs, "mode", {"nearest", "linear", "cubic"}));
  RETURN_IF_ERROR(
      CheckOneOf(attrs, "coordinate_transformation_mode",
                 {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                  "align_corners", "asymmetric", "tf_half_pixel_for_nn",
                  "tf_crop_and_resize"}));
  return CheckOneOf(
      attrs, "nearest_mode",
      {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
}

SparseRows ResampleRows(const Resampling& axis, const Attrs& attrs) {
  const std::string& where = attrs.String("coordinate_transformation_mode");
  SparseRows rows;
  rows.columns = axis.from;
  const int64_t last = axis.from - 1;
  for (int64_t i = 0; i < axis.to; ++i) {
    const double x = PositionOf(i, axis, where);
    const bool outside = where == "tf_crop_and_resize" &&
                         !(x >= 0 && x <= static_cast<double>(last));
    rows.constants.push_back(outside ? attrs.Float("extrapolation_value")
                                     : 0.0f);
    if (!outside) {
      // Nothing beyond the outermost element can be nearer to it.
      const double limit = static_cast<double>(axis.from) + 1;
      Taps taps = TapsAt(std::clamp(x, -limit, 2 * limit), axis.scale, attrs);
      double sum = 0;
      for (size_t k = 0; k < taps.weights.size(); ++k) {
        const int64_t at = taps.first + static_cast<int64_t>(k);
        if (attrs.Int("exclude_outside") != 0 && (at < 0 || at > last)) {
          taps.weights[k] = 0;
        }
        sum += taps.weights[k];
      }
      // Elements beyond an end are the outermost one: their weights add up.
      const int64_t begin = static_cast<int64_t>(rows.entries.size());
      double weight = 0;
      for (size_t k = 0; k < taps.weights.size(); ++k) {
        const int64_t at = taps.first + static_cast<int64_t>(k);
        const int64_t column = std::clamp<int64_t>(at, 0, last);
        weight += taps.weights[k] / sum;
        const bool more = k + 1 < taps.weights.size() &&
                          std::clamp<int64_t>(at + 1, 0, last) == column;
        if (more) continue;
        if (weight != 0) {
          rows.entries.push_back({column, static_cast<float>(weight)});
        }
        weight = 0;
      }
      // A row has an entry, so that NaN and the shape of the loop stay.
      if (static_cast<int64_t>(rows.entries.size()) == begin) {
        rows.entries.push_back(
            {std::clamp<int64_t>(taps.first, 0, last), 0.0f});
      }
    }
    rows.begins.push_back(static_cast<int64_t>(rows.entries.size()));
  }
  return rows;
}

}  // namespace reprise
