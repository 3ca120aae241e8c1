// What the gradient rules of operators share.

#ifndef OPS_LIB_GRAD_H_
#define OPS_LIB_GRAD_H_

#include "core/autodiff.h"
#include "core/op.h"
#include "core/tensor_type.h"

namespace reprise {

// Returns `grad` summed over the axes along which input i was broadcast.
inline ValueId SumToInput(GradBuilder& b, ValueId grad, int i) {
  const TensorType to = b.type(b.in(i));  // a copy: adding nodes moves types
  return b.SumTo(grad, to);
}

}  // namespace reprise

#endif  // OPS_LIB_GRAD_H_
