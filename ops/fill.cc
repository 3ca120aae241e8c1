// Fill: a tensor with one value everywhere, e.g. the gradient of a loss with
// respect to itself. Tested by tests/ops/reorder_test.cc.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/op.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"

namespace reprise {
namespace {

InferredTypes Infer(const OpArgs& args) {
  return OneType("Fill", args.attrs.Type("dtype"), args.attrs.IntList("dims"));
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  return DescribeRowMajor(offered, "loop:fill", /*flops=*/0);
}

template <class T>
Kernel FillKernel(int64_t n, float value, int threads) {
  const T element = static_cast<T>(value);
  return Kernel{[n, element, threads](const Buffers& b) {
    T* y = static_cast<T*>(b.out[0]);
    ParallelFor(threads, n, kElementsPerThread,
                [y, element](int64_t begin, int64_t end) {
                  std::fill(y + begin, y + end, element);
                });
  }};
}

absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv& env) {
  const int64_t n = s.out[0].num_elements();
  const float value = s.attrs.Float("value");
  switch (s.out[0].dtype) {
    case DType::kF32:
      return FillKernel<float>(n, value, env.threads);
    case DType::kI32:
      return FillKernel<int32_t>(n, value, env.threads);
    case DType::kI64:
      return FillKernel<int64_t>(n, value, env.threads);
    case DType::kBool:
      return FillKernel<bool>(n, value, env.threads);
    case DType::kU8:
      return FillKernel<uint8_t>(n, value, env.threads);
    case DType::kNone:
    case DType::kOpaque:
      break;
  }
  return absl::InvalidArgumentError("Fill: no element type");
}

}  // namespace

std::vector<OpDef> FillOps() {
  OpDef op;
  op.name = "Fill";
  op.internal = true;
  op.min_inputs = op.max_inputs = 0;
  op.attrs = {AttrSpec("dims", AttrKind::kInts, AttrSpec::kRequired),
              AttrSpec("dtype", DType::kF32), AttrSpec("value", 0.0f)};
  op.infer = Infer;
  op.describe = Describe;
  op.build = Build;
  return {op};
}

}  // namespace reprise
