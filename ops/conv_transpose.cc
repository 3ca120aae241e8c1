// ConvTranspose: what the gradient of a convolution with respect to its input
// is. x [n, c, d1, ..], weights w [c, o / group, k1, ..], plus a bias [o]; one
// to three spatial axes.
//
//   y = ConvGradInput(x, w), + b;   size = stride (in - 1) + output_padding +
//                                          span - pads
//
// In the step graph it is that node, whose gradients are a Conv and a
// ConvGradWeight, followed by a Pad where y reaches beyond what any window
// covers, and by an Add for the bias. Tested by tests/ops/conv_test.cc.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/expand.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/infer.h"
#include "ops/lib/window.h"

namespace reprise {
namespace {

// Sizes beyond this would overflow sums; no tensor has them.
constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();

// y, and the convolution y -> x whose gradient it is.
struct Transposed {
  TensorType y;
  Dims strides;
  Dims dilations;
  // Of the convolution. Negative where y needs zeros that it does not reach.
  Dims pads_begin;
  Dims pads_end;
};

absl::StatusOr<Dims> ListOf(const Attrs& attrs, absl::string_view name,
                            size_t length, int64_t least) {
  if (!attrs.Has(name)) return Dims(length, least);
  const Ints& list = attrs.IntList(name);
  if (list.size() != length) {
    return Invalid("ConvTranspose: ", name, " must have ", length,
                   " entries, got ", DimsToString(list));
  }
  for (const int64_t entry : list) {
    if (entry < least) {
      return Invalid("ConvTranspose: ", name, " must be at least ", least,
                     ", got ", DimsToString(list));
    }
    if (entry > kLargest) {
      return Invalid("ConvTranspose: ", name, " must be at most ", kLargest,
                     ", got ", DimsToString(list));
    }
  }
  return list;
}

absl::StatusOr<Transposed> TransposedOf(const TensorType& x,
                                        const TensorType& w,
                                        const Attrs& attrs) {
  RETURN_IF_ERROR(RequireF32("ConvTranspose", "x", x));
  RETURN_IF_ERROR(RequireF32("ConvTranspose", "w", w));
  if (x.rank() < 3 || x.rank() > 5 || w.rank() != x.rank()) {
    return Invalid("ConvTranspose: x and w must be of one rank, 3 to 5, got ",
                   ToString(x), " and ", ToString(w));
  }
  const int64_t group = attrs.Int("group");
  if (group < 1 || x.dims[1] < 1 || w.dims[1] < 1 || x.dims[1] % group != 0 ||
      w.dims[0] != x.dims[1]) {
    return Invalid("ConvTranspose: w must have a filter for each channel of ",
                   "x, and group must divide them, got ", ToString(x), ", ",
                   ToString(w), " and group ", group);
  }
  const size_t rank = x.dims.size() - 2;
  const Dims kernel(w.dims.begin() + 2, w.dims.end());
  if (attrs.Has("kernel_shape") && attrs.IntList("kernel_shape") != kernel) {
    return Invalid("ConvTranspose: kernel_shape must be ", DimsToString(kernel),
                   ", got ", DimsToString(attrs.IntList("kernel_shape")));
  }
  Transposed t;
  ASSIGN_OR_RETURN(t.strides, ListOf(attrs, "strides", rank, 1));
  ASSIGN_OR_RETURN(t.dilations, ListOf(attrs, "dilations", rank, 1));
  ASSIGN_OR_RETURN(const Dims more, ListOf(attrs, "output_padding", rank, 0));
  ASSIGN_OR_RETURN(const Dims pads, ListOf(attrs, "pads", 2 * rank, 0));
  t.pads_begin.assign(pads.begin(), pads.begin() + rank);
  t.pads_end.assign(pads.begin() + rank, pads.end());
  const std::string& auto_pad = attrs.String("auto_pad");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!same && auto_pad != "NOTSET" && auto_pad != "VALID") {
    return Invalid("ConvTranspose: auto_pad must be NOTSET, SAME_UPPER, ",
                   "SAME_LOWER or VALID, got '", auto_pad, "'");
  }
  const bool shaped = attrs.Has("output_shape");
  if ((auto_pad != "NOTSET" || shaped) && attrs.Has("pads")) {
    return Invalid("ConvTranspose: takes pads, or auto_pad or output_shape, ",
                   "got both");
  }
  Dims shape;
  if (shaped) {
    ASSIGN_OR_RETURN(shape, ListOf(attrs, "output_shape", rank, 0));
  }
  Dims y = {x.dims[0], w.dims[1] * group};
  for (size_t i = 0; i < rank; ++i) {
    const int64_t in = x.dims[i + 2];
    if (in < 1 || in > kLargest || kernel[i] < 1 || kernel[i] > kLargest ||
        t.strides[i] > kMaxTensorBytes / in ||
        t.dilations[i] > kMaxTensorBytes / kernel[i]) {
      return Invalid("ConvTranspose: x and w must have elements along spatial ",
                     "axis ", i, ", and a result of at most ", kMaxTensorBytes,
                     " positions, got ", ToString(x), ", ", ToString(w));
    }
    const int64_t covered =
        t.strides[i] * (in - 1) + 1 + (kernel[i] - 1) * t.dilations[i];
    if (shaped || same) {
      const int64_t size = shaped ? shape[i] : in * t.strides[i];
      // Negative: zeros to be added. The odd one is at the end for SAME_UPPER,
      // and at the beginning otherwise.
      const int64_t padding = covered + more[i] - size;
      const int64_t half = padding >= 0 ? padding / 2 : -((1 - padding) / 2);
      t.pads_begin[i] = auto_pad == "SAME_UPPER" ? half : padding - half;
      t.pads_end[i] = padding - t.pads_begin[i];
    }
    t.pads_end[i] -= more[i];
    const int64_t size = covered - t.pads_begin[i] - t.pads_end[i];
    const int64_t kept = covered - std::max<int64_t>(t.pads_begin[i], 0) -
                         std::max<int64_t>(t.pads_end[i], 0);
    if (size < 1 || kept < 1) {
      return Invalid("ConvTranspose: pads must leave something of the ",
                     covered, " positions of spatial axis ", i, ", got ",
                     t.pads_begin[i], " and ", t.pads_end[i]);
    }
    y.push_back(size);
  }
  ASSIGN_OR_RETURN(t.y, TensorType::Make(DType::kF32, std::move(y)));
  return t;
}

InferredTypes Infer(const OpArgs& args) {
  ASSIGN_OR_RETURN(const Transposed t,
                   TransposedOf(args.in[0], args.in[1], args.attrs));
  const int64_t channels = t.y.dims[1];
  if (args.in.size() > 2 && args.in[2].present() &&
      args.in[2] != TensorType{DType::kF32, {channels}}) {
    return Invalid("ConvTranspose: bias must be f32[", channels, "], got ",
                   ToString(args.in[2]));
  }
  return std::vector<TensorType>{t.y};
}

absl::Status ExpandToGradient(ExpandBuilder& b) {
  const TensorType x = b.type(b.in(0));
  const TensorType w = b.type(b.in(1));
  ASSIGN_OR_RETURN(const Transposed t, TransposedOf(x, w, b.attrs()));
  const size_t rank = t.strides.size();
  // What the windows cover is computed, the rest padded.
  Dims dims = t.y.dims;
  Ints pads;
  Ints zeros(2 * t.y.dims.size(), 0);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t before = std::max<int64_t>(0, -t.pads_begin[i]);
    const int64_t after = std::max<int64_t>(0, -t.pads_end[i]);
    zeros[i + 2] = before;
    zeros[i + 2 + t.y.dims.size()] = after;
    dims[i + 2] -= before + after;
    pads.push_back(std::max<int64_t>(0, t.pads_begin[i]));
  }
  for (size_t i = 0; i < rank; ++i) {
    pads.push_back(std::max<int64_t>(0, t.pads_end[i]));
  }
  ValueId y = b.Add("ConvGradInput", {b.in(0), b.in(1)},
                    {{"dims", dims},
                     {"strides", t.strides},
                     {"dilations", t.dilations},
                     {"pads", pads},
                     {"group", b.attrs().Int("group")}},
                    1)[0];
  if (dims != t.y.dims) y = b.Add("Pad", {y}, {{"pads", zeros}}, 1)[0];
  if (b.in(2) != kNoValue) {
    Ints shape(rank + 1, 1);
    shape[0] = t.y.dims[1];
    const ValueId bias = b.Add("Reshape", {b.in(2)}, {{"shape", shape}}, 1)[0];
    y = b.Add("Add", {y, bias}, {}, 1)[0];
  }
  b.SetOut(0, y);
  return absl::OkStatus();
}

}  // namespace

std::vector<OpDef> ConvTransposeOps() {
  OpDef op;
  op.name = "ConvTranspose";
  op.min_inputs = 2;
  op.max_inputs = 3;
  op.attrs = WindowAttrs();
  op.attrs.emplace_back("group", int64_t{1});
  op.attrs.emplace_back("output_padding", AttrKind::kInts);
  op.attrs.emplace_back("output_shape", AttrKind::kInts);
  op.matmul = MatmulKind::kConv;
  op.infer = Infer;
  op.expand = ExpandToGradient;
  return {op};
}

}  // namespace reprise
