#include "core/initialize.h"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/proto_file.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

proto::Initializer Parse(absl::string_view text) {
  proto::Initializer initializer;
  EXPECT_TRUE(ParseText(text, "test", initializer).ok());
  return initializer;
}

template <typename T = float>
std::vector<T> Fill(absl::string_view text, const TensorType& type,
                    absl::string_view name = "w", uint64_t seed = 1) {
  std::vector<T> data(type.num_elements() + 1, T{77});
  const absl::Status status =
      FillInitial(Parse(text), name, type, seed,
                  absl::MakeSpan(reinterpret_cast<char*>(data.data()),
                                 data.size() * sizeof(T)));
  EXPECT_TRUE(status.ok()) << status;
  // What lies behind the value is left alone.
  EXPECT_EQ(data.back(), T{77});
  data.pop_back();
  return data;
}

TensorType F32(Dims dims) { return {DType::kF32, std::move(dims)}; }

struct Moments {
  double mean = 0;
  double variance = 0;
  double kurtosis = 0;  // fourth central moment / variance^2
};

Moments MomentsOf(const std::vector<float>& data) {
  Moments moments;
  for (const float x : data) moments.mean += x;
  moments.mean /= static_cast<double>(data.size());
  double fourth = 0;
  for (const float x : data) {
    const double d = x - moments.mean;
    moments.variance += d * d;
    fourth += d * d * d * d;
  }
  moments.variance /= static_cast<double>(data.size());
  fourth /= static_cast<double>(data.size());
  moments.kurtosis = fourth / (moments.variance * moments.variance);
  return moments;
}

TEST(FillInitialTest, ConstantFillsEveryElementOfEveryDType) {
  const std::string three = "constant: 3";
  EXPECT_EQ(Fill(three, F32({2})), (std::vector<float>{3, 3}));
  EXPECT_EQ(Fill<int32_t>(three, {DType::kI32, {2}}),
            (std::vector<int32_t>{3, 3}));
  EXPECT_EQ(Fill<int64_t>("constant: -3", {DType::kI64, {2}}),
            (std::vector<int64_t>{-3, -3}));
  EXPECT_EQ(Fill<uint8_t>("constant: 200", {DType::kU8, {2}}),
            (std::vector<uint8_t>{200, 200}));
}

