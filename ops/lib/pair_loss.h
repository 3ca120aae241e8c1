// Losses that are a function f of each pair of elements of a prediction a and a
// target b, of one type, and reduced.
//
//   y  = sum of f(a_i, b_i), or its mean, or the tensor of losses
//   da = k_i df/da(a_i, b_i), so for b
//
// where k is dy, over the number of elements for the mean. The gradients read
// both operands and no result.

#ifndef OPS_LIB_PAIR_LOSS_H_
#define OPS_LIB_PAIR_LOSS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/op.h"

namespace reprise {

// Computes n values; `y` may be `a` or `b`.
using PairLoop = void (*)(const float* a, const float* b, float* y, int64_t n,
                          float param);

struct PairLossSpec {
  std::string name;
  std::vector<AttrSpec> attrs;  // beside `reduction`
  // Refuses attributes, in a message that begins with the operator's name; may
  // be null.
  std::function<absl::Status(const Attrs&)> judge;
  // What loops get as `param`; null: 0.
  std::function<float(const Attrs&)> param;
  // The sum over the first dim's size, as `batchmean`; needs a rank above 0.
  bool has_batch_mean = false;
  int64_t flops_per_element = 3;
  PairLoop value = nullptr;
  PairLoop of_a = nullptr;  // df/da
  PairLoop of_b = nullptr;  // df/db
};

// Returns the operator and that of its gradients.
std::vector<OpDef> PairLossOps(PairLossSpec spec);

}  // namespace reprise

#endif  // OPS_LIB_PAIR_LOSS_H_
