#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor_type.h"
#include "gtest/gtest.h"
#include "tests/ops/layer_cases.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

TEST(GemmTest, TransposesEitherOperand) {
  for (const int64_t trans_a : {0, 1}) {
    for (const int64_t trans_b : {0, 1}) {
      CheckCase(GemmOf({F32(trans_a ? Dims{17, 5} : Dims{5, 17}),
                        F32(trans_b ? Dims{33, 17} : Dims{17, 33})},
                       {{"transA", trans_a}, {"transB", trans_b}}),
                1 + 2 * trans_a + trans_b);
    }
  }
}

// [n] and [1, n] are oneDNN's bias where alpha and beta are 1; all else is
// added by a loop of ours.
TEST(GemmTest, BroadcastsC) {
  uint64_t seed = 0;
  for (const float alpha : {1.0f, 0.5f}) {
    for (const float beta : {1.0f, 2.0f, 0.0f}) {
      for (const Dims& c :
           {Dims{}, Dims{5}, Dims{1}, Dims{1, 5}, Dims{3, 1}, Dims{3, 5}}) {
        CheckCase(GemmOf({F32({3, 4}), F32({4, 5}), F32(c)},
                         {{"alpha", alpha}, {"beta", beta}}),
                  ++seed);
      }
    }
  }
}

TEST(GemmTest, HandlesSizesOfZero) {
  CheckCase(GemmOf({F32({0, 4}), F32({4, 5}), F32({5})}, {}), 1);
  CheckCase(GemmOf({F32({3, 0}), F32({0, 5}), F32({5})}, {}), 2);
  CheckCase(GemmOf({F32({3, 0}), F32({0, 5}), F32({3, 1})}, {}), 3);
}

TEST(GemmTest, GradientsReadTheOtherOperandAndNeverC) {
  const OpCase c = GemmOf({F32({3, 4}), F32({4, 5}), F32({5})}, {});
  EXPECT_EQ(KeptValues(c), "x0 x1");
  EXPECT_EQ(KeptValues(c, {2}), "");
}

TEST(GemmTest, RefusesWhatDoesNotFit) {
  ExpectRefused("Gemm", {F32({3, 4}), F32({3, 5})}, {},
                "inner dims must agree, got [3,4] x [3,5]");
  ExpectRefused("Gemm", {F32({3, 4}), F32({4, 5}), F32({4})}, {},
                "c must be broadcastable to f32[3,5], got f32[4]");
  ExpectRefused("Gemm", {F32({2, 3, 4}), F32({4, 5})}, {}, "matrices");
}

}  // namespace
}  // namespace reprise
