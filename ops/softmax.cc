// Softmax along `axis`.
//
//   y_j = e^x_j / sum_k e^x_k
//   dx_j = y_j (dy_j - sum_k dy_k y_k)
//
// The gradient reads y, so x may be freed or overwritten by y. The loops are in
// lib/softmax.cc. Tested by tests/ops/softmax_test.cc.

#include "ops/lib/softmax.h"

#include <vector>

#include "core/op.h"

namespace reprise {

std::vector<OpDef> SoftmaxOps() {
  return SoftmaxLikeOps("Softmax", /*log=*/false);
}

}  // namespace reprise
