#include <cmath>
#include <cstdint>
#include <string>

#include "core/tensor_type.h"
#include "gtest/gtest.h"
#include "tests/ops/layer_cases.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

const char kOp[] = "NegativeLogLikelihoodLoss";

TEST(NegativeLogLikelihoodLossTest, MatchesDefinition) {
  uint64_t seed = 0;
  for (const char* reduction : {"none", "sum", "mean"}) {
    for (const bool weights : {false, true}) {
      CheckCase(LabelLossOf(kOp, {4, 3, 2}, DType::kI64, weights,
                            {{"reduction", std::string(reduction)}}),
                ++seed);
    }
  }
}

TEST(NegativeLogLikelihoodLossTest, GradientReadsLabelsAndWeightsOnly) {
  EXPECT_EQ(KeptValues(LabelLossOf(kOp, {4, 3}, DType::kI64, true, {})),
            "x1 x2");
}

TEST(NegativeLogLikelihoodLossTest, AnInvalidLabelMakesTheLossNaN) {
  const OpCase c = LabelLossOf(kOp, {1, 2}, DType::kI32, false, {});
  EXPECT_TRUE(
      std::isnan(RunOp(c, {{c.in[0], {1, 2}}, {c.in[1], {2}}})[0].data[0]));
}

TEST(NegativeLogLikelihoodLossTest, RefusesLabelsThatDoNotFit) {
  ExpectRefused(kOp, {F32({4, 3}), I64({3})}, {}, "must be [4], got i64[3]");
}

}  // namespace
}  // namespace reprise
