// What random cases do not show of Cast.

#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

std::vector<double> CastTo(DType to, TensorType type,
                           std::vector<double> content) {
  OpCase c;
  c.op = "Cast";
  c.in = {type};
  c.attrs = Attrs{{"to", to}};
  return RunOp(c, {{type, std::move(content)}})[0].data;
}

// C++ leaves these conversions undefined.
TEST(CastTest, FloatsOutsideAnIntegersRangeAreClamped) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(CastTo(DType::kI32, F32({5}), {1e10, -1e10, inf, -inf, nan}),
            (std::vector<double>{2147483647, -2147483648.0, 2147483647,
                                 -2147483648.0, 0}));
  EXPECT_EQ(CastTo(DType::kU8, F32({3}), {300, -3, 2.9}),
            (std::vector<double>{255, 0, 2}));
}

TEST(CastTest, ABoolIsWhatIsNotZero) {
  EXPECT_EQ(CastTo(DType::kBool, F32({4}), {0, 0.25, -3, 256}),
            (std::vector<double>{0, 1, 1, 1}));
  EXPECT_EQ(CastTo(DType::kBool, I64({2}), {256, 0}),
            (std::vector<double>{1, 0}));
}

}  // namespace
}  // namespace reprise
