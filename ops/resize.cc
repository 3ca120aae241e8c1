// Resize: samples x on another grid, axis by axis; to `sizes`, or to `scales`
// times its size, of all axes or of `axes`.
//
//   y = M x along an axis, one sparse row for each position;  dx = M^T dy
//
// In the step graph it is a ResizeAxis for each axis that changes, those that
// shrink first. Whatever the mode, the matrix is made once, with the kernel.
// The gradient reads no forward value. Tested by tests/ops/resize_test.cc.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/autodiff.h"
#include "core/expand.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/layout.h"
#include "ops/lib/parallel.h"
#include "ops/lib/resample.h"

namespace reprise {
namespace {

// One axis that is named, by whatever says its new size.
struct Target {
  int64_t axis = 0;
  Resampling resampling;
  // The scale, exactly: `scale`, or numerator / denominator.
  float scale = 0;
  int64_t numerator = 0;
  int64_t denominator = 0;
};

// The scales of all axes are those of the one that changes least (most).
void KeepAspectRatio(bool smallest, std::vector<Target>& targets) {
  const auto by_scale = [](const Target& a, const Target& b) {
    return a.resampling.scale < b.resampling.scale;
  };
  const Target chosen =
      smallest ? *std::min_element(targets.begin(), targets.end(), by_scale)
               : *std::max_element(targets.begin(), targets.end(), by_scale);
  for (Target& target : targets) {
    target.numerator = chosen.numerator;
    target.denominator = chosen.denominator;
    Resampling& r = target.resampling;
    r.scale = chosen.resampling.scale;
    r.to = static_cast<int64_t>(r.scale * static_cast<double>(r.from) + 0.5);
  }
}

absl::StatusOr<std::vector<Target>> TargetsOf(const Attrs& attrs,
                                              const Dims& x) {
  const int rank = static_cast<int>(x.size());
  Ints axes;
  for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  if (attrs.Has("axes")) {
    axes = attrs.IntList("axes");
    RETURN_IF_ERROR(NormalizeAxes("Resize", axes, rank).status());
  }
  if (attrs.Has("scales") == attrs.Has("sizes")) {
    return Invalid("Resize: exactly one of scales and sizes must be given");
  }
  const bool scaled = attrs.Has("scales");
  const size_t count =
      scaled ? attrs.FloatList("scales").size() : attrs.IntList("sizes").size();
  if (count != axes.size()) {
    return Invalid("Resize: ", scaled ? "scales" : "sizes", " must have ",
                   axes.size(), " entries, got ", count);
  }
  const bool has_roi = attrs.Has("roi") && !attrs.FloatList("roi").empty();
  const bool crops =
      attrs.String("coordinate_transformation_mode") == "tf_crop_and_resize";
  if (crops && (!has_roi || attrs.FloatList("roi").size() != 2 * axes.size())) {
    return Invalid("Resize: tf_crop_and_resize needs a roi of ",
                   2 * axes.size(), " entries");
  }
  std::vector<Target> targets;
  for (size_t i = 0; i < axes.size(); ++i) {
    Target target;
    target.axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    Resampling& r = target.resampling;
    r.from = x[target.axis];
    if (scaled) {
      target.scale = attrs.FloatList("scales")[i];
      r.scale = target.scale;
      const double to = r.scale * static_cast<double>(r.from);
      if (!(r.scale > 0) || !(to <= static_cast<double>(kMaxTensorBytes))) {
        return Invalid("Resize: scales must be above 0 and give at most ",
                       kMaxTensorBytes, " elements, got ", target.scale);
      }
      r.to = static_cast<int64_t>(to);
    } else {
      r.to = attrs.IntList("sizes")[i];
      if (r.to > kMaxTensorBytes) {
        return Invalid("Resize: sizes must be at most ", kMaxTensorBytes,
                       ", got ", r.to);
      }
      if (r.to < 0 || (r.from == 0 && r.to > 0)) {
        return Invalid("Resize: sizes must be at least 0, and 0 along axes ",
                       "without elements, got ", r.to, " for ", r.from);
      }
      target.numerator = r.to;
      target.denominator = std::max<int64_t>(r.from, 1);
      r.scale =
          static_cast<double>(r.to) / static_cast<double>(target.denominator);
    }
    if (crops) {
      r.roi_start = attrs.FloatList("roi")[i];
      r.roi_end = attrs.FloatList("roi")[i + axes.size()];
    }
    targets.push_back(target);
  }
  const std::string& policy = attrs.String("keep_aspect_ratio_policy");
  if (policy != "stretch" && policy != "not_larger" &&
      policy != "not_smaller") {
    return Invalid("Resize: keep_aspect_ratio_policy must be stretch, ",
                   "not_larger or not_smaller, got '", policy, "'");
  }
  if (policy != "stretch" && !scaled && !targets.empty()) {
    KeepAspectRatio(policy == "not_larger", targets);
  }
  return targets;
}

InferredTypes Infer(const OpArgs& args) {
  const TensorType& x = args.in[0];
  RETURN_IF_ERROR(RequireF32("Resize", "x", x));
  RETURN_IF_ERROR(CheckResampleAttrs(args.attrs));
  ASSIGN_OR_RETURN(const std::vector<Target> targets,
                   TargetsOf(args.attrs, x.dims));
  Dims dims = x.dims;
  for (const Target& target : targets) dims[target.axis] = target.resampling.to;
  return OneType("Resize", DType::kF32, std::move(dims));
}

absl::Status ExpandToAxes(ExpandBuilder& b) {
  const Attrs& attrs = b.attrs();
  ASSIGN_OR_RETURN(std::vector<Target> targets,
                   TargetsOf(attrs, b.type(b.in(0)).dims));
  std::stable_sort(targets.begin(), targets.end(),
                   [](const Target& a, const Target& c) {
                     return a.resampling.scale < c.resampling.scale;
                   });
  ValueId y = b.in(0);
  for (const Target& target : targets) {
    const Resampling& r = target.resampling;
    const bool whole = r.roi_start == 0 && r.roi_end == 1;
    if (r.from == r.to && r.scale == 1 && whole) continue;
    Attrs axis{{"axis", target.axis},
               {"size", r.to},
               {"numerator", target.numerator},
               {"denominator", target.denominator},
               {"scale", target.scale},
               {"roi_start", static_cast<float>(r.roi_start)},
               {"roi_end", static_cast<float>(r.roi_end)}};
    for (const AttrSpec& spec : ResampleAttrs()) {
      axis.Set(spec.name, attrs.values().at(spec.name));
    }
    y = b.Add("ResizeAxis", {y}, std::move(axis), 1)[0];
  }
  b.SetOut(0, y == b.in(0) ? b.Add("Identity", {y}, {}, 1)[0] : y);
  return absl::OkStatus();
}

// ResizeAxis, and its gradient with the attribute `dims`.

std::vector<AttrSpec> AxisAttrs() {
  std::vector<AttrSpec> attrs = ResampleAttrs();
  for (const char* name : {"axis", "size", "numerator", "denominator"}) {
    attrs.emplace_back(name, AttrKind::kInt, AttrSpec::kRequired);
  }
  for (const char* name : {"scale", "roi_start", "roi_end"}) {
    attrs.emplace_back(name, AttrKind::kFloat, AttrSpec::kRequired);
  }
  return attrs;
}

InferredTypes AxisInfer(const OpArgs& args) {
  RETURN_IF_ERROR(RequireF32("ResizeAxis", "x", args.in[0]));
  Dims dims = args.in[0].dims;
  dims[args.attrs.Int("axis")] = args.attrs.Int("size");
  return OneType("ResizeAxis", DType::kF32, std::move(dims));
}

std::vector<ValueId> AxisGrad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  Attrs attrs = b.attrs();
  attrs.Set("dims", Ints(b.type(b.in(0)).dims));
  return {b.Add("ResizeAxisGrad", {b.out_grad(0)}, std::move(attrs))};
}

InferredTypes AxisGradInfer(const OpArgs& args) {
  return OneType("ResizeAxisGrad", DType::kF32, args.attrs.IntList("dims"));
}

// The matrix over the axis of `from` elements.
SparseRows RowsOf(const Attrs& attrs, int64_t from) {
  if (from == 0) return SparseRows();
  Resampling r;
  r.from = from;
  r.to = attrs.Int("size");
  r.scale = attrs.Int("denominator") == 0
                ? static_cast<double>(attrs.Float("scale"))
                : static_cast<double>(attrs.Int("numerator")) /
                      static_cast<double>(attrs.Int("denominator"));
  r.roi_start = attrs.Float("roi_start");
  r.roi_end = attrs.Float("roi_end");
  return ResampleRows(r, attrs);
}

absl::StatusOr<Description> AxisDescribe(const Signature& offered,
                                         const OpEnv&) {
  // Two to four taps, more where many elements become few.
  Description d = DescribeRowMajor(
      offered, "loop:resizeaxis",
      4 * (offered.in[0].num_elements() + offered.out[0].num_elements()));
  if (IsPermutation(offered.in_layouts[0])) {
    d.in_layouts[0] = d.out_layouts[0] = offered.in_layouts[0];
  }
  return d;
}

// y = rows x along the axis: x is [outer, columns, inner], y [outer, rows,
// inner].
Kernel RowsKernel(SparseRows rows, int64_t outer, int64_t inner, int threads) {
  const int64_t per_row =
      inner * std::max<int64_t>(1, static_cast<int64_t>(rows.entries.size()) /
                                       std::max<int64_t>(1, rows.rows()));
  return Kernel{[rows = std::move(rows), outer, inner, per_row,
                 threads](const Buffers& b) {
    const float* x = static_cast<const float*>(b.in[0]);
    float* y = static_cast<float*>(b.out[0]);
    const int64_t num_rows = rows.rows();
    ParallelFor(
        threads, outer * num_rows, GrainOf(per_row),
        [&](int64_t begin, int64_t end) {
          for (int64_t item = begin; item < end; ++item) {
            const int64_t row = item % num_rows;
            const float* from = x + item / num_rows * rows.columns * inner;
            float* to = y + item * inner;
            std::fill_n(to, inner, rows.constants[row]);
            for (int64_t k = rows.begins[row]; k < rows.begins[row + 1]; ++k) {
              const float weight = rows.entries[k].weight;
              const float* element = from + rows.entries[k].column * inner;
              for (int64_t j = 0; j < inner; ++j) to[j] += weight * element[j];
            }
          }
        });
  }};
}

absl::StatusOr<Kernel> BuildRows(const Signature& s, const Dims& x,
                                 bool transposed, int threads) {
  if (s.out[0].num_elements() == 0) return Kernel{[](const Buffers&) {}};
  const int64_t axis = s.attrs.Int("axis");
  const std::vector<int> order =
      AxisOrder(s.in_layouts[0], static_cast<int>(x.size()));
  const Dims dims = InOrder(x, order);
  const size_t at = std::find(order.begin(), order.end(), axis) - order.begin();
  const absl::Span<const int64_t> span = dims;
  SparseRows rows = RowsOf(s.attrs, x[axis]);
  if (transposed) rows = rows.Transposed();
  return RowsKernel(std::move(rows), Product(span.first(at)),
                    Product(span.subspan(at + 1)), threads);
}

absl::StatusOr<Kernel> AxisBuild(const Signature& s, const OpEnv& env) {
  return BuildRows(s, s.in[0].dims, /*transposed=*/false, env.threads);
}

absl::StatusOr<Kernel> AxisGradBuild(const Signature& s, const OpEnv& env) {
  return BuildRows(s, s.out[0].dims, /*transposed=*/true, env.threads);
}

}  // namespace

std::vector<OpDef> ResizeOps() {
  OpDef op;
  op.name = "Resize";
  op.attrs = ResampleAttrs();
  op.attrs.emplace_back("axes", AttrKind::kInts);
  op.attrs.emplace_back("roi", AttrKind::kFloats);
  op.attrs.emplace_back("scales", AttrKind::kFloats);
  op.attrs.emplace_back("sizes", AttrKind::kInts);
  op.attrs.emplace_back("keep_aspect_ratio_policy", std::string("stretch"));
  op.infer = Infer;
  op.expand = ExpandToAxes;

  OpDef axis;
  axis.name = "ResizeAxis";
  axis.internal = true;
  axis.attrs = AxisAttrs();
  axis.infer = AxisInfer;
  axis.grad = AxisGrad;
  axis.describe = AxisDescribe;
  axis.build = AxisBuild;

  OpDef grad;
  grad.name = "ResizeAxisGrad";
  grad.internal = true;
  grad.attrs = AxisAttrs();
  grad.attrs.emplace_back("dims", AttrKind::kInts, AttrSpec::kRequired);
  grad.infer = AxisGradInfer;
  grad.describe = AxisDescribe;
  grad.build = AxisGradBuild;
  return {op, axis, grad};
}

}  // namespace reprise
