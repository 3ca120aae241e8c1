#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor_type.h"
#include "gtest/gtest.h"
#include "tests/ops/layer_cases.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

TEST(ConvTest, MatchesDefinition) {
  CheckCase(ConvOf({2, 3, 5, 4}, {4, 3, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}),
            1);
  CheckCase(ConvOf({2, 3, 5, 4}, {4, 3, 3, 2}, {}, /*bias=*/false), 2);
  CheckCase(ConvOf({1, 17, 4, 3}, {3, 17, 2, 2}, {}), 3);
  CheckCase(ConvOf({2, 4, 5, 5}, {6, 4, 1, 1}, {}), 4);
}

TEST(ConvTest, TakesOneChannelAndOnePixel) {
  CheckCase(ConvOf({2, 1, 7, 6}, {4, 1, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}),
            1);
  CheckCase(ConvOf({2, 4, 1, 1}, {5, 4, 1, 1}, {}), 2);
  CheckCase(ConvOf({2, 3, 5, 4}, {1, 3, 3, 3}, {}), 3);
}

TEST(ConvTest, StridesDilatesAndPadsUnevenly) {
  CheckCase(ConvOf({1, 3, 7, 6}, {2, 3, 3, 3},
                   {{"strides", Ints{2, 3}}, {"pads", Ints{1, 0, 2, 1}}}),
            1);
  CheckCase(ConvOf({1, 3, 6, 6}, {2, 3, 3, 3},
                   {{"dilations", Ints{2, 2}}, {"pads", Ints{2, 2, 2, 2}}}),
            2);
  CheckCase(ConvOf({2, 4, 5, 5}, {5, 4, 1, 1}, {{"strides", Ints{2, 2}}}), 3);
}

TEST(ConvTest, PadsByItself) {
  uint64_t seed = 0;
  for (const char* auto_pad : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    CheckCase(
        ConvOf({2, 3, 5, 4}, {4, 3, 3, 2},
               {{"auto_pad", std::string(auto_pad)}, {"strides", Ints{2, 1}}}),
        ++seed);
  }
}

TEST(ConvTest, WorksInGroups) {
  const Ints pads = {1, 1, 1, 1};
  CheckCase(ConvOf({2, 6, 5, 5}, {4, 3, 3, 3},
                   {{"group", int64_t{2}}, {"pads", pads}}),
            1);
  // Depthwise: each channel for itself.
  CheckCase(ConvOf({2, 5, 4, 4}, {5, 1, 3, 3},
                   {{"group", int64_t{5}}, {"pads", pads}}),
            2);
  CheckCase(ConvOf({1, 16, 4, 4}, {16, 1, 3, 3},
                   {{"group", int64_t{16}}, {"strides", Ints{2, 2}}}),
            3);
  CheckCase(ConvOf({1, 8, 4, 4}, {16, 1, 3, 3}, {{"group", int64_t{8}}}), 4);
}

TEST(ConvTest, WorksInOneAndThreeDimensions) {
  CheckCase(ConvOf({2, 3, 11}, {4, 3, 3}, {{"pads", Ints{1, 1}}}), 1);
  CheckCase(
      ConvOf({1, 2, 4, 3, 4}, {2, 2, 2, 3, 3}, {{"strides", Ints{1, 2, 1}}}),
      2);
}

TEST(ConvTest, TakesAnEmptyBatch) {
  CheckCase(ConvOf({0, 3, 7, 6}, {4, 3, 3, 3}, {}), 1);
}

TEST(ConvTest, EachGradientReadsTheOtherOperand) {
  const OpCase c = ConvOf({2, 3, 5, 4}, {4, 3, 3, 3}, {});
  EXPECT_EQ(KeptValues(c), "x0 x1");
  EXPECT_EQ(KeptValues(c, {0}), "x1");
  EXPECT_EQ(KeptValues(c, {1, 2}), "x0");
  EXPECT_EQ(KeptValues(c, {2}), "");
}

