#include "core/tensor_type.h"

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace reprise {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(TensorTypeTest, CountsElementsAndBytes) {
  const TensorType type = *TensorType::Make(DType::kF32, {2, 3});
  EXPECT_EQ(type.num_elements(), 6);
  EXPECT_EQ(type.bytes(), 24);
  EXPECT_EQ(TensorType::Make(DType::kI64, {})->bytes(), 8);
  EXPECT_EQ(TensorType::Make(DType::kI64, {5, 0})->bytes(), 0);
}

TEST(TensorTypeTest, WritesItselfShortly) {
  EXPECT_EQ(ToString(TensorType{DType::kF32, {32, 784}}), "f32[32,784]");
  EXPECT_EQ(ToString(TensorType{DType::kBool, {}}), "bool[]");
  EXPECT_EQ(ToString(TensorType{}), "none");
}

TEST(TensorTypeTest, RefusesRanksAboveEight) {
  EXPECT_TRUE(TensorType::Make(DType::kU8, Dims(8, 1)).ok());
  EXPECT_EQ(TensorType::Make(DType::kU8, Dims(9, 1)).status().message(),
            "rank 9 of [1,1,1,1,1,1,1,1,1] is above 8");
}

TEST(TensorTypeTest, RefusesNegativeDims) {
  EXPECT_EQ(TensorType::Make(DType::kU8, {2, -1}).status().message(),
            "dim -1 of [2,-1] is negative");
}

TEST(TensorTypeTest, BytesAreAtMostFourTiB) {
  constexpr int64_t kFourTiB = int64_t{1} << 42;
  EXPECT_TRUE(TensorType::Make(DType::kU8, {kFourTiB}).ok());
  EXPECT_FALSE(TensorType::Make(DType::kU8, {kFourTiB + 1}).ok());
  EXPECT_TRUE(TensorType::Make(DType::kF32, {1 << 20, 1 << 20}).ok());
  EXPECT_EQ(
      TensorType::Make(DType::kF32, {1 << 20, 1 << 20, 2}).status().message(),
      "bytes of f32[1048576,1048576,2] exceed 4398046511104");
  EXPECT_FALSE(TensorType::Make(DType::kI64, {kMax, kMax}).ok());
  // Also where another dim makes the value empty: strides are products too.
  EXPECT_FALSE(TensorType::Make(DType::kU8, {0, kMax, 2}).ok());
}

TEST(NormalizeAxisTest, CountsFromBothEnds) {
  EXPECT_EQ(*NormalizeAxis(1, 3, "op"), 1);
  EXPECT_EQ(*NormalizeAxis(-1, 3, "op"), 2);
  EXPECT_EQ(*NormalizeAxis(-3, 3, "op"), 0);
  EXPECT_EQ(NormalizeAxis(3, 3, "op").status().message(),
            "op: axis must be in [-3, 3), got 3");
  EXPECT_FALSE(NormalizeAxis(0, 0, "op").ok());
  EXPECT_FALSE(
      NormalizeAxis(std::numeric_limits<int64_t>::min(), 3, "op").ok());
}

TEST(BroadcastDimsTest, AlignsLastDimsAndStretchesOnes) {
  EXPECT_EQ(*BroadcastDims({2, 3}, {3}, "op"), (Dims{2, 3}));
  EXPECT_EQ(*BroadcastDims({2, 1}, {4, 1, 3}, "op"), (Dims{4, 2, 3}));
  EXPECT_EQ(*BroadcastDims({}, {}, "op"), Dims{});
  EXPECT_EQ(*BroadcastDims({1}, {0}, "op"), Dims{0});
  EXPECT_EQ(BroadcastDims({2, 3}, {2}, "op").status().message(),
            "op: dims must broadcast, got [2,3] and [2]");
  EXPECT_FALSE(BroadcastDims({0}, {2}, "op").ok());
}

}  // namespace
}  // namespace reprise
