// What random cases do not show of Attention.

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ops/layer_cases.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

const std::vector<TensorType> kOperands = {F32({2, 4, 5, 3}), F32({2, 2, 6, 3}),
                                           F32({2, 2, 6, 7})};

TEST(AttentionTest, HeadsShareKeysAndValues) {
  CheckCase(AttentionOf(kOperands, {{"is_causal", int64_t{1}}}), 1);
}

// Softmax of nothing is NaN: a query that no key may see has zeros, and so has
// its gradient.
TEST(AttentionTest, AQueryWithoutKeysHasZeros) {
  OpCase c = AttentionOf({F32({1, 1, 2, 2}),
                          F32({1, 1, 3, 2}),
                          F32({1, 1, 3, 2}),
                          {DType::kBool, {2, 1}}},
                         {});
  HostTensors in = {{c.in[0], {1, 2, 3, 4}},
                    {c.in[1], {1, 2, 3, 4, 5, 6}},
                    {c.in[2], {1, 2, 3, 4, 5, 6}},
                    {c.in[3], {0, 1}}};
  const HostTensors gradients =
      GradientsThroughGraph(c, in, {{F32({1, 1, 2, 2}), {1, 1, 0, 0}}});
  for (const HostTensor& gradient : gradients) {
    for (const double g : gradient.data) EXPECT_EQ(g, 0);
  }
  c.ranges[3] = {0, 1};  // no query sees anything
  CheckCase(c, 1);
}

TEST(AttentionTest, RefusesWhatDoesNotFit) {
  const TensorType& q = kOperands[0];
  const TensorType& k = kOperands[1];
  const TensorType& v = kOperands[2];
  ExpectRefused("Attention", {q, F32({2, 3, 6, 3}), F32({2, 3, 6, 7})}, {},
                "the heads of k must divide those of q, got 3 and 4");
  ExpectRefused("Attention", {q, F32({2, 2, 6, 4}), v}, {},
                "must agree in batch and key size");
  ExpectRefused("Attention", {q, k, F32({2, 2, 5, 7})}, {},
                "k and v in heads and length");
  ExpectRefused("Attention", {q, k, v, F32({5, 5})}, {},
                "attn_mask must be f32 or bool and broadcast to [2,4,5,6]");
  ExpectRefused("Attention", {q, k, v, I64({5, 6})}, {}, "attn_mask must be");
  ExpectRefused("Attention", {F32({2, 5, 12}), F32({2, 6, 6}), F32({2, 6, 14})},
                {{"q_num_heads", int64_t{5}}, {"kv_num_heads", int64_t{2}}},
                "must divide the last axes");
  ExpectRefused("Attention", {q, k, v}, {{"softmax_precision", int64_t{10}}},
                "softmax_precision must be 1");
  ExpectRefused("Attention", {q, k, F32({2, 6})}, {}, "of one rank, 3 or 4");
}

}  // namespace
}  // namespace reprise