TEST(ConvTest, RefusesWhatDoesNotFit) {
  ExpectRefused("Conv", {F32({2, 3, 7, 6}), F32({4, 2, 3, 3})}, {},
                "group * w's channels");
  ExpectRefused("Conv", {F32({2, 3, 2, 6}), F32({4, 3, 3, 3})}, {},
                "a window of 3 does not fit into 2 elements");
  ExpectRefused("Conv", {F32({2, 3, 7, 6}), F32({4, 3, 3, 3})},
                {{"pads", Ints{1, 1}}}, "pads must have 4 entries");
  ExpectRefused("Conv", {F32({2, 3, 7, 6}), F32({4, 3, 3, 3})},
                {{"strides", Ints{0, 1}}}, "strides must be at least 1");
  ExpectRefused("Conv", {F32({2, 3, 7, 6}), F32({4, 3, 3, 3})},
                {{"kernel_shape", Ints{3, 2}}}, "kernel_shape must be [3,3]");
  ExpectRefused("Conv", {F32({2, 3, 7, 6}), F32({4, 3, 3, 3})},
                {{"auto_pad", std::string("SAME")}}, "auto_pad must be");
  ExpectRefused("Conv", {F32({2, 3, 7, 6}), F32({4, 3, 3, 3}), F32({3})}, {},
                "bias must be f32[4]");
}

TEST(ConvTest, NamesTheBoundThatIsBroken) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  const std::vector<TensorType> in = {F32({2, 3, 7, 6}), F32({4, 3, 3, 3})};
  ExpectRefused("Conv", in, {{"strides", Ints{kHuge, 1}}},
                "strides must be at most 2147483647, got "
                "[9223372036854775807,1]");
  ExpectRefused("Conv", in, {{"dilations", Ints{1, kHuge}}},
                "dilations must be at most 2147483647");
  ExpectRefused("Conv", in, {{"pads", Ints{0, 0, 0, kHuge}}},
                "pads must be at most 2147483647");
  ExpectRefused("Conv", in, {{"pads", Ints{0, -1, 0, 0}}},
                "pads must be at least 0, got [0,-1,0,0]");
}

// 3 elements at stride 3, windows of 3: 9 positions; one more is asked for,
// which no window reaches.
TEST(ConvTransposeTest, PadsWhatNoWindowReaches) {
  OpCase c = ConvTransposeOf({1, 1, 3}, {1, 1, 3},
                             {{"strides", Ints{3}}, {"output_shape", Ints{10}}},
                             /*bias=*/true);
  CheckCase(c, 1);
  c.attrs = Attrs{{"strides", Ints{3}}, {"output_padding", Ints{4}}};
  CheckCase(c, 2);
}

TEST(ConvTransposeTest, EachGradientReadsTheOtherOperand) {
  const OpCase c = ConvTransposeOf({2, 3, 5, 4}, {3, 4, 3, 3}, {});
  EXPECT_EQ(KeptValues(c), "x0 x1");
  EXPECT_EQ(KeptValues(c, {0}), "x1");
  EXPECT_EQ(KeptValues(c, {1, 2}), "x0");
  EXPECT_EQ(KeptValues(c, {2}), "");
}

TEST(ConvTransposeTest, RefusesWhatDoesNotFit) {
  const std::vector<TensorType> in = {F32({2, 4, 5}), F32({4, 3, 3})};
  ExpectRefused("ConvTranspose", {in[0], F32({3, 3, 3})}, {},
                "a filter for each channel of x");
  ExpectRefused("ConvTranspose", in, {{"group", int64_t{3}}},
                "group must divide them");
  ExpectRefused("ConvTranspose", in, {{"pads", Ints{4, 4}}},
                "pads must leave something of the 7 positions");
  ExpectRefused("ConvTranspose", in, {{"strides", Ints{0}}},
                "strides must be at least 1, got [0]");
  ExpectRefused("ConvTranspose", in, {{"strides", Ints{int64_t{1} << 31}}},
                "strides must be at most 2147483647, got [2147483648]");
  ExpectRefused("ConvTranspose", in, {{"strides", Ints{1, 1}}},
                "strides must have 1 entries, got [1,1]");
  ExpectRefused("ConvTranspose", in, {{"kernel_shape", Ints{2}}},
                "kernel_shape must be [3]");
  ExpectRefused("ConvTranspose", in,
                {{"pads", Ints{1, 1}}, {"output_shape", Ints{5}}},
                "takes pads, or auto_pad or output_shape, got both");
  ExpectRefused("ConvTranspose", {in[0], in[1], F32({4})}, {},
                "bias must be f32[3]");
}

}  // namespace
}  // namespace reprise