TEST(FillInitialTest, IdentityHasOnesWhereTheIndicesAreEqual) {
  EXPECT_EQ(Fill("identity: true", F32({2, 3})),
            (std::vector<float>{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(Fill("identity: true", F32({3, 2})),
            (std::vector<float>{1, 0, 0, 1, 0, 0}));
  EXPECT_EQ(Fill("identity: true", F32({0, 2})), std::vector<float>{});
}

TEST(FillInitialTest, ValueIsCopiedWhateverFieldHoldsIt) {
  const std::string type = "type { dtype: INT32 dim { symbol: \"two\" } } ";
  EXPECT_EQ(
      Fill<int32_t>("value { " + type + "i: [5, -6] }", {DType::kI32, {2}}),
      (std::vector<int32_t>{5, -6}));
  EXPECT_EQ(Fill<int32_t>("value { " + type +
                              "data: \"\\001\\000\\000\\000\\002\\001"
                              "\\000\\000\" }",
                          {DType::kI32, {2}}),
            (std::vector<int32_t>{1, 258}));
}

// 100,000 draws: the standard error of the mean is sigma / 316, that of the
// variance about sigma^2 * sqrt(2) / 316 (less for uniform draws). The limits
// are five of them.
TEST(FillInitialTest, NormalDrawsHaveTheirMoments) {
  const std::vector<float> x =
      Fill("normal { mean: 3 stddev: 2 }", F32({100000}));
  const Moments moments = MomentsOf(x);
  EXPECT_NEAR(moments.mean, 3, 5 * 2 / 316.0);
  EXPECT_NEAR(moments.variance, 4, 5 * 4 * 1.42 / 316);
  // A normal distribution has kurtosis 3, with standard error sqrt(24) / 316.
  EXPECT_NEAR(moments.kurtosis, 3, 5 * 4.9 / 316);
}

TEST(FillInitialTest, UniformDrawsFillTheirRange) {
  const std::vector<float> x =
      Fill("uniform { low: -1 high: 3 }", F32({100000}));
  for (const float v : x) {
    ASSERT_GE(v, -1);
    ASSERT_LT(v, 3);
  }
  const Moments moments = MomentsOf(x);
  // Variance of a uniform distribution: width^2 / 12 = 16 / 12; kurtosis 1.8.
  EXPECT_NEAR(moments.mean, 1, 5 * 1.16 / 316);
  EXPECT_NEAR(moments.variance, 16.0 / 12, 5 * 1.34 / 316);
  EXPECT_NEAR(moments.kurtosis, 1.8, 0.05);
}

// fan_in = 250 and fan_out = 400 of a [250,400] matrix; of a [400,10,5,5]
// convolution they are 10 * 25 = 250 and 400 * 25 = 10,000.
TEST(FillInitialTest, VarianceScalingDividesByTheFan) {
  const std::string he = "variance_scaling { scale: 2 mode: FAN_IN }";
  const double error = 5 * 1.42 / 316;  // relative; at least 100,000 draws
  EXPECT_NEAR(MomentsOf(Fill(he, F32({250, 400}))).variance * 250 / 2, 1,
              error);
  EXPECT_NEAR(MomentsOf(Fill(he, F32({400, 10, 5, 5}))).variance * 250 / 2, 1,
              error);
  EXPECT_NEAR(
      MomentsOf(Fill("variance_scaling { scale: 1 mode: FAN_OUT normal: true }",
                     F32({400, 10, 5, 5})))
              .variance *
          10000,
      1, error);
  const Moments glorot = MomentsOf(
      Fill("variance_scaling { scale: 1 mode: FAN_AVG }", F32({250, 400})));
  EXPECT_NEAR(glorot.variance * 325, 1, error);
  EXPECT_NEAR(glorot.kurtosis, 1.8, 0.05);
}

TEST(FillInitialTest, NothingSetMeansGlorotForMatricesAndZerosElsewhere) {
  EXPECT_EQ(Fill("", F32({4, 5})),
            Fill("variance_scaling { scale: 1 mode: FAN_AVG }", F32({4, 5})));
  EXPECT_EQ(Fill("", F32({3})), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(Fill<int64_t>("", {DType::kI64, {1, 2}}),
            (std::vector<int64_t>{0, 0}));
}

TEST(FillInitialTest, DrawsDependOnSeedNameAndIndexOnly) {
  const std::string normal = "normal { stddev: 1 }";
  const std::vector<float> x = Fill(normal, F32({100}));
  EXPECT_EQ(x, Fill(normal, F32({100})));
  EXPECT_NE(x, Fill(normal, F32({100}), "v"));
  EXPECT_NE(x, Fill(normal, F32({100}), "w", 2));
  // A longer value begins with the shorter one's elements.
  std::vector<float> longer = Fill(normal, F32({200}));
  longer.resize(100);
  EXPECT_EQ(x, longer);
}

// Computed from the formulas by another program in double. Normal draws are
// 0.042, -1.436 and 0.553.
TEST(FillInitialTest, BitsAreTheSameOnEveryMachine) {
  const auto bits = [](const std::vector<float>& x) {
    std::vector<uint32_t> words(x.size());
    std::memcpy(words.data(), x.data(), x.size() * sizeof(float));
    return words;
  };
  EXPECT_EQ(bits(Fill("normal { stddev: 1 }", F32({3}))),
            (std::vector<uint32_t>{0x3d2b4902, 0xbfb7d069, 0x3f0d85c0}));
  EXPECT_EQ(bits(Fill("uniform { low: 0 high: 1 }", F32({3}))),
            (std::vector<uint32_t>{0x3f2444eb, 0x3dea1eb8, 0x3f1db09f}));
}

TEST(FillInitialTest, WhatDoesNotFitIsRefusedByName) {
  std::vector<float> data(4);
  const absl::Span<char> bytes =
      absl::MakeSpan(reinterpret_cast<char*>(data.data()), 16);
  EXPECT_EQ(
      FillInitial(Parse("identity: true"), "w", F32({4}), 1, bytes).message(),
      "'w': identity needs rank 2, got f32[4]");
  EXPECT_EQ(FillInitial(Parse("value { type { dtype: INT32 dim { value: 4 } } "
                              "i: [1, 2, 3, 4] }"),
                        "w", F32({4}), 1, bytes)
                .message(),
            "'w': value is i32[4], not f32[4]");
}

}  // namespace
}  // namespace reprise
