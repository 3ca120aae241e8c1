#include "ops/lib/relu.h"

#include <utility>

#include "ops/lib/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/lib/relu.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

void ReluLoop(const float* x, float* y, int64_t n) {
  Map(
      n, y,
      [](DF d, VF x) HWY_ATTR {
        return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
      },
      x);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {

HWY_EXPORT(ReluLoop);

void ReluOf(const float* x, float* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(ReluLoop)(x, y, n);
}

Kernel ThenRelu(Kernel kernel, int64_t n, const OpEnv& env) {
  const int threads = env.threads;
  return Kernel{[kernel = std::move(kernel), n, threads](const Buffers& b) {
    kernel.run(b);
    float* const y = static_cast<float*>(b.out[0]);
    ParallelFor(threads, n, kElementsPerThread,
                [y](int64_t begin, int64_t end) {
                  ReluOf(y + begin, y + begin, end - begin);
                });
  }};
}

void DescribeThenRelu(const TensorType& y, Description& description) {
  description.implementation += "+relu";
  description.flops += y.num_elements();
  description.bytes_moved += 2 * y.bytes();
}

}  // namespace reprise
#endif  // HWY_ONCE
