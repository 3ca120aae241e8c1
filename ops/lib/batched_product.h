// The matrix product behind MatMul, Gemm and their gradients, in the form that
// oneDNN runs fastest.
//
// Transposed operands are described by strides and never copied. Batch axes
// that both operands share become one; those that the right operand lacks
// become rows of the left one where its storage allows it.

#ifndef OPS_LIB_BATCHED_PRODUCT_H_
#define OPS_LIB_BATCHED_PRODUCT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/op.h"

namespace reprise {

// y[.., m, n] = alpha * sum_k op(a)[.., m, k] * op(b)[.., k, n] + bias[n]
//
// All operands are dense, y has the broadcast batch dims.
struct BatchedProduct {
  Dims a_batch;  // of one rank, broadcastable
  Dims b_batch;
  int64_t m = 0;
  int64_t k = 0;
  int64_t n = 0;
  bool trans_a = false;  // a is stored as [.., k, m]
  bool trans_b = false;  // b is stored as [.., n, k]
  float alpha = 1;
  bool bias = false;

  // Number of matrices in y.
  int64_t batch() const;
  int64_t flops() const { return 2 * batch() * m * k * n; }
};

// Which operands of the kernel take part. Output 0 is y.
struct ProductOperands {
  int a = 0;
  int b = 1;
  int bias = 2;
};

// Returns the product of operands with the given dims, all of rank >= 2; batch
// dims are simplified.
//
//   errors: InvalidArgument starting with `who` if they do not fit.
absl::StatusOr<BatchedProduct> MakeBatchedProduct(const Dims& a, bool trans_a,
                                                  const Dims& b, bool trans_b,
                                                  absl::string_view who);

// Fills in what `description` says about the kernel itself: implementation,
// scratchpad, heap, flops and rate.
absl::Status DescribeBatchedProduct(const BatchedProduct& product,
                                    const OpEnv& env, absl::string_view who,
                                    Description& description);

// Returns the kernel. A product without terms (k = 0) is its bias.
absl::StatusOr<Kernel> BuildBatchedProduct(const BatchedProduct& product,
                                           const ProductOperands& operands,
                                           const OpEnv& env,
                                           absl::string_view who);

}  // namespace reprise

#endif  // OPS_LIB_BATCHED_PRODUCT_H_
