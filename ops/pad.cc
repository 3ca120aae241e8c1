// Pad: puts `pads` elements before and after x along each of `axes` (all by
// default); a negative number takes elements away.
//
//   constant  constant_value
//   reflect   x mirrored at its first and last element, which are not repeated
//   edge      the first and last element
//   wrap      x again from its other end
//
//   dx = the sum of dy over the copies of each element
//
// The gradient reads no forward value. Tested by tests/ops/shape_test.cc.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/autodiff.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/axis_map.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/layout.h"

namespace reprise {
namespace {

// By axis.
struct Padding {
  Dims before;
  Dims after;
};

absl::StatusOr<Padding> PaddingOf(const Attrs& attrs, const Dims& dims) {
  const Ints& pads = attrs.IntList("pads");
  const int rank = static_cast<int>(dims.size());
  Ints axes;
  if (attrs.Has("axes")) {
    axes = attrs.IntList("axes");
    RETURN_IF_ERROR(NormalizeAxes("Pad", axes, rank).status());
  } else {
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  if (pads.size() != 2 * axes.size()) {
    return Invalid("Pad: pads must have ", 2 * axes.size(), " entries, got ",
                   DimsToString(pads));
  }
  Padding padding{Dims(dims.size(), 0), Dims(dims.size(), 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    for (const int64_t pad : {pads[i], pads[i + axes.size()]}) {
      if (pad > kMaxTensorBytes) {
        return Invalid("Pad: pads must be at most ", kMaxTensorBytes, ", got ",
                       pad);
      }
      if (pad < -kMaxTensorBytes) {
        return Invalid("Pad: pads must be at least ", -kMaxTensorBytes,
                       ", got ", pad);
      }
    }
    padding.before[axis] = pads[i];
    padding.after[axis] = pads[i + axes.size()];
  }
  return padding;
}

InferredTypes Infer(const OpArgs& args) {
  const TensorType& x = args.in[0];
  const std::string& mode = args.attrs.String("mode");
  if (mode != "constant" && mode != "reflect" && mode != "edge" &&
      mode != "wrap") {
    return Invalid("Pad: mode must be constant, reflect, edge or wrap, got '",
                   mode, "'");
  }
  ASSIGN_OR_RETURN(const Padding padding, PaddingOf(args.attrs, x.dims));
  Dims dims;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    const int64_t size = x.dims[i] + padding.before[i] + padding.after[i];
    if (size < 0) {
      return Invalid("Pad: pads must not take more than there is, got ",
                     padding.before[i], " and ", padding.after[i], " for axis ",
                     i, " of ", ToString(x));
    }
    if (mode != "constant" && x.dims[i] == 0 && size > 0) {
      return Invalid("Pad: mode ", mode, " needs an element to repeat along ",
                     "axis ", i, " of ", ToString(x));
    }
    dims.push_back(size);
  }
  return OneType("Pad", x.dtype, std::move(dims));
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  Attrs attrs = b.attrs();
  attrs.Set("dims", Ints(b.type(b.in(0)).dims));
  return {b.Add("PadGrad", {b.out_grad(0)}, std::move(attrs))};
}

InferredTypes GradInfer(const OpArgs& args) {
  RETURN_IF_ERROR(RequireF32("PadGrad", "dy", args.in[0]));
  return OneType("PadGrad", DType::kF32, args.attrs.IntList("dims"));
}

// The position in x of position `at`, counted from x's first one; -1: none.
int64_t Source(const std::string& mode, int64_t at, int64_t dim) {
  if (at >= 0 && at < dim) return at;
  if (mode == "constant") return -1;
  if (mode == "edge") return std::clamp<int64_t>(at, 0, dim - 1);
  // There and back again: 0 1 2 1 | 0 1 2 1 ...
  const int64_t period =
      mode == "wrap" ? dim : std::max<int64_t>(1, 2 * (dim - 1));
  const int64_t rest = (at % period + period) % period;
  return rest < dim ? rest : period - rest;
}

AxisMap MakeMap(const Attrs& attrs, const Dims& x, const Layout& layout,
                int threads) {
  const Padding padding = *PaddingOf(attrs, x);
  const std::string& mode = attrs.String("mode");
  std::vector<std::vector<int64_t>> maps;
  const std::vector<int> order = AxisOrder(layout, static_cast<int>(x.size()));
  for (const int axis : order) {
    std::vector<int64_t> map;
    for (int64_t i = -padding.before[axis]; i < x[axis] + padding.after[axis];
         ++i) {
      map.push_back(Source(mode, i, x[axis]));
    }
    maps.push_back(std::move(map));
  }
  return AxisMap(InOrder(x, order), std::move(maps), threads);
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  Description d = DescribeRowMajor(offered, "loop:pad", /*flops=*/0);
  if (IsPermutation(offered.in_layouts[0])) {
    d.in_layouts[0] = d.out_layouts[0] = offered.in_layouts[0];
  }
  return d;
}

template <class T, class Bits>
Kernel KernelOf(const AxisMap& map, float constant) {
  const T element = static_cast<T>(constant);
  Bits bits;
  std::memcpy(&bits, &element, sizeof(bits));
  return Kernel{[map, bits](const Buffers& b) {
    map.Run(static_cast<const Bits*>(b.in[0]), bits,
            static_cast<Bits*>(b.out[0]));
  }};
}

absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv& env) {
  if (s.out[0].num_elements() == 0) return Kernel{[](const Buffers&) {}};
  const AxisMap map =
      MakeMap(s.attrs, s.in[0].dims, s.in_layouts[0], env.threads);
  const float constant = s.attrs.Float("constant_value");
  switch (s.in[0].dtype) {
    case DType::kF32:
      return KernelOf<float, uint32_t>(map, constant);
    case DType::kI32:
      return KernelOf<int32_t, uint32_t>(map, constant);
    case DType::kI64:
      return KernelOf<int64_t, uint64_t>(map, constant);
    case DType::kBool:
      return KernelOf<bool, uint8_t>(map, constant);
    case DType::kU8:
      return KernelOf<uint8_t, uint8_t>(map, constant);
    case DType::kNone:
    case DType::kOpaque:
      break;
  }
  return Invalid("Pad: no element type");
}

absl::StatusOr<Kernel> GradBuild(const Signature& s, const OpEnv& env) {
  if (s.out[0].num_elements() == 0) return Kernel{[](const Buffers&) {}};
  const AxisMap map =
      MakeMap(s.attrs, s.out[0].dims, s.in_layouts[0], env.threads);
  return Kernel{[map](const Buffers& b) {
    map.RunGrad(static_cast<const float*>(b.in[0]),
                static_cast<float*>(b.out[0]));
  }};
}

}  // namespace

std::vector<OpDef> PadOps() {
  OpDef op;
  op.name = "Pad";
  op.attrs = {AttrSpec("mode", std::string("constant")),
              AttrSpec("pads", AttrKind::kInts, AttrSpec::kRequired),
              AttrSpec("axes", AttrKind::kInts),
              AttrSpec("constant_value", 0.0f).Allowing(FloatRange::kAny)};
  op.infer = Infer;
  op.grad = Grad;
  op.describe = Describe;
  op.build = Build;

  OpDef grad;
  grad.name = "PadGrad";
  grad.internal = true;
  grad.attrs = op.attrs;
  grad.attrs.emplace_back("dims", AttrKind::kInts, AttrSpec::kRequired);
  grad.infer = GradInfer;
  grad.describe = Describe;
  grad.build = GradBuild;
  return {op, grad};
}

}  // namespace reprise
