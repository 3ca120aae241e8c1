// What Max and Min share.

#ifndef OPS_LIB_EXTREMES_H_
#define OPS_LIB_EXTREMES_H_

#include <vector>

#include "core/autodiff.h"
#include "ops/lib/grad.h"

namespace reprise {

// The gradient of the larger, or the smaller, of two operands.
inline std::vector<ValueId> ExtremesGrad(GradBuilder& b, bool larger) {
  std::vector<ValueId> grads(2, kNoValue);
  for (int i = 0; i < 2; ++i) {
    if (!b.needs_grad(i)) continue;
    const ValueId own = b.in(i);
    const ValueId other = b.in(1 - i);
    const ValueId dy = b.out_grad(0);
    const ValueId share = larger ? b.Add("LargerGrad", {dy, own, other})
                                 : b.Add("LargerGrad", {dy, other, own});
    grads[i] = SumToInput(b, share, i);
  }
  return grads;
}

}  // namespace reprise

#endif  // OPS_LIB_EXTREMES_H_
