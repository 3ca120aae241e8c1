// Gradient accumulation over micro-steps: Accumulate adds a gradient to its
// accumulator, SetZero empties it.
// Tested by tests/ops/accumulate_test.cc.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"
#include "ops/lib/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/accumulate.cc"
#include "hwy/foreach_target.h"  // after simd.h
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

// y = sum + scale * x.
void AccumulateLoop(const float* sum, const float* x, float scale, float* y,
                    int64_t n) {
  const VF factor = hn::Set(DF(), scale);
  Map(
      n, y,
      [&](auto, auto sum_i, auto x_i)
          HWY_ATTR { return hn::MulAdd(factor, x_i, sum_i); },
      sum, x);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {

HWY_EXPORT(AccumulateLoop);

namespace {

InferredTypes InferAccumulate(const OpArgs& args) {
  RETURN_IF_ERROR(RequireSameF32("Accumulate", args));
  return std::vector<TensorType>{args.in[0]};
}

InferredTypes InferSetZero(const OpArgs& args) {
  RETURN_IF_ERROR(RequireF32("SetZero", "accumulator", args.in[0]));
  return std::vector<TensorType>{args.in[0]};
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  return DescribeRowMajor(offered, "hwy:accumulate",
                          2 * offered.in[0].num_elements());
}

// The content is not read, only replaced.
absl::StatusOr<Description> DescribeSetZero(const Signature& offered,
                                            const OpEnv&) {
  Description description = DescribeRowMajor(offered, "loop", 0);
  description.bytes_moved = offered.out[0].bytes();
  return description;
}

absl::StatusOr<Kernel> Build(const Signature& signature, const OpEnv& env) {
  const float scale = signature.attrs.Float("scale");
  const int64_t n = signature.in[0].num_elements();
  const int threads = env.threads;
  return Kernel{[=](const Buffers& buffers) {
    const float* sum = static_cast<const float*>(buffers.in[0]);
    const float* x = static_cast<const float*>(buffers.in[1]);
    float* y = static_cast<float*>(buffers.out[0]);
    ParallelFor(threads, n, kElementsPerThread,
                [&](int64_t begin, int64_t end) {
                  HWY_DYNAMIC_DISPATCH(AccumulateLoop)
                  (sum + begin, x + begin, scale, y + begin, end - begin);
                });
  }};
}

absl::StatusOr<Kernel> BuildSetZero(const Signature& signature,
                                    const OpEnv& env) {
  const int64_t n = signature.in[0].num_elements();
  const int threads = env.threads;
  return Kernel{[=](const Buffers& buffers) {
    float* y = static_cast<float*>(buffers.out[0]);
    ParallelFor(threads, n, kElementsPerThread,
                [&](int64_t begin, int64_t end) {
                  std::fill(y + begin, y + end, 0.0f);
                });
  }};
}

}  // namespace

std::vector<OpDef> AccumulateOps() {
  // (accumulator, gradient): accumulator + scale * gradient.
  OpDef accumulate;
  accumulate.name = "Accumulate";
  accumulate.internal = true;
  accumulate.effect = Effect::kUpdate;
  accumulate.min_inputs = 2;
  accumulate.max_inputs = 2;
  accumulate.attrs = {AttrSpec("scale", 1.0f)};
  accumulate.must_overwrite = {{0, 0}};
  accumulate.infer = InferAccumulate;
  accumulate.describe = Describe;
  accumulate.build = Build;

  OpDef set_zero;
  set_zero.name = "SetZero";
  set_zero.internal = true;
  set_zero.effect = Effect::kUpdate;
  set_zero.must_overwrite = {{0, 0}};
  set_zero.infer = InferSetZero;
  set_zero.describe = DescribeSetZero;
  set_zero.build = BuildSetZero;

  return {accumulate, set_zero};
}

}  // namespace reprise
#endif  // HWY_ONCE
