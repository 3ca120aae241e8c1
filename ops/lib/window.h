// Windows that slide over the spatial axes of convolutions and poolings:
// ONNX's kernel_shape, strides, dilations, pads, auto_pad and ceil_mode.

#ifndef OPS_LIB_WINDOW_H_
#define OPS_LIB_WINDOW_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/op.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace reprise {

// One entry for each spatial axis.
struct Window {
  Dims kernel;
  Dims strides;
  Dims dilations;  // 1: dense
  Dims pads_begin;
  Dims pads_end;
  Dims out;  // number of positions

  // Elements that the window spans along an axis.
  int64_t Span(size_t axis) const {
    return (kernel[axis] - 1) * dilations[axis] + 1;
  }

  // oneDNN's way to count dilations: 0 is dense.
  Dims OneDnnDilations() const;

  // What the last windows need behind an axis of the given size: `pads_end`,
  // or more where ceil_mode lets a window reach beyond the padding.
  Dims ReachedEnd(const Dims& input) const;
};

// The attributes auto_pad, dilations, kernel_shape, pads and strides.
std::vector<AttrSpec> WindowAttrs();

// Returns the window over axes of the given sizes.
//
// A node with a `ceil_mode` other than 0 has a last position for windows that
// begin inside the input or the padding before it and end beyond the padding.
//
//   kernel: its sizes; `kernel_shape`, if given, must agree.
//   errors: InvalidArgument starting with `op`, also where the window does not
//           fit into the padded input.
absl::StatusOr<Window> WindowOf(absl::string_view op, const Attrs& attrs,
                                const Dims& input, const Dims& kernel);

}  // namespace reprise

#endif  // OPS_LIB_WINDOW_H_
