#include <vector>

#include "core/tensor_type.h"
#include "gtest/gtest.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

TEST(AccumulateTest, AddsTheScaledGradient) {
  for (const Dims& dims : {Dims{}, Dims{0}, Dims{37}, Dims{70000}}) {
    OpCase c;
    c.op = "Accumulate";
    c.in = {F32(dims), F32(dims)};
    c.attrs = {{"scale", 0.25f}};
    c.gradient = false;
    c.definition = [](const HostTensors& in, const Attrs&) {
      return HostTensors{BroadcastElements(
          in[0], in[1], [](double a, double g) { return a + 0.25 * g; })};
    };
    CheckForward(c, 1);
  }
}

TEST(AccumulateTest, SetZeroLeavesNothing) {
  OpCase c;
  c.op = "SetZero";
  c.in = {F32({37})};
  c.gradient = false;
  c.definition = [](const HostTensors& in, const Attrs&) {
    return HostTensors{{in[0].type, std::vector<double>(37, 0.0)}};
  };
  CheckForward(c, 1);
}

TEST(AccumulateTest, RefusesAGradientOfAnotherType) {
  ExpectRefused("Accumulate", {F32({2}), F32({3})}, {}, "of one type");
}

}  // namespace
}  // namespace reprise
