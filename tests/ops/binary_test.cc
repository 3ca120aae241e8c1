// What random cases do not show of Add, Sub, Mul and Div.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/op_table.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

OpCase Case(const std::string& op, TensorType a, TensorType b) {
  OpCase c;
  c.op = op;
  c.in = {std::move(a), std::move(b)};
  return c;
}

TEST(BinaryTest, ThreadsShareLongTensorsWithBroadcasting) {
  // 300 * 301 = 90,300 elements: two threads, the border within a row.
  for (const Dims& b : {Dims{301}, Dims{300, 1}, Dims{300, 301}, Dims{}}) {
    OpCase c = Case("Sub", F32({300, 301}), F32(b));
    c.definition = [](const HostTensors& in, const Attrs&) {
      return HostTensors{BroadcastElements(
          in[0], in[1], [](double x, double y) { return x - y; })};
    };
    CheckForward(c, /*seed=*/1);
  }
}

TEST(BinaryTest, IntegersWrapAround) {
  const double most = std::numeric_limits<int32_t>::max();
  const double least = std::numeric_limits<int32_t>::min();
  const HostTensors in = {{I32({1}), {most}}, {I32({1}), {1}}};
  EXPECT_EQ(RunOp(Case("Add", I32({1}), I32({1})), in)[0].data[0], least);
}

TEST(BinaryTest, IntegerDivisionIsDefinedEverywhere) {
  const double least = std::numeric_limits<int32_t>::min();
  const HostTensors in = {{I32({4}), {7, -7, 5, least}},
                          {I32({4}), {2, 2, 0, -1}}};
  EXPECT_EQ(RunOp(Case("Div", I32({4}), I32({4})), in)[0].data,
            (std::vector<double>{3, -3, 0, least}));
}

TEST(BinaryTest, SumsKeepNothing) {
  EXPECT_EQ(KeptValues(Case("Add", F32({2, 3}), F32({3}))), "");
  EXPECT_EQ(KeptValues(Case("Sub", F32({2, 3}), F32({3}))), "");
}

TEST(BinaryTest, AProductKeepsTheOperandOnTheOtherSide) {
  const OpCase c = Case("Mul", F32({2, 3}), F32({3}));
  EXPECT_EQ(KeptValues(c), "x0 x1");
  EXPECT_EQ(KeptValues(c, {0}), "x1");
  EXPECT_EQ(KeptValues(c, {1}), "x0");
}

TEST(BinaryTest, AQuotientKeepsDivisorAndResultButNotTheDividend) {
  const OpCase c = Case("Div", F32({2, 3}), F32({3}));
  EXPECT_EQ(KeptValues(c), "x1 y0");
  EXPECT_EQ(KeptValues(c, {0}), "x1");
}

// Returns the description with operands in the given layouts.
Description Describe(const std::string& op, const std::vector<TensorType>& in,
                     const TensorType& out,
                     const std::vector<Layout>& layouts) {
  const OpTable table(AllOps());
  Signature s;
  s.op = &table.Get(op);
  s.in = in;
  s.out = {out};
  s.in_layouts = layouts;
  return *s.op->describe(s, OpEnv());
}

// An operand in another order of axes is what a convolution hands on.
TEST(BinaryTest, ChannelsLastPassesThrough) {
  const TensorType x = F32({2, 3, 4, 5});
  const Layout last{"acdb"};
  const Description same = Describe("Add", {x, x}, x, {last, last});
  EXPECT_EQ(same.in_layouts, (std::vector<Layout>{last, last}));
  EXPECT_EQ(same.out_layouts, std::vector<Layout>{last});
  // The second operand is asked to match the first.
  EXPECT_EQ(Describe("Add", {x, x}, x, {last, Layout()}).in_layouts[1], last);
  // A bias per channel fits without a reorder.
  const Description bias =
      Describe("Add", {x, F32({3, 1, 1})}, x, {last, Layout()});
  EXPECT_EQ(bias.in_layouts, (std::vector<Layout>{last, Layout()}));
  EXPECT_EQ(bias.out_layouts, std::vector<Layout>{last});
  // Two axes in row-major order do not fit into channels last.
  EXPECT_EQ(
      Describe("Add", {x, F32({3, 1, 5})}, x, {last, Layout()}).out_layouts[0],
      Layout());
  // Padded layouts are not for loops.
  EXPECT_EQ(Describe("Add", {x, x}, x, {Layout{"aBcd16b"}, Layout{"aBcd16b"}})
                .in_layouts[0],
            Layout());
}

TEST(BinaryTest, OnlyAnOperandOfTheResultsSizeMayBeOverwritten) {
  const TensorType x = F32({2, 3});
  const Description d = Describe("Add", {x, F32({3})}, x, {Layout(), Layout()});
  ASSERT_EQ(d.may_overwrite.size(), 1u);
  EXPECT_EQ(d.may_overwrite[0].in, 0);
}

TEST(BinaryTest, RefusesTypesThatDoNotGoTogether) {
  ExpectRefused("Add", {F32({2}), I32({2})}, {}, "f32[2] and i32[2]");
  ExpectRefused("Mul", {{DType::kBool, {2}}, {DType::kBool, {2}}}, {},
                "one type that it takes");
  ExpectRefused("Sub", {F32({2, 3}), F32({2})}, {}, "[2,3]");
}

}  // namespace
}  // namespace reprise
