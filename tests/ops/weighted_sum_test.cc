#include <vector>

#include "core/tensor_type.h"
#include "gtest/gtest.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

OpCase WeightedSum(Dims dims, Floats weights) {
  OpCase c;
  c.op = "WeightedSum";
  for (size_t i = 0; i < weights.size(); ++i) c.in.push_back(F32(dims));
  c.attrs = {{"weights", weights}};
  c.gradient = false;
  c.definition = [](const HostTensors& in, const Attrs& attrs) {
    HostTensor y = in[0];
    for (size_t i = 0; i < y.data.size(); ++i) {
      y.data[i] = 0;
      for (size_t k = 0; k < in.size(); ++k) {
        y.data[i] += attrs.FloatList("weights")[k] * in[k].data[i];
      }
    }
    return HostTensors{y};
  };
  return c;
}

TEST(WeightedSumTest, MatchesDefinition) {
  CheckForward(WeightedSum({}, {1.0f}), 1);
  CheckForward(WeightedSum({}, {1.0f, 0.5f, -2.0f}), 2);
  CheckForward(WeightedSum({3, 5}, {0.25f, 3.0f}), 3);
  CheckForward(WeightedSum({0}, {1.0f}), 4);
}

TEST(WeightedSumTest, RefusesAnotherNumberOfWeights) {
  ExpectRefused("WeightedSum", {F32({}), F32({})}, {{"weights", Floats{1}}},
                "one weight for each operand, got 1 for 2");
}

}  // namespace
}  // namespace reprise
