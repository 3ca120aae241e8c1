#include <cmath>
#include <cstdint>
#include <vector>

#include "core/tensor_type.h"
#include "gtest/gtest.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

OpCase SquaredNorm(Dims dims) {
  OpCase c;
  c.op = "SquaredNorm";
  c.in = {F32(std::move(dims))};
  c.gradient = false;
  c.definition = [](const HostTensors& in, const Attrs&) {
    double sum = 0;
    for (const double x : in[0].data) sum += x * x;
    return HostTensors{{F32({}), {sum}}};
  };
  return c;
}

double Coefficient(const std::vector<double>& norms, float max_norm) {
  OpCase c;
  c.op = "ClipCoefficient";
  c.attrs = {{"max_norm", max_norm}};
  HostTensors in;
  for (const double norm : norms) {
    c.in.push_back(F32({}));
    in.push_back({F32({}), {norm}});
  }
  return RunOp(c, in)[0].data[0];
}

// The last one has three blocks of 2^15 elements.
TEST(SquaredNormTest, MatchesDefinition) {
  uint64_t seed = 0;
  for (const Dims& dims :
       {Dims{}, Dims{0}, Dims{37}, Dims{3, 5}, Dims{90000}}) {
    CheckForward(SquaredNorm(dims), ++seed);
  }
}

// 2^24 + 1 is no float: a float sum would stay at 2^24.
TEST(SquaredNormTest, AddsSmallSquaresToLargeOnes) {
  std::vector<double> x(1025, 1.0);
  x[0] = 4096;
  EXPECT_EQ(RunOp(SquaredNorm({1025}), {{F32({1025}), x}})[0].data[0],
            4096.0 * 4096 + 1024);
}

// sqrt(9 + 16) = 5.
TEST(ClipCoefficientTest, ScalesToTheLargestNorm) {
  EXPECT_FLOAT_EQ(Coefficient({9, 16}, 2.5f), 0.5f);
}

TEST(ClipCoefficientTest, LeavesSmallGradientsAlone) {
  EXPECT_EQ(Coefficient({9, 16}, 6.0f), 1);
  EXPECT_EQ(Coefficient({0}, 1e-3f), 1);
}

TEST(ClipCoefficientTest, RefusesANormThatIsNotAboveZero) {
  ExpectRefused("ClipCoefficient", {F32({})}, {{"max_norm", 0.0f}},
                "max_norm must be above 0, got 0");
  ExpectRefused("ClipCoefficient", {F32({1})}, {{"max_norm", 1.0f}},
                "operands must be f32[], got f32[1]");
}

}  // namespace
}  // namespace reprise
