#include <cmath>

#include "core/op_table.h"
#include "core/tensor_type.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

TEST(CheckFiniteTest, HandsTheLossOn) {
  OpCase c;
  c.op = "CheckFinite";
  c.in = {F32({})};
  EXPECT_EQ(RunOp(c, {{F32({}), {1.5}}})[0].data[0], 1.5);
  EXPECT_TRUE(std::isnan(RunOp(c, {{F32({}), {NAN}}})[0].data[0]));
}

TEST(CheckFiniteTest, IsTheGuard) {
  const OpTable ops(AllOps());
  EXPECT_EQ(ops.Get("CheckFinite").effect, Effect::kGuard);
}

TEST(CheckFiniteTest, RefusesWhatIsNoLoss) {
  ExpectRefused("CheckFinite", {F32({1})}, {}, "must be f32[], got f32[1]");
}

}  // namespace
}  // namespace reprise
