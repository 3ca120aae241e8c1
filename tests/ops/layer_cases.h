// Cases of the operators that networks are made of, for given types and
// attributes: their definitions in double, and what tolerance float sums need.

#ifndef TESTS_OPS_LAYER_CASES_H_
#define TESTS_OPS_LAYER_CASES_H_

#include <string>
#include <vector>

#include "core/attributes.h"
#include "core/tensor_type.h"
#include "tests/testing/op_harness.h"

namespace reprise {

// matrix_cases.cc
OpCase MatMulOf(Dims a, Dims b);
OpCase GemmOf(std::vector<TensorType> in, Attrs attrs);

// window_cases.cc; `op`: MaxPool, AveragePool, LpPool or a global pooling.
OpCase ConvOf(Dims x, Dims w, Attrs attrs, bool bias = true);
OpCase PoolOf(const std::string& op, Dims x, Attrs attrs = {});

// conv_transpose_cases.cc
OpCase ConvTransposeOf(Dims x, Dims w, Attrs attrs, bool bias = true);

// resize_cases.cc
OpCase ResizeOf(Dims x, Attrs attrs);

// einsum_cases.cc: the equation, and what it says without "...": a letter for
// each axis of each operand, and of the result.
OpCase EinsumOf(const std::string& equation, std::vector<Dims> in,
                const std::vector<std::string>& terms, const std::string& out);

// attention_cases.cc; operands q, k, v and maybe attn_mask.
OpCase AttentionOf(std::vector<TensorType> in, Attrs attrs);

// normalization_cases.cc
OpCase BatchNormTrainingOf(Dims x);
OpCase BatchNormInferenceOf(Dims x);
OpCase BatchNormNodeOf(Dims x, bool training);
OpCase LayerNormOf(Dims x, int64_t axis, bool b);

// loss_cases.cc; `scores` are [n, c, ..], `op` SoftmaxCrossEntropyLoss or
// NegativeLogLikelihoodLoss.
OpCase LabelLossOf(const std::string& op, Dims scores, DType labels,
                   bool weights, Attrs attrs);
OpCase SquaredErrorOf(Dims dims, const std::string& reduction);

}  // namespace reprise

#endif  // TESTS_OPS_LAYER_CASES_H_
