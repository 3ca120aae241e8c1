// Files that are good, and files that are cut or lie.

#include "tests/conformance/goldens.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

std::string Int(int32_t value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string Tensor(const GoldenTensor& elements) {
  return absl::StrCat(
      Int(static_cast<int32_t>(elements.size())),
      std::string(reinterpret_cast<const char*>(elements.data()),
                  elements.size() * sizeof(float)));
}

void ExpectInvalid(const absl::Status& status, const std::string& text) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), text)) << status;
  EXPECT_TRUE(absl::StartsWith(status.message(), "a file: ")) << status;
}

void ExpectBadLayer(const std::string& content, const std::string& text) {
  ExpectInvalid(ParseLayerGolden(content, "a file").status(), text);
}

void ExpectBadModel(const std::string& content, const std::string& text) {
  ExpectInvalid(ParseModelGolden(content, "a file").status(), text);
}

TEST(LayerGoldenTest, IsTensorsOneAfterTheOther) {
  const auto tensors =
      ParseLayerGolden(Tensor({1, 2.5f}) + Tensor({}) + Tensor({-3}), "");
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  EXPECT_EQ(*tensors, (GoldenTensors{{1, 2.5f}, {}, {-3}}));
}

TEST(LayerGoldenTest, RefusesLengthsBeyondTheEnd) {
  ExpectBadLayer("", "must have a tensor, got none");
  ExpectBadLayer("abc", "byte 0: a length has 4 bytes, got 3");
  ExpectBadLayer(Int(1), "a tensor of 1 elements does not fit into the 0");
  ExpectBadLayer(Tensor({1}) + Int(-1), "byte 8: a tensor of -1 elements");
  ExpectBadLayer(Int(std::numeric_limits<int32_t>::max()) + "1234",
                 "2147483647 elements does not fit into the 4 bytes");
  // Every prefix that is not itself whole tensors.
  const std::string whole = Tensor({1, 2, 3}) + Tensor({4});
  for (size_t n = 0; n < whole.size(); ++n) {
    EXPECT_EQ(ParseLayerGolden(whole.substr(0, n), "").ok(), n == 16) << n;
  }
}

TEST(ModelGoldenTest, IsEqualIterations) {
  const auto iterations = ParseModelGolden(
      Int(2) + Tensor({1, 2}) + Tensor({3}) + Tensor({4, 5}) + Tensor({6}), "");
  ASSERT_TRUE(iterations.ok()) << iterations.status();
  ASSERT_EQ(iterations->size(), 2u);
  EXPECT_EQ((*iterations)[0], (GoldenTensors{{1, 2}, {3}}));
  EXPECT_EQ((*iterations)[1], (GoldenTensors{{4, 5}, {6}}));
}

TEST(ModelGoldenTest, RefusesIterationsThatDiffer) {
  ExpectBadModel("ab", "the number of iterations has 4 bytes, got 2");
  ExpectBadModel(Int(1), "must have a tensor, got none");
  ExpectBadModel(Int(0) + Tensor({1}), "1 or more equal iterations, got 0");
  ExpectBadModel(Int(-4) + Tensor({1}), "1 or more equal iterations, got -4");
  ExpectBadModel(Int(2) + Tensor({1}), "1 tensors must be those of");
  ExpectBadModel(Int(2147483647) + Tensor({1}), "got 2147483647");
  ExpectBadModel(
      Int(2) + Tensor({1, 2}) + Tensor({3}) + Tensor({4, 5}) + Tensor({6, 7}),
      "tensor 1 must have 1 elements in every iteration, got 2 in iteration 1");
}

TEST(GoldenFileTest, AMissingFileIsAnError) {
  EXPECT_EQ(ReadLayerGolden("/nowhere/a.nnlayergolden").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadModelGolden("/nowhere/a.nnmodelgolden").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(ExcessTest, IsWhatTheRelativeToleranceDoesNotCover) {
  const float got[] = {1, 2.5f};
  EXPECT_EQ(Excess(got, 2, {1, 2.5f}, 0), 0);
  EXPECT_EQ(Excess(got, 2, {1, 2}, 0), 0.5);
  EXPECT_EQ(Excess(got, 2, {1, 2}, 0.125), 0.25);
  EXPECT_TRUE(std::isinf(Excess(got, 2, {1}, 1)));
}

TEST(ExcessTest, WhatIsNotANumberAgreesWithItselfAlone) {
  const float nan = std::nanf("");
  const float inf = std::numeric_limits<float>::infinity();
  const float got[] = {nan, inf};
  EXPECT_EQ(Excess(got, 2, {nan, inf}, 0), 0);
  EXPECT_TRUE(std::isinf(Excess(got, 2, {0, inf}, 1)));
  EXPECT_TRUE(std::isinf(Excess(got, 2, {nan, -inf}, 1)));
  EXPECT_TRUE(std::isinf(Excess(got, 2, {nan, 1}, 1)));
}

}  // namespace
}  // namespace reprise
