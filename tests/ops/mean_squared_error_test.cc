#include <cmath>
#include <cstdint>
#include <string>

#include "core/tensor_type.h"
#include "gtest/gtest.h"
#include "tests/ops/layer_cases.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

TEST(MeanSquaredErrorTest, MatchesDefinition) {
  uint64_t seed = 0;
  for (const char* reduction : {"none", "sum", "mean"}) {
    for (const Dims& dims : {Dims{}, Dims{5}, Dims{3, 7}, Dims{2, 100}}) {
      CheckCase(SquaredErrorOf(dims, reduction), ++seed);
    }
  }
}

// Three blocks of 2^15 elements.
TEST(MeanSquaredErrorTest, AddsUpManyElements) {
  OpCase c = SquaredErrorOf({90000}, "mean");
  c.gradient = false;
  CheckCase(c, 1);
}

TEST(MeanSquaredErrorTest, TheMeanOfNothingIsNaN) {
  const OpCase c = SquaredErrorOf({0}, "mean");
  EXPECT_TRUE(std::isnan(RunOp(c, {{c.in[0], {}}, {c.in[1], {}}})[0].data[0]));
}

TEST(MeanSquaredErrorTest, GradientReadsBothOperands) {
  EXPECT_EQ(KeptValues(SquaredErrorOf({3}, "mean")), "x0 x1");
}

TEST(MeanSquaredErrorTest, RefusesWhatDoesNotFit) {
  ExpectRefused("MeanSquaredError", {F32({3}), F32({1})}, {},
                "operands must be of one type");
  ExpectRefused("MeanSquaredError", {F32({3}), F32({3})},
                {{"reduction", std::string("")}}, "reduction must be");
}

}  // namespace
}  // namespace reprise
