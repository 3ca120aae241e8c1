// LogSoftmax along `axis`.
//
//   y_j = x_j - ln sum_k e^x_k
//   dx_j = dy_j - e^y_j sum_k dy_k
//
// The gradient reads y, so x may be freed or overwritten by y. The loops are in
// lib/softmax.cc. Tested by tests/ops/softmax_test.cc.

#include <vector>

#include "core/op.h"
#include "ops/lib/softmax.h"

namespace reprise {

std::vector<OpDef> LogSoftmaxOps() {
  return SoftmaxLikeOps("LogSoftmax", /*log=*/true);
}

}  // namespace reprise
