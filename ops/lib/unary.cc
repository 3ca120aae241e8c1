#include "ops/lib/unary.h"

#include <array>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/autodiff.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"
#include "ops/lib/pointwise.h"

namespace reprise {
namespace {

using Params = std::array<float, kMaxUnaryParams>;

Params ParamsOf(const std::vector<AttrSpec>& specs, const Attrs& attrs) {
  REPRISE_CHECK(specs.size() <= kMaxUnaryParams);
  Params params = {};
  for (size_t i = 0; i < specs.size(); ++i) {
    params[i] = attrs.Float(specs[i].name);
  }
  return params;
}

Kernel Build(const Signature& signature, ElementLoop loop, int threads) {
  const int64_t n = signature.in[0].num_elements();
  const int64_t in_size = SizeOf(signature.in[0].dtype);
  const int64_t out_size = SizeOf(signature.out[0].dtype);
  return Kernel{[=, loop = std::move(loop)](const Buffers& b) {
    const char* x = static_cast<const char*>(b.in[0]);
    char* y = static_cast<char*>(b.out[0]);
    ParallelFor(threads, n, kElementsPerThread,
                [&](int64_t begin, int64_t end) {
                  loop(x + begin * in_size, y + begin * out_size, end - begin);
                });
  }};
}

}  // namespace

OpDef ElementwiseOp(ElementwiseSpec spec) {
  OpDef op;
  op.name = spec.name;
  op.attrs = std::move(spec.attrs);
  op.infer = [name = spec.name, loop = spec.loop, result = spec.result,
              judge = spec.judge](const OpArgs& args) -> InferredTypes {
    const TensorType& x = args.in[0];
    if (judge) RETURN_IF_ERROR(judge(args.attrs));
    if (loop(x.dtype, args.attrs) == nullptr) {
      std::vector<absl::string_view> taken;
      for (const DType dtype :
           {DType::kF32, DType::kI32, DType::kI64, DType::kBool, DType::kU8}) {
        if (loop(dtype, args.attrs) == nullptr) continue;
        taken.push_back(ToString(dtype));
      }
      return Invalid(name, ": x must be ", absl::StrJoin(taken, " or "),
                     ", got ", ToString(x));
    }
    return std::vector<TensorType>{
        {result == DType::kNone ? x.dtype : result, x.dims}};
  };
  op.describe = [flops = spec.flops_per_element](
                    const Signature& offered,
                    const OpEnv&) -> absl::StatusOr<Description> {
    Description d = DescribeRowMajor(
        offered, absl::StrCat("hwy:", absl::AsciiStrToLower(offered.op->name)),
        flops * offered.out[0].num_elements());
    d.in_layouts[0] = d.out_layouts[0] = CommonLayout(offered);
    if (offered.in[0].dtype == offered.out[0].dtype) AllowOverwrite({0}, d);
    return d;
  };
  op.build = [loop = std::move(spec.loop)](
                 const Signature& signature,
                 const OpEnv& env) -> absl::StatusOr<Kernel> {
    return Build(signature, loop(signature.in[0].dtype, signature.attrs),
                 env.threads);
  };
  return op;
}

std::vector<OpDef> UnaryOps(UnarySpec spec) {
  ElementwiseSpec forward;
  forward.name = spec.name;
  forward.attrs = spec.attrs;
  forward.flops_per_element = spec.flops_per_element;
  forward.loop = [specs = spec.attrs, loop = spec.loop,
                  other = spec.other_loop](DType dtype,
                                           const Attrs& attrs) -> ElementLoop {
    if (dtype != DType::kF32) return other ? other(dtype) : nullptr;
    const Params params = ParamsOf(specs, attrs);
    return [loop, params](const void* x, void* y, int64_t n) {
      loop(static_cast<const float*>(x), static_cast<float*>(y), n,
           params.data());
    };
  };
  forward.judge = spec.judge;
  OpDef op = ElementwiseOp(std::move(forward));
  if (spec.grad_loop == nullptr) {
    op.no_grad_inputs = {0};
    return {op};
  }

  PointwiseSpec backward;
  backward.name = absl::StrCat(spec.name, "Grad");
  backward.attrs = spec.attrs;
  backward.flops_per_element = spec.grad_flops_per_element;
  backward.loop = [specs = spec.attrs,
                   loop = spec.grad_loop](const Attrs& attrs) -> PointwiseLoop {
    const Params params = ParamsOf(specs, attrs);
    return [loop, params](const float* const* in, float* dx, int64_t n) {
      loop(in[0], in[1], dx, n, params.data());
    };
  };
  op.grad = [name = backward.name, keeps_result = spec.keeps_result](
                GradBuilder& b) -> std::vector<ValueId> {
    if (!b.needs_grad(0)) return {kNoValue};
    const ValueId kept =
        keeps_result && keeps_result(b.attrs()) ? b.out(0) : b.in(0);
    return {b.Add(name, {kept, b.out_grad(0)}, b.attrs())};
  };
  return {op, PointwiseGradOp(std::move(backward))};
}

}  // namespace reprise
