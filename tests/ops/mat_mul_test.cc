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

TEST(MatMulTest, MatchesDefinition) {
  uint64_t seed = 0;
  for (const auto& [a, b] :
       std::vector<std::pair<Dims, Dims>>{{{3, 4}, {4, 5}},
                                          {{7, 33}, {33, 18}},
                                          {{1, 7}, {7, 1}},
                                          {{5, 1}, {1, 6}},
                                          {{1, 1}, {1, 1}}}) {
    CheckCase(MatMulOf(a, b), ++seed);
  }
}

TEST(MatMulTest, TakesVectors) {
  CheckCase(MatMulOf({4}, {4}), 1);
  CheckCase(MatMulOf({3, 4}, {4}), 2);
  CheckCase(MatMulOf({4}, {4, 5}), 3);
  CheckCase(MatMulOf({2, 3, 4}, {4}), 4);
  CheckCase(MatMulOf({4}, {2, 4, 5}), 5);
}

TEST(MatMulTest, BroadcastsBatchDims) {
  uint64_t seed = 0;
  for (const auto& [a, b] :
       std::vector<std::pair<Dims, Dims>>{{{2, 3, 4}, {2, 4, 5}},
                                          {{2, 3, 4}, {4, 5}},
                                          {{3, 4}, {2, 4, 5}},
                                          {{2, 3, 4}, {1, 4, 5}},
                                          {{2, 1, 3, 4}, {1, 3, 4, 5}},
                                          {{3, 2, 3, 4}, {2, 4, 5}},
                                          {{2, 3, 2, 3, 4}, {2, 1, 2, 4, 5}}}) {
    CheckCase(MatMulOf(a, b), ++seed);
  }
}

// A product of no terms is 0; oneDNN would leave it unwritten or crash.
TEST(MatMulTest, HandlesSizesOfZero) {
  uint64_t seed = 0;
  for (const auto& [a, b] :
       std::vector<std::pair<Dims, Dims>>{{{0, 4}, {4, 5}},
                                          {{3, 0}, {0, 5}},
                                          {{3, 4}, {4, 0}},
                                          {{0, 3, 4}, {4, 5}},
                                          {{2, 3, 0}, {0, 5}},
                                          {{0}, {0}}}) {
    CheckCase(MatMulOf(a, b), ++seed);
  }
}

TEST(MatMulTest, EachGradientReadsTheOtherOperand) {
  const OpCase c = MatMulOf({3, 4}, {4, 5});
  EXPECT_EQ(KeptValues(c), "x0 x1");
  EXPECT_EQ(KeptValues(c, {0}), "x1");
  EXPECT_EQ(KeptValues(c, {1}), "x0");
}

TEST(MatMulTest, RefusesWhatDoesNotFit) {
  ExpectRefused("MatMul", {F32({3, 4}), F32({5, 6})}, {},
                "inner dims must agree, got f32[3,4] x f32[5,6]");
  ExpectRefused("MatMul", {F32({2, 3, 4}), F32({3, 4, 5})}, {}, "batch dims");
  ExpectRefused("MatMul", {F32({}), F32({1})}, {}, "rank >= 1");
  ExpectRefused("MatMul", {I32({2, 2}), F32({2, 2})}, {}, "must be f32");
}

}  // namespace
}  // namespace reprise
