// What random cases do not show of Resize.

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ops/layer_cases.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

using Doubles = std::vector<double>;

Doubles Resized(const Doubles& x, Attrs attrs) {
  const OpCase c = ResizeOf({static_cast<int64_t>(x.size())}, std::move(attrs));
  const HostTensors in = {{c.in[0], x}};
  // The node stands for others in the step graph: its definition is what runs
  // there, which CheckCase compares.
  CheckCase(c, 1);
  Attrs complete = c.attrs;
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, AttrValue>>{
           {"mode", std::string("nearest")},
           {"coordinate_transformation_mode", std::string("half_pixel")},
           {"nearest_mode", std::string("round_prefer_floor")},
           {"antialias", int64_t{0}},
           {"cubic_coeff_a", -0.75f},
           {"exclude_outside", int64_t{0}},
           {"extrapolation_value", 0.0f},
           {"keep_aspect_ratio_policy", std::string("stretch")}}) {
    if (!complete.Has(name)) complete.Set(name, value);
  }
  return c.definition(in, complete)[0].data;
}

TEST(ResizeTest, RepeatsTheNearest) {
  EXPECT_EQ(Resized({1, 2}, {{"scales", Floats{2.0f}}}), (Doubles{1, 1, 2, 2}));
}

// Positions -0.25, 0.25, 0.75, 1.25.
TEST(ResizeTest, InterpolatesBetweenTheTwoNearest) {
  EXPECT_EQ(Resized({1, 2}, {{"scales", Floats{2.0f}},
                             {"mode", std::string("linear")}}),
            (Doubles{1, 1.25, 1.75, 2}));
}

// 5 to 3 with the corners where they are: positions 0, 2, 4.
TEST(ResizeTest, AlignsCorners) {
  EXPECT_EQ(Resized({1, 2, 3, 4, 6}, {{"sizes", Ints{3}},
                                      {"mode", std::string("linear")},
                                      {"coordinate_transformation_mode",
                                       std::string("align_corners")}}),
            (Doubles{1, 3, 6}));
}

TEST(ResizeTest, ChannelsLastStaysWhatItIs) {
  CheckCase(ResizeOf({2, 17, 5, 4}, {{"scales", Floats{2.0f, 1.5f}},
                                     {"axes", Ints{2, 3}},
                                     {"mode", std::string("linear")}}),
            1);
}

TEST(ResizeTest, GradientReadsNothing) {
  EXPECT_EQ(
      KeptValues(ResizeOf({2, 3, 4, 4}, {{"scales", Floats{1, 1, 2, 2}}})), "");
}

TEST(ResizeTest, RefusesWhatDoesNotFit) {
  const std::vector<TensorType> x = {F32({2, 3})};
  ExpectRefused("Resize", x, {}, "exactly one of scales and sizes");
  ExpectRefused("Resize", x, {{"scales", Floats{2.0f}}},
                "scales must have 2 entries, got 1");
  ExpectRefused("Resize", x, {{"scales", Floats{2.0f, 0.0f}}},
                "scales must be above 0");
  ExpectRefused("Resize", x, {{"sizes", Ints{2, -1}}},
                "sizes must be at least 0");
  ExpectRefused("Resize", x, {{"sizes", Ints{2, int64_t{1} << 60}}},
                "sizes must be at most 4398046511104, got 1152921504606846976");
  ExpectRefused("Resize", {F32({0})}, {{"sizes", Ints{2}}}, "got 2 for 0");
  ExpectRefused(
      "Resize", x,
      {{"sizes", Ints{2, 2}},
       {"coordinate_transformation_mode", std::string("tf_crop_and_resize")}},
      "tf_crop_and_resize needs a roi of 4 entries");
  ExpectRefused("Resize", x,
                {{"sizes", Ints{2, 2}}, {"mode", std::string("area")}},
                "mode must be one of ONNX's, got 'area'");
}

}  // namespace
}  // namespace reprise
