#include "ops/lib/window.h"

#include <algorithm>
#include <limits>
#include <string>

#include "core/status_macros.h"
#include "ops/lib/infer.h"

namespace reprise {
namespace {

// Sizes beyond this would overflow sums; no tensor has them.
constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();

// Returns the list attribute, or `otherwise` for each axis if it is not there.
absl::StatusOr<Dims> ListOf(absl::string_view op, const Attrs& attrs,
                            absl::string_view name, size_t length,
                            int64_t least) {
  if (!attrs.Has(name)) return Dims(length, least);
  const Ints& list = attrs.IntList(name);
  if (list.size() != length) {
    return Invalid(op, ": ", name, " must have ", length, " entries, got ",
                   DimsToString(list));
  }
  for (const int64_t entry : list) {
    if (entry < least) {
      return Invalid(op, ": ", name, " must be at least ", least, ", got ",
                     DimsToString(list));
    }
    if (entry > kLargest) {
      return Invalid(op, ": ", name, " must be at most ", kLargest, ", got ",
                     DimsToString(list));
    }
  }
  return list;
}

}  // namespace

Dims Window::OneDnnDilations() const {
  Dims dilations_from_0 = dilations;
  for (int64_t& dilation : dilations_from_0) --dilation;
  return dilations_from_0;
}

Dims Window::ReachedEnd(const Dims& input) const {
  Dims reached = pads_end;
  for (size_t i = 0; i < reached.size(); ++i) {
    reached[i] = std::max(reached[i], (out[i] - 1) * strides[i] + Span(i) -
                                          input[i] - pads_begin[i]);
  }
  return reached;
}

std::vector<AttrSpec> WindowAttrs() {
  return {AttrSpec("auto_pad", std::string("NOTSET")),
          AttrSpec("dilations", AttrKind::kInts),
          AttrSpec("kernel_shape", AttrKind::kInts),
          AttrSpec("pads", AttrKind::kInts),
          AttrSpec("strides", AttrKind::kInts)};
}

absl::StatusOr<Window> WindowOf(absl::string_view op, const Attrs& attrs,
                                const Dims& input, const Dims& kernel) {
  const size_t rank = input.size();
  Window window;
  window.kernel = kernel;
  if (attrs.Has("kernel_shape") && attrs.IntList("kernel_shape") != kernel) {
    return Invalid(op, ": kernel_shape must be ", DimsToString(kernel),
                   ", got ", DimsToString(attrs.IntList("kernel_shape")));
  }
  for (const int64_t size : kernel) {
    if (size < 1) {
      return Invalid(op, ": the window must have at least one element, got ",
                     DimsToString(kernel));
    }
    if (size > kLargest) {
      return Invalid(op, ": the window must have at most ", kLargest,
                     " elements along an axis, got ", DimsToString(kernel));
    }
  }
  ASSIGN_OR_RETURN(window.strides, ListOf(op, attrs, "strides", rank, 1));
  ASSIGN_OR_RETURN(window.dilations, ListOf(op, attrs, "dilations", rank, 1));
  ASSIGN_OR_RETURN(const Dims pads, ListOf(op, attrs, "pads", 2 * rank, 0));
  window.pads_begin.assign(pads.begin(), pads.begin() + rank);
  window.pads_end.assign(pads.begin() + rank, pads.end());

  const std::string& auto_pad = attrs.String("auto_pad");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!same && auto_pad != "NOTSET" && auto_pad != "VALID") {
    return Invalid(op, ": auto_pad must be NOTSET, SAME_UPPER, SAME_LOWER or ",
                   "VALID, got '", auto_pad, "'");
  }
  if (auto_pad != "NOTSET" && attrs.Has("pads")) {
    return Invalid(op, ": takes pads or auto_pad, got both");
  }
  const bool ceil = auto_pad == "NOTSET" && attrs.Has("ceil_mode") &&
                    attrs.Int("ceil_mode") != 0;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t stride = window.strides[i];
    const int64_t span = window.Span(i);
    if (same) {
      const int64_t out = (input[i] + stride - 1) / stride;
      const int64_t padding =
          std::max<int64_t>(0, (out - 1) * stride + span - input[i]);
      // The odd element goes to the end for SAME_UPPER.
      window.pads_begin[i] =
          auto_pad == "SAME_UPPER" ? padding / 2 : (padding + 1) / 2;
      window.pads_end[i] = padding - window.pads_begin[i];
    }
    const int64_t padded = input[i] + window.pads_begin[i] + window.pads_end[i];
    const int64_t beyond = ceil ? stride - 1 : 0;
    if (padded + beyond < span || (ceil && input[i] < 1)) {
      return Invalid(op, ": a window of ", span, " does not fit into ", padded,
                     " elements (padding included) of spatial axis ", i);
    }
    int64_t out = (padded + beyond - span) / stride + 1;
    // A window that would begin in the padding at the end is none.
    if (ceil && (out - 1) * stride >= input[i] + window.pads_begin[i]) --out;
    window.out.push_back(out);
  }
  return window;
}

}  // namespace reprise
