#include "ops/lib/training_step.h"

#include <climits>
#include <utility>

#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"

namespace reprise {
namespace {

constexpr int kFirstTensor = 2;  // after R and T

// Operands of one tensor: it, its gradient, its slots.
int KindsOf(int num_slots) { return 2 + num_slots; }

InferredTypes Infer(const std::string& name, int num_slots,
                    const OpArgs& args) {
  const int kinds = KindsOf(num_slots);
  const int tensors = static_cast<int>(args.in.size()) - kFirstTensor;
  if (tensors < kinds || tensors % kinds != 0) {
    return Invalid(name, ": takes R, T and ", kinds,
                   " operands for each tensor, got ", args.in.size());
  }
  if (args.in[0].dtype != DType::kF32 || args.in[0].num_elements() != 1 ||
      args.in[1].dtype != DType::kI64 || args.in[1].num_elements() != 1) {
    return Invalid(name, ": R must be one f32 and T one i64, got ",
                   ToString(args.in[0]), " and ", ToString(args.in[1]));
  }
  const int count = tensors / kinds;
  for (int i = 0; i < tensors; ++i) {
    const TensorType& type = args.in[kFirstTensor + i];
    const TensorType& x = args.in[kFirstTensor + i % count];
    RETURN_IF_ERROR(RequireF32(name, "tensor", type));
    if (type != x) {
      return Invalid(name, ": gradient and slots must be ", ToString(x),
                     " as their tensor, got ", ToString(type));
    }
  }
  std::vector<TensorType> types;
  for (int i = 0; i < count * (1 + num_slots); ++i) {
    types.push_back(args.in[kFirstTensor + i % count]);
  }
  return types;
}

absl::StatusOr<Description> Describe(const Signature& offered, int num_slots,
                                     int64_t flops_per_element) {
  const int count =
      (static_cast<int>(offered.in.size()) - kFirstTensor) / KindsOf(num_slots);
  int64_t elements = 0;
  for (int i = 0; i < count; ++i) {
    elements += offered.in[kFirstTensor + i].num_elements();
  }
  Description d =
      DescribeRowMajor(offered, "hwy:update", flops_per_element * elements);
  for (int i = 0; i < count; ++i) {
    d.may_overwrite.push_back({kFirstTensor + i, i});
    for (int k = 0; k < num_slots; ++k) {
      d.may_overwrite.push_back(
          {kFirstTensor + (2 + k) * count + i, (1 + k) * count + i});
    }
  }
  return d;
}

// The operands of tensor i of `count`.
UpdateOperands OperandsOf(const Buffers& buffers, UpdateOperands operands,
                          int i, int count, int num_slots, int num_outputs) {
  const auto in = [&](int kind) {
    return static_cast<const float*>(
        buffers.in[kFirstTensor + kind * count + i]);
  };
  const auto out = [&](int kind) {
    const int k = kind * count + i;
    return k < num_outputs ? static_cast<float*>(buffers.out[k]) : nullptr;
  };
  operands.param = in(0);
  operands.grad = in(1);
  operands.new_param = out(0);
  for (int k = 0; k < num_slots; ++k) {
    operands.slot[k] = in(2 + k);
    operands.new_slot[k] = out(1 + k);
  }
  return operands;
}

}  // namespace

OpDef TrainingStepOp(TrainingStepSpec spec) {
  const int num_slots = spec.num_slots;
  OpDef op;
  op.name = spec.name;
  op.min_inputs = kFirstTensor + KindsOf(num_slots);
  op.max_inputs = INT_MAX;
  op.max_outputs = INT_MAX;
  op.attrs = std::move(spec.attrs);
  op.infer = [name = spec.name, judge = spec.judge,
              num_slots](const OpArgs& args) -> InferredTypes {
    if (judge) RETURN_IF_ERROR(judge(args.attrs));
    return Infer(name, num_slots, args);
  };
  op.describe = [num_slots, flops = spec.flops_per_element](
                    const Signature& offered, const OpEnv&) {
    return Describe(offered, num_slots, flops);
  };
  op.build = [num_slots, loop = std::move(spec.loop)](
                 const Signature& s,
                 const OpEnv& env) -> absl::StatusOr<Kernel> {
    const int count =
        (static_cast<int>(s.in.size()) - kFirstTensor) / KindsOf(num_slots);
    const int num_outputs = static_cast<int>(s.out.size());
    std::vector<int64_t> sizes;
    for (int i = 0; i < count; ++i) {
      sizes.push_back(s.in[kFirstTensor + i].num_elements());
    }
    return Kernel{[=, attrs = s.attrs,
                   threads = env.threads](const Buffers& buffers) {
      UpdateOperands run;
      run.lr = *static_cast<const float*>(buffers.in[0]);
      run.step = *static_cast<const int64_t*>(buffers.in[1]);
      const StepRange range = loop(attrs, run);
      for (int i = 0; i < count; ++i) {
        const UpdateOperands operands =
            OperandsOf(buffers, run, i, count, num_slots, num_outputs);
        ParallelFor(
            threads, sizes[i], kElementsPerThread,
            [&](int64_t begin, int64_t end) { range(operands, begin, end); });
      }
    }};
  };
  return op;
}

}  // namespace reprise
