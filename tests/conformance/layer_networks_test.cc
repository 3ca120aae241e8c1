// What is read of the index, and entries that are bad.

#include "tests/conformance/layer_networks.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

absl::StatusOr<LayerCase> Parse(const char* text) {
  return ParseLayerCase(
      nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false));
}

TEST(LayerCaseTest, SaysWhatTheEntrySays) {
  const absl::StatusOr<LayerCase> c = Parse(
      R"({"layer": "A", "props": ["unit=5", "stride=2,3", "on=true"],
          "input": "1:2:3:4, 5:6:7:8", "rest": ", bn_inference_option, 1"})");
  ASSERT_TRUE(c.ok()) << c.status();
  EXPECT_EQ(c->layer, "A");
  EXPECT_EQ(c->Int("unit", 0), 5);
  EXPECT_EQ(c->List("stride", 2, 1), (Ints{2, 3}));
  EXPECT_EQ(c->List("dilation", 2, 1), (Ints{1, 1}));
  EXPECT_TRUE(c->Bool("on"));
  EXPECT_FALSE(c->Bool("off"));
  EXPECT_EQ(c->inputs, (std::vector<Dims>{{1, 2, 3, 4}, {5, 6, 7, 8}}));
  EXPECT_TRUE(c->inference);
  EXPECT_TRUE(c->has_weight_gradients);
  EXPECT_TRUE(c->has_input_gradients);
}

TEST(LayerCaseTest, BadEntriesAreErrors) {
  for (const char* text :
       {"", "[]", "{}", R"({"layer": 1, "input": "1:1:1:1"})",
        R"({"layer": "A"})", R"({"layer": "A", "input": ""})",
        R"({"layer": "A", "input": "1:2:3"})",
        R"({"layer": "A", "input": "1:2:x:4"})",
        R"({"layer": "A", "input": "1:1:1:1", "props": [1]})",
        R"({"layer": "A", "input": "1:1:1:1", "rest": 1})"}) {
    EXPECT_EQ(Parse(text).status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
}

TEST(LayerNetworkTest, LayersWithoutOneAreNull) {
  EXPECT_EQ(FindLayerNetwork("YoloLayer"), nullptr);
  EXPECT_NE(FindLayerNetwork("Conv2DLayer"), nullptr);
}

}  // namespace
}  // namespace reprise
