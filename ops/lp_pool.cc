// LpPool: the p-norm of the elements in each window; padding counts as zeros.
//
//   y  = (sum |x|^p)^(1/p)
//   dx = sum over the windows of dy sign(x) (|x| / y)^(p - 1)
//
// The gradient reads x and y; it is 0 where y is. Tested by
// tests/ops/pooling_test.cc.

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/autodiff.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/channels_last.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/pool_loop.h"
#include "ops/lib/window.h"

namespace reprise {
namespace {

absl::StatusOr<Window> WindowOver(const TensorType& x, const Attrs& attrs) {
  RETURN_IF_ERROR(RequireF32("LpPool", "x", x));
  if (x.rank() < 3 || x.rank() > 5) {
    return Invalid("LpPool: x must be [n, c, ..] of rank 3 to 5, got ",
                   ToString(x));
  }
  const int64_t p = attrs.Int("p");
  constexpr int64_t kLargestP = std::numeric_limits<int32_t>::max();
  if (p < 1) return Invalid("LpPool: p must be at least 1, got ", p);
  if (p > kLargestP) {
    return Invalid("LpPool: p must be at most ", kLargestP, ", got ", p);
  }
  const Dims spatial(x.dims.begin() + 2, x.dims.end());
  const Ints& kernel = attrs.IntList("kernel_shape");
  if (kernel.size() != spatial.size()) {
    return Invalid("LpPool: kernel_shape must have ", spatial.size(),
                   " entries, got ", DimsToString(kernel));
  }
  return WindowOf("LpPool", attrs, spatial, kernel);
}

InferredTypes Infer(const OpArgs& args) {
  const TensorType& x = args.in[0];
  ASSIGN_OR_RETURN(const Window window, WindowOver(x, args.attrs));
  Dims y = {x.dims[0], x.dims[1]};
  y.insert(y.end(), window.out.begin(), window.out.end());
  return OneType("LpPool", DType::kF32, std::move(y));
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  return {b.Add("LpPoolGrad", {b.in(0), b.out(0), b.out_grad(0)}, b.attrs())};
}

// The order of the elements stays what it is, row-major or channels-last.
absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  const TensorType& x = offered.in[0];
  const TensorType& y = offered.in.size() > 1 ? offered.in[1] : offered.out[0];
  ASSIGN_OR_RETURN(const Window window, WindowOver(x, offered.attrs));
  Description d = DescribeRowMajor(
      offered, offered.in.size() > 1 ? "loop:lppoolgrad" : "loop:lppool",
      3 * y.num_elements() * Product(window.kernel));
  if (!IsChannelsLast(x.dims, offered.in_layouts[0])) return d;
  d.in_layouts[0] = offered.in_layouts[0];
  for (size_t i = 1; i < offered.in.size(); ++i) {
    d.in_layouts[i] = WantChannelsLast(y.dims, offered.in_layouts[i]);
  }
  d.out_layouts[0] = ChannelsLastOf(offered.out[0].dims);
  return d;
}

absl::StatusOr<PoolLoop> LoopOf(const Signature& s, const OpEnv& env) {
  ASSIGN_OR_RETURN(const Window window, WindowOver(s.in[0], s.attrs));
  return PoolLoop(s.in[0].dims, window,
                  IsChannelsLast(s.in[0].dims, s.in_layouts[0]), env.threads);
}

absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv& env) {
  ASSIGN_OR_RETURN(const PoolLoop loop, LoopOf(s, env));
  const int64_t p = s.attrs.Int("p");
  return Kernel{[loop, p](const Buffers& b) {
    loop.Norm(static_cast<const float*>(b.in[0]), static_cast<float*>(b.out[0]),
              p);
  }};
}

InferredTypes GradInfer(const OpArgs& args) {
  return std::vector<TensorType>{args.in[0]};
}

absl::StatusOr<Kernel> GradBuild(const Signature& s, const OpEnv& env) {
  ASSIGN_OR_RETURN(const PoolLoop loop, LoopOf(s, env));
  const int64_t p = s.attrs.Int("p");
  return Kernel{[loop, p](const Buffers& b) {
    const auto in = [&b](int i) { return static_cast<const float*>(b.in[i]); };
    loop.NormGrad(in(0), in(1), in(2), static_cast<float*>(b.out[0]), p);
  }};
}

}  // namespace

std::vector<OpDef> LpPoolOps() {
  OpDef op;
  op.name = "LpPool";
  for (AttrSpec& spec : WindowAttrs()) {
    if (spec.name == "kernel_shape") spec.required = true;
    op.attrs.push_back(std::move(spec));
  }
  op.attrs.emplace_back("ceil_mode", int64_t{0});
  op.attrs.emplace_back("p", int64_t{2});
  op.infer = Infer;
  op.grad = Grad;
  op.describe = Describe;
  op.build = Build;

  OpDef grad;
  grad.name = "LpPoolGrad";
  grad.internal = true;
  grad.min_inputs = grad.max_inputs = 3;
  grad.attrs = op.attrs;
  grad.infer = GradInfer;
  grad.describe = Describe;
  grad.build = GradBuild;
  return {op, grad};
}

}  // namespace reprise
