// What random cases do not show of Reshape, Flatten, Squeeze, Unsqueeze and
// Identity.

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

TEST(ViewTest, GradientsKeepNothing) {
  OpCase c;
  c.op = "Reshape";
  c.in = {F32({2, 3})};
  c.attrs = Attrs{{"shape", Ints{3, -1}}};
  EXPECT_EQ(KeptValues(c), "");
}

TEST(ViewTest, AZeroInAShapeCopiesTheOperandsDim) {
  OpCase c;
  c.op = "Reshape";
  c.in = {F32({2, 3, 4})};
  c.attrs = Attrs{{"shape", Ints{0, -1}}};
  const HostTensors in = {{c.in[0], std::vector<double>(24, 1)}};
  EXPECT_EQ(RunOp(c, in)[0].type.dims, (Dims{2, 12}));
}

TEST(ViewTest, RefusesShapesThatDoNotFit) {
  const std::vector<TensorType> x = {F32({2, 3})};
  ExpectRefused("Reshape", x, Attrs{{"shape", Ints{4, 2}}},
                "number of elements must stay 6, got shape [4,2]");
  ExpectRefused("Reshape", x, Attrs{{"shape", Ints{4, -1}}},
                "number of elements must stay 6");
  ExpectRefused("Reshape", x, Attrs{{"shape", Ints{-1, -1}}}, "at most one");
  ExpectRefused("Reshape", x, Attrs{{"shape", Ints{-2, 3}}}, "at least -1");
  ExpectRefused("Reshape", x, Attrs{{"shape", Ints{2, 3, 0}}}, "no dim 2");
  // The product of the dims would overflow.
  const int64_t huge = int64_t{1} << 40;
  ExpectRefused("Reshape", x, Attrs{{"shape", Ints{huge, huge}}}, "Reshape");
}

TEST(ViewTest, RefusesAxesThatDoNotFit) {
  ExpectRefused("Flatten", {F32({2, 3})}, Attrs{{"axis", int64_t{3}}},
                "axis must be in [-2, 2], got 3");
  ExpectRefused("Squeeze", {F32({2, 1})}, Attrs{{"axes", Ints{0}}},
                "axis 0 must have size 1, got f32[2,1]");
  ExpectRefused("Unsqueeze", {F32({2})}, Attrs{{"axes", Ints{2}}}, "2");
  ExpectRefused("Unsqueeze", {F32({2})}, Attrs{{"axes", Ints{0, 0}}}, "twice");
  ExpectRefused("Unsqueeze", {F32({2, 2, 2, 2, 2, 2, 2, 2})},
                Attrs{{"axes", Ints{0}}}, "at most 8, got 9");
}

}  // namespace
}  // namespace reprise
