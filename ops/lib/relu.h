// Relu as the last step of another operator's kernel.

#ifndef OPS_LIB_RELU_H_
#define OPS_LIB_RELU_H_

#include <cstdint>

#include "core/op.h"

namespace reprise {

// Whether lowering has fused an activation into the node. Relu is the only one
// that operators offer to take in.
inline bool HasActivation(const Signature& signature) {
  return signature.attrs.Has("__activation");
}

// y[i] = max(x[i], 0); NaN stays NaN. x and y may be one array.
void ReluOf(const float* x, float* y, int64_t n);

// Returns a kernel that runs `kernel` and then Relu over output 0, of `n`
// elements, in place: the bits of a Relu node of its own. oneDNN's post-op
// would make NaN 0, and a loss finite that is not.
Kernel ThenRelu(Kernel kernel, int64_t n, const OpEnv& env);

// Adds to a description what ThenRelu adds to the kernel.
void DescribeThenRelu(const TensorType& y, Description& description);

}  // namespace reprise

#endif  // OPS_LIB_RELU_H_
