// Random cases of Resize.

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/ops/op_cases.h"

namespace reprise {
namespace {

// One axis, its scale and size worked out.
struct Axis {
  double scale = 1;
  int64_t from = 1;
  int64_t to = 1;
  double start = 0;
  double end = 1;
  bool resized = false;
};

std::vector<Axis> AxesOf(const Dims& x, const Attrs& attrs) {
  const int rank = static_cast<int>(x.size());
  std::vector<Axis> axes(rank);
  std::vector<int> named;
  for (int i = 0; i < rank; ++i) {
    axes[i].from = axes[i].to = x[i];
    if (!attrs.Has("axes")) named.push_back(i);
  }
  if (attrs.Has("axes")) {
    for (const int64_t axis : attrs.IntList("axes")) {
      named.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
    }
  }
  double least = 1e9;
  double most = 0;
  for (size_t k = 0; k < named.size(); ++k) {
    Axis& axis = axes[named[k]];
    axis.resized = true;
    if (attrs.Has("scales")) {
      axis.scale = attrs.FloatList("scales")[k];
      axis.to = static_cast<int64_t>(
          std::floor(axis.scale * static_cast<double>(axis.from)));
    } else {
      axis.to = attrs.IntList("sizes")[k];
      axis.scale =
          static_cast<double>(axis.to) / static_cast<double>(axis.from);
    }
    least = std::min(least, axis.scale);
    most = std::max(most, axis.scale);
    if (attrs.Has("roi")) {
      axis.start = attrs.FloatList("roi")[k];
      axis.end = attrs.FloatList("roi")[k + named.size()];
    }
  }
  const std::string& policy = attrs.String("keep_aspect_ratio_policy");
  if (attrs.Has("sizes") && policy != "stretch") {
    for (const int i : named) {
      axes[i].scale = policy == "not_larger" ? least : most;
      axes[i].to = static_cast<int64_t>(
          std::floor(axes[i].scale * static_cast<double>(axes[i].from) + 0.5));
    }
  }
  return axes;
}

// Where position i lies among the inputs, as the table of ONNX has it.
double Origin(const Axis& axis, int64_t i, const std::string& mode) {
  const double x = static_cast<double>(i);
  const double from = static_cast<double>(axis.from);
  const double to = axis.scale * from;
  if (mode == "asymmetric") return x / axis.scale;
  if (mode == "align_corners") return to == 1 ? 0 : x * (from - 1) / (to - 1);
  if (mode == "tf_crop_and_resize") {
    const double size = (axis.end - axis.start) * (from - 1);
    return axis.start * (from - 1) + (to == 1 ? size / 2 : x * size / (to - 1));
  }
  if (mode == "pytorch_half_pixel" && to == 1) return -0.5;
  const double half = (x + 0.5) / axis.scale - 0.5;
  if (mode == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(axis.to) / to;
    return from / 2 * (1 - adjustment) + half;
  }
  return half;
}

// The weight of every input, however far, for an output at `x`.
std::vector<double> Weights(const Axis& axis, double x, const Attrs& attrs) {
  std::vector<double> weights(axis.from, 0.0);
  const auto clamped = [&](int64_t at) -> double& {
    return weights[std::clamp<int64_t>(at, 0, axis.from - 1)];
  };
  const std::string& mode = attrs.String("mode");
  const double floor = std::floor(x);
  if (mode == "nearest") {
    const std::string& nearest = attrs.String("nearest_mode");
    double at = std::floor(x + 0.5);  // halves go up
    if (nearest == "floor") at = floor;
    if (nearest == "ceil") at = std::ceil(x);
    if (nearest == "round_prefer_floor" && x - floor == 0.5) at = floor;
    clamped(static_cast<int64_t>(at)) = 1;
    return weights;
  }
  const double shrink =
      attrs.Int("antialias") != 0 ? std::min(1.0, axis.scale) : 1.0;
  const double a = attrs.Float("cubic_coeff_a");
  const auto kernel = [&](double d) {
    d = std::abs(d) * shrink;
    if (mode == "linear") return std::max(0.0, 1 - d);
    if (d < 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
    if (d < 2) return a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a;
    return 0.0;
  };
  const int64_t reach = static_cast<int64_t>(3 / shrink) + 2;
  double sum = 0;
  for (int64_t at = static_cast<int64_t>(floor) - reach;
       at <= static_cast<int64_t>(floor) + reach; ++at) {
    const bool inside = at >= 0 && at < axis.from;
    if (!inside && attrs.Int("exclude_outside") != 0) continue;
    const double weight = kernel(x - static_cast<double>(at));
    clamped(at) += weight;
    sum += weight;
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

// All axes at once: no order of axes, no sparse rows.
HostTensors Defined(const HostTensors& in, const Attrs& attrs) {
  const Dims& x = in[0].type.dims;
  const std::vector<Axis> axes = AxesOf(x, attrs);
  const std::string& where = attrs.String("coordinate_transformation_mode");
  Dims dims;
  for (const Axis& axis : axes) dims.push_back(axis.to);
  return {FromIndex(F32(dims), [&](const Dims& at) -> double {
    std::vector<std::vector<double>> weights;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (!axes[i].resized) {
        weights.emplace_back(axes[i].from, 0.0);
        weights.back()[at[i]] = 1;
        continue;
      }
      const double origin = Origin(axes[i], at[i], where);
      if (where == "tf_crop_and_resize" &&
          (origin < 0 || origin > static_cast<double>(axes[i].from - 1))) {
        return attrs.Float("extrapolation_value");
      }
      weights.push_back(Weights(axes[i], origin, attrs));
    }
    double sum = 0;
    ForEachIndex(x, [&](const Dims& from) {
      double weight = 1;
      for (size_t i = 0; i < from.size(); ++i) weight *= weights[i][from[i]];
      if (weight != 0) sum += weight * At(in[0], from);
    });
    return sum;
  })};
}

}  // namespace

OpCase ResizeOf(Dims x, Attrs attrs) {
  OpCase c;
  c.op = "Resize";
  c.in = {F32(std::move(x))};
  c.attrs = std::move(attrs);
  c.tolerance = 2e-5;
  c.gradient_tolerance = 3e-4;
  c.definition = Defined;
  return c;
}

OpCase ResizeCase(CaseRandom& random) {
  const int rank = static_cast<int>(random.Int(1, 4));
  Dims x;
  for (int i = 0; i < rank; ++i) x.push_back(random.Int(1, rank > 2 ? 4 : 7));
  Ints axes;
  for (int i = 0; i < rank; ++i) {
    if (rank < 3 || i >= 2 || random.Int(0, 3) == 0) {
      axes.push_back(random.Bool() ? i : i - rank);
    }
  }
  std::reverse(axes.begin(), axes.end());
  Attrs attrs{{"axes", axes}};
  // Quarters: positions and halves between them are exact in float.
  Floats scales;
  Ints sizes;
  Floats roi(2 * axes.size());
  for (size_t k = 0; k < axes.size(); ++k) {
    const int64_t from = x[axes[k] < 0 ? axes[k] + rank : axes[k]];
    scales.push_back(
        random.Pick<float>({0.5f, 0.75f, 1.0f, 1.25f, 2.0f, 3.5f}));
    if (scales.back() * static_cast<float>(from) < 1) scales.back() = 1;
    sizes.push_back(random.Int(1, 9));
    roi[k] = random.Pick<float>({0.0f, 0.25f, -0.125f});
    roi[k + axes.size()] = random.Pick<float>({1.0f, 0.5f, 1.25f});
  }
  if (random.Bool()) {
    attrs.Set("scales", scales);
  } else {
    attrs.Set("sizes", sizes);
    if (random.Int(0, 2) == 0) {
      attrs.Set("keep_aspect_ratio_policy",
                random.Pick<std::string>({"not_larger", "not_smaller"}));
    }
  }
  const std::string where = random.Pick<std::string>(
      {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
       "align_corners", "asymmetric", "tf_crop_and_resize"});
  attrs.Set("coordinate_transformation_mode", where);
  if (where == "tf_crop_and_resize") {
    attrs.Set("roi", roi);
    attrs.Set("extrapolation_value", 3.0f);
  }
  const std::string mode =
      random.Pick<std::string>({"nearest", "linear", "cubic"});
  attrs.Set("mode", mode);
  if (mode == "nearest") {
    attrs.Set("nearest_mode",
              random.Pick<std::string>({"round_prefer_floor", "floor", "ceil",
                                        "round_prefer_ceil"}));
  } else {
    attrs.Set("antialias", random.Int(0, 1));
    attrs.Set("exclude_outside", random.Int(0, 1));
    if (random.Bool()) attrs.Set("cubic_coeff_a", -0.5f);
  }
  OpCase c = ResizeOf(x, attrs);
  // A position within rounding of where another element is the nearest, or of
  // the end of the input, has no answer that two computations agree on.
  Attrs complete = attrs;
  if (!complete.Has("keep_aspect_ratio_policy")) {
    complete.Set("keep_aspect_ratio_policy", std::string("stretch"));
  }
  for (const Axis& axis : AxesOf(x, complete)) {
    if (axis.to == 0) return ResizeCase(random);
    for (int64_t i = 0; axis.resized && i < axis.to; ++i) {
      const double twice = 2 * Origin(axis, i, where);
      const double off = std::abs(twice - std::round(twice));
      if (off > 0 && off < 1e-6) return ResizeCase(random);
    }
  }
  return c;
}

}  // namespace reprise
