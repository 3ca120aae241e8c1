// The operators of indexed.h around their kernels.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/autodiff.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/indexed.h"
#include "ops/lib/indexed_kernels.h"

namespace reprise {
namespace {

absl::Status CheckIndices(absl::string_view op, const TensorType& indices) {
  if (indices.dtype == DType::kI32 || indices.dtype == DType::kI64) {
    return absl::OkStatus();
  }
  return Invalid(op, ": indices must be i32 or i64, got ", ToString(indices));
}

// errors: one that names what `reduction` may be.
absl::StatusOr<ScatterReduction> ReductionOf(absl::string_view op,
                                             const Attrs& attrs) {
  const std::string& reduction = attrs.String("reduction");
  if (reduction == "none") return ScatterReduction::kNone;
  if (reduction == "add") return ScatterReduction::kAdd;
  if (reduction == "mul") return ScatterReduction::kMul;
  if (reduction == "max") return ScatterReduction::kMax;
  if (reduction == "min") return ScatterReduction::kMin;
  return Invalid(op, ": reduction must be none, add, mul, max or min, got '",
                 reduction, "'");
}

// What a node that infer has judged calls a kernel with.
IndexedCall CallOf(const IndexedSpec& spec, const Attrs& attrs,
                   const TensorType& data, const TensorType& indices,
                   const OpEnv& env) {
  IndexedCall call;
  call.index = *spec.index(spec.name, data.dims, indices.dims, attrs);
  call.element = data.dtype;
  call.indices = indices.dtype;
  if (attrs.Has("reduction")) call.reduction = *ReductionOf(spec.name, attrs);
  call.threads = env.threads;
  return call;
}

std::function<absl::StatusOr<Description>(const Signature&, const OpEnv&)>
DescribeLoop(const std::string& name, bool reads_all) {
  const std::string implementation =
      absl::StrCat("loop:", absl::AsciiStrToLower(name));
  return
      [implementation, reads_all](const Signature& offered,
                                  const OpEnv&) -> absl::StatusOr<Description> {
        Description d = DescribeRowMajor(offered, implementation, /*flops=*/0);
        if (!reads_all) {
          // Of data only what is gathered.
          d.bytes_moved = 2 * offered.out[0].bytes() + offered.in[1].bytes();
        }
        return d;
      };
}

// (data, indices) -> items
OpDef GatherOp(const IndexedSpec& spec, const std::string& name) {
  OpDef op;
  op.name = name;
  op.min_inputs = op.max_inputs = 2;
  op.attrs = spec.attrs;
  op.no_grad_inputs = {1};
  op.infer = [spec, name](const OpArgs& args) -> InferredTypes {
    RETURN_IF_ERROR(CheckIndices(name, args.in[1]));
    const Dims& data = args.in[0].dims;
    const Dims& indices = args.in[1].dims;
    RETURN_IF_ERROR(spec.index(name, data, indices, args.attrs).status());
    return OneType(name, args.in[0].dtype,
                   spec.items(data, indices, args.attrs));
  };
  op.describe = DescribeLoop(name, /*reads_all=*/false);
  op.build = [spec](const Signature& s,
                    const OpEnv& env) -> absl::StatusOr<Kernel> {
    return GatherSlicesKernel(CallOf(spec, s.attrs, s.in[0], s.in[1], env));
  };
  return op;
}

// (dy, indices) -> dupdates, of the reductions none and add
OpDef UpdateGradOp(const IndexedSpec& spec) {
  OpDef op = GatherOp(spec, spec.name + "UpdateGrad");
  op.internal = true;
  op.attrs.emplace_back("reduction", std::string("none"));
  const auto describe = op.describe;
  op.describe = [spec, describe](
                    const Signature& offered,
                    const OpEnv& env) -> absl::StatusOr<Description> {
    ASSIGN_OR_RETURN(Description d, describe(offered, env));
    d.scratchpad_bytes = ScatterUpdateGradScratchpad(
        CallOf(spec, offered.attrs, offered.in[0], offered.in[1], env));
    return d;
  };
  op.build = [spec](const Signature& s,
                    const OpEnv& env) -> absl::StatusOr<Kernel> {
    return ScatterUpdateGradKernel(
        CallOf(spec, s.attrs, s.in[0], s.in[1], env));
  };
  return op;
}

// (indices, dy) -> ddata
OpDef GatherGradOp(const IndexedSpec& spec) {
  const std::string name = spec.name + "Grad";
  OpDef op;
  op.name = name;
  op.internal = true;
  op.min_inputs = op.max_inputs = 2;
  op.attrs = spec.attrs;
  op.attrs.emplace_back("dims", AttrKind::kInts, AttrSpec::kRequired);
  op.infer = [spec, name](const OpArgs& args) -> InferredTypes {
    RETURN_IF_ERROR(CheckIndices(name, args.in[0]));
    const Dims& data = args.attrs.IntList("dims");
    const Dims& indices = args.in[0].dims;
    RETURN_IF_ERROR(spec.index(name, data, indices, args.attrs).status());
    const TensorType items = {DType::kF32,
                              spec.items(data, indices, args.attrs)};
    if (args.in[1] != items) {
      return Invalid(name, ": dy must be ", ToString(items), ", got ",
                     ToString(args.in[1]));
    }
    return OneType(name, DType::kF32, data);
  };
  op.describe = DescribeLoop(name, /*reads_all=*/true);
  op.build = [spec](const Signature& s,
                    const OpEnv& env) -> absl::StatusOr<Kernel> {
    return GatherSlicesGradKernel(
        CallOf(spec, s.attrs, s.out[0], s.in[0], env));
  };
  return op;
}

InferredTypes ScatterInfer(const IndexedSpec& spec, const OpArgs& args) {
  const TensorType& data = args.in[0];
  const TensorType& indices = args.in[1];
  const std::string& name = spec.name;
  RETURN_IF_ERROR(CheckIndices(name, indices));
  RETURN_IF_ERROR(
      spec.index(name, data.dims, indices.dims, args.attrs).status());
  ASSIGN_OR_RETURN(const ScatterReduction reduction,
                   ReductionOf(name, args.attrs));
  if (data.dtype == DType::kBool && reduction != ScatterReduction::kNone) {
    return Invalid(name, ": of bool, reduction must be none, got '",
                   args.attrs.String("reduction"), "'");
  }
  const TensorType items = {data.dtype,
                            spec.items(data.dims, indices.dims, args.attrs)};
  if (args.in[2] != items) {
    return Invalid(name, ": updates must be ", ToString(items), ", got ",
                   ToString(args.in[2]));
  }
  return std::vector<TensorType>{data};
}

std::vector<ValueId> ScatterGrad(const std::string& name, GradBuilder& b) {
  std::vector<ValueId> grads(3, kNoValue);
  const ValueId dy = b.out_grad(0);
  const ScatterReduction reduction = *ReductionOf(name, b.attrs());
  if (reduction == ScatterReduction::kNone ||
      reduction == ScatterReduction::kAdd) {
    if (b.needs_grad(2)) {
      grads[2] = b.Add(name + "UpdateGrad", {dy, b.in(1)}, b.attrs());
    }
    if (b.needs_grad(0)) {
      grads[0] = dy;
      if (reduction == ScatterReduction::kNone) {
        const TensorType updates = b.type(b.in(2));
        const ValueId zeros = b.Fill(updates, 0.0f);
        grads[0] = b.Add(name, {dy, b.in(1), zeros}, b.attrs());
      }
    }
    return grads;
  }
  if (!b.needs_grad(0) && !b.needs_grad(2)) return grads;
  // mul reads no y: data stands there in its place.
  const ValueId y = reduction == ScatterReduction::kMul ? b.in(0) : b.out(0);
  const std::vector<ValueId> both =
      b.AddMany(name + "Grad", {b.in(0), b.in(1), b.in(2), y, dy}, b.attrs(),
                b.needs_grad(2) ? 2 : 1);
  grads[0] = both[0];
  if (b.needs_grad(2)) grads[2] = both[1];
  return grads;
}

OpDef ScatterOp(const IndexedSpec& spec) {
  OpDef op;
  op.name = spec.name;
  op.min_inputs = op.max_inputs = 3;
  op.attrs = spec.attrs;
  op.attrs.emplace_back("reduction", std::string("none"));
  op.no_grad_inputs = {1};
  op.infer = [spec](const OpArgs& args) { return ScatterInfer(spec, args); };
  op.grad = [spec](GradBuilder& b) { return ScatterGrad(spec.name, b); };
  const auto describe = DescribeLoop(spec.name, /*reads_all=*/true);
  op.describe = [describe](const Signature& offered,
                           const OpEnv& env) -> absl::StatusOr<Description> {
    ASSIGN_OR_RETURN(Description d, describe(offered, env));
    AllowOverwrite({0}, d);
    return d;
  };
  op.build = [spec](const Signature& s,
                    const OpEnv& env) -> absl::StatusOr<Kernel> {
    return ScatterSlicesKernel(CallOf(spec, s.attrs, s.in[0], s.in[1], env));
  };
  return op;
}

// (data, indices, updates, y, dy) -> ddata, dupdates
OpDef ScatterGradOp(const IndexedSpec& spec) {
  const std::string name = spec.name + "Grad";
  OpDef op;
  op.name = name;
  op.internal = true;
  op.min_inputs = op.max_inputs = 5;
  op.max_outputs = 2;
  op.attrs = spec.attrs;
  op.attrs.emplace_back("reduction", std::string("none"));
  op.infer = [name](const OpArgs& args) -> InferredTypes {
    RETURN_IF_ERROR(CheckIndices(name, args.in[1]));
    return std::vector<TensorType>{args.in[0], args.in[2]};
  };
  const auto describe = DescribeLoop(name, /*reads_all=*/true);
  op.describe = [spec, describe](
                    const Signature& offered,
                    const OpEnv& env) -> absl::StatusOr<Description> {
    ASSIGN_OR_RETURN(Description d, describe(offered, env));
    d.scratchpad_bytes = ScatterSlicesGradScratchpad(
        CallOf(spec, offered.attrs, offered.in[0], offered.in[1], env));
    return d;
  };
  op.build = [spec](const Signature& s,
                    const OpEnv& env) -> absl::StatusOr<Kernel> {
    const Kernel kernel =
        ScatterSlicesGradKernel(CallOf(spec, s.attrs, s.in[0], s.in[1], env));
    if (s.out.size() > 1) return kernel;
    return Kernel{[kernel](const Buffers& b) {
      void* const out[2] = {b.out[0], nullptr};
      Buffers with_second = b;
      with_second.out = out;
      kernel.run(with_second);
    }};
  };
  return op;
}

}  // namespace

std::vector<OpDef> GatherSlicesOps(const IndexedSpec& spec) {
  OpDef op = GatherOp(spec, spec.name);
  op.grad = [name = spec.name](GradBuilder& b) -> std::vector<ValueId> {
    if (!b.needs_grad(0)) return {kNoValue, kNoValue};
    Attrs attrs = b.attrs();
    attrs.Set("dims", Ints(b.type(b.in(0)).dims));
    return {b.Add(name + "Grad", {b.in(1), b.out_grad(0)}, std::move(attrs)),
            kNoValue};
  };
  return {op, GatherGradOp(spec)};
}

std::vector<OpDef> ScatterSlicesOps(const IndexedSpec& spec) {
  return {ScatterOp(spec), UpdateGradOp(spec), ScatterGradOp(spec)};
}

}  // namespace reprise
