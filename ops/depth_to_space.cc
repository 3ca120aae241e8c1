// DepthToSpace and SpaceToDepth: blocks of `blocksize` by `blocksize` pixels of
// x [n, c, h, w] from channels, and back.
//
//   DCR  y[n, c, h s + i, w s + j] = x[n, (i s + j) c' + c, h, w]
//   CRD                              x[n, (c s + i) s + j, h, w]
//
// In the step graph each is a Transpose between views. SpaceToDepth undoes the
// mode DCR. Tested by tests/ops/shape_test.cc.

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/expand.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/infer.h"

namespace reprise {
namespace {

// `divisible` of x's dims must be multiples of `by`.
absl::Status CheckBlocks(absl::string_view op, const TensorType& x,
                         int64_t size, const std::vector<int>& divisible,
                         int64_t by) {
  for (const int axis : divisible) {
    if (x.dims[axis] % by != 0) {
      return Invalid(op, ": blocks of ", size, " by ", size, " need axis ",
                     axis, " to be a multiple of ", by, ", got ", ToString(x));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOperand(absl::string_view op, const OpArgs& args) {
  const int64_t size = args.attrs.Int("blocksize");
  if (args.in[0].rank() != 4) {
    return Invalid(op, ": x must be [n, c, h, w], got ", ToString(args.in[0]));
  }
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  if (size < 1) {
    return Invalid(op, ": blocksize must be at least 1, got ", size);
  }
  if (size > kLargest) {
    return Invalid(op, ": blocksize must be at most ", kLargest, ", got ",
                   size);
  }
  return absl::OkStatus();
}

InferredTypes InferToSpace(const OpArgs& args) {
  const TensorType& x = args.in[0];
  const int64_t s = args.attrs.Int("blocksize");
  RETURN_IF_ERROR(CheckOperand("DepthToSpace", args));
  RETURN_IF_ERROR(CheckBlocks("DepthToSpace", x, s, {1}, s * s));
  const std::string& mode = args.attrs.String("mode");
  if (mode != "DCR" && mode != "CRD") {
    return Invalid("DepthToSpace: mode must be DCR or CRD, got '", mode, "'");
  }
  return OneType(
      "DepthToSpace", x.dtype,
      {x.dims[0], x.dims[1] / (s * s), x.dims[2] * s, x.dims[3] * s});
}

InferredTypes InferToDepth(const OpArgs& args) {
  const TensorType& x = args.in[0];
  const int64_t s = args.attrs.Int("blocksize");
  RETURN_IF_ERROR(CheckOperand("SpaceToDepth", args));
  RETURN_IF_ERROR(CheckBlocks("SpaceToDepth", x, s, {2, 3}, s));
  return OneType("SpaceToDepth", x.dtype,
                 {x.dims[0], x.dims[1] * s * s, x.dims[2] / s, x.dims[3] / s});
}

// x seen as `dims`, transposed by `perm`, seen as `out`.
void AddTransposed(ExpandBuilder& b, Dims dims, Ints perm, Dims out) {
  const auto view = [&b](ValueId value, Dims shape) {
    return b.Add("Reshape", {value},
                 {{"shape", std::move(shape)}, {"allowzero", int64_t{1}}},
                 1)[0];
  };
  const ValueId y = b.Add("Transpose", {view(b.in(0), std::move(dims))},
                          {{"perm", std::move(perm)}}, 1)[0];
  b.SetOut(0, view(y, std::move(out)));
}

absl::Status ExpandToSpace(ExpandBuilder& b) {
  const Dims x = b.type(b.in(0)).dims;
  const int64_t s = b.attrs().Int("blocksize");
  const int64_t c = x[1] / (s * s);
  const Dims out = {x[0], c, x[2] * s, x[3] * s};
  if (b.attrs().String("mode") == "DCR") {
    AddTransposed(b, {x[0], s, s, c, x[2], x[3]}, {0, 3, 4, 1, 5, 2}, out);
  } else {
    AddTransposed(b, {x[0], c, s, s, x[2], x[3]}, {0, 1, 4, 2, 5, 3}, out);
  }
  return absl::OkStatus();
}

absl::Status ExpandToDepth(ExpandBuilder& b) {
  const Dims x = b.type(b.in(0)).dims;
  const int64_t s = b.attrs().Int("blocksize");
  AddTransposed(b, {x[0], x[1], x[2] / s, s, x[3] / s, s}, {0, 3, 5, 1, 2, 4},
                {x[0], x[1] * s * s, x[2] / s, x[3] / s});
  return absl::OkStatus();
}

}  // namespace

std::vector<OpDef> DepthToSpaceOps() {
  OpDef to_space;
  to_space.name = "DepthToSpace";
  to_space.attrs = {AttrSpec("blocksize", AttrKind::kInt, AttrSpec::kRequired),
                    AttrSpec("mode", std::string("DCR"))};
  to_space.infer = InferToSpace;
  to_space.expand = ExpandToSpace;

  OpDef to_depth;
  to_depth.name = "SpaceToDepth";
  to_depth.attrs = {AttrSpec("blocksize", AttrKind::kInt, AttrSpec::kRequired)};
  to_depth.infer = InferToDepth;
  to_depth.expand = ExpandToDepth;
  return {to_space, to_depth};
}

}  // namespace reprise
