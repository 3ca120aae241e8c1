#include "core/random.h"

#include <set>

#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(Mix64Test, IsTheFinalizerOfSplitMix64) {
  // The first numbers that SplitMix64 gives from seed 0.
  EXPECT_EQ(Mix64(kGoldenGamma), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(Mix64(2 * kGoldenGamma), 0x6E789E6AA1B965F4u);
}

TEST(NameHashTest, IsMixedFnv1a) {
  // FNV-1a of "" and "a".
  EXPECT_EQ(NameHash(""), Mix64(0xCBF29CE484222325u));
  EXPECT_EQ(NameHash("a"), Mix64(0xAF63DC4C8601EC8Cu));
}

TEST(RandomBitsTest, StreamsAndIndicesDiffer) {
  std::set<uint64_t> seen;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    for (uint64_t stream = 0; stream < 10; ++stream) {
      for (uint64_t index = 0; index < 10; ++index) {
        seen.insert(RandomBits(RandomKey(seed, stream), index));
      }
    }
  }
  EXPECT_EQ(seen.size(), 1000u);
}

// Of 64 * 1000 output bits, about half flip when one input bit does: 32,000
// with a standard deviation of 126.
TEST(RandomBitsTest, OneBitOfTheIndexFlipsHalfOfTheOutput) {
  const uint64_t key = RandomKey(1, 2);
  int64_t flipped = 0;
  for (uint64_t index = 0; index < 1000; ++index) {
    flipped += __builtin_popcountll(RandomBits(key, index) ^
                                    RandomBits(key, index ^ 1));
  }
  EXPECT_NEAR(static_cast<double>(flipped), 32000, 6 * 126);
}

TEST(UnitFloatTest, LiesBelowOne) {
  EXPECT_EQ(UnitFloat(0), 0.0f);
  EXPECT_EQ(UnitFloat(~uint64_t{0}), 1 - 0x1p-24f);
}

}  // namespace
}  // namespace reprise
