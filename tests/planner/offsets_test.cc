#include "planner/offsets.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace reprise {
namespace {

Buffer MakeBuffer(int64_t bytes, int32_t begin, int32_t end) {
  Buffer buffer;
  buffer.bytes = bytes;
  buffer.life = {begin, end};
  return buffer;
}

bool Overlap(const Lifetime& a, const Lifetime& b) {
  return a.begin < b.end && b.begin < a.end;
}

// Every pair, as the definition says.
bool IsValid(const std::vector<Buffer>& buffers, const Placement& placement) {
  int64_t height = 0;
  for (size_t a = 0; a < buffers.size(); ++a) {
    const int64_t at = placement.offsets[a];
    if (at < 0) return false;
    height = std::max(height, at + buffers[a].bytes);
    for (size_t b = 0; b < a; ++b) {
      if (!Overlap(buffers[a].life, buffers[b].life)) continue;
      if (at < placement.offsets[b] + buffers[b].bytes &&
          placement.offsets[b] < at + buffers[a].bytes) {
        return false;
      }
    }
  }
  return height == placement.height;
}

// Some order placed lowest first is an optimum: take an optimal placement and
// its buffers from the bottom up. So all orders are tried.
int64_t LeastHeight(const std::vector<Buffer>& buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  int64_t least = INT64_MAX;
  do {
    std::vector<int64_t> offsets(buffers.size(), -1);
    int64_t height = 0;
    for (const size_t b : order) {
      int64_t at = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t o = 0; o < buffers.size(); ++o) {
          if (offsets[o] < 0 || !Overlap(buffers[b].life, buffers[o].life)) {
            continue;
          }
          if (at < offsets[o] + buffers[o].bytes &&
              offsets[o] < at + buffers[b].bytes) {
            at = offsets[o] + buffers[o].bytes;
            moved = true;
          }
        }
      }
      offsets[b] = at;
      height = std::max(height, at + buffers[b].bytes);
    }
    least = std::min(least, height);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

// A and B share step 1, B and C step 2: 180 is the most at once, and C fits
// where A was, below B. Never reusing the gap below B would need 240.
TEST(PlaceBuffersTest, AGapBeforeTheFirstBufferIsReused) {
  const std::vector<Buffer> buffers = {
      MakeBuffer(100, 0, 2), MakeBuffer(80, 1, 3), MakeBuffer(60, 2, 4)};
  const Placement placement = PlaceBuffers(buffers, PlacementOptions());
  EXPECT_TRUE(IsValid(buffers, placement));
  EXPECT_EQ(placement.height, 180);
}

TEST(PlaceBuffersTest, NothingNeedsNoBytes) {
  const Placement placement = PlaceBuffers({}, PlacementOptions());
  EXPECT_EQ(placement.height, 0);
  EXPECT_TRUE(placement.offsets.empty());
}

TEST(PlaceBuffersTest, TheFirstPlacementAtTheBoundEndsTheSearch) {
  const std::vector<Buffer> buffers = {MakeBuffer(64, 0, 4),
                                       MakeBuffer(64, 1, 3)};
  const Placement placement = PlaceBuffers(buffers, PlacementOptions());
  EXPECT_EQ(placement.height, placement.lower_bound);
  EXPECT_EQ(placement.tried, 1);
  EXPECT_EQ(placement.name, "sweep forward, lowest gap");
}

std::vector<Buffer> RandomBuffers(std::mt19937_64& random, int n) {
  std::vector<Buffer> buffers;
  for (int i = 0; i < n; ++i) {
    const int32_t begin = static_cast<int32_t>(random() % 10);
    const int32_t length = 1 + static_cast<int32_t>(random() % 6);
    buffers.push_back(MakeBuffer(1 + static_cast<int64_t>(random() % 12), begin,
                                 begin + length));
  }
  return buffers;
}

TEST(PlaceBuffersTest, IsNeverBelowTheOptimumAndMostlyAtIt) {
  int optimal = 0;
  constexpr int kInstances = 200;
  for (uint64_t seed = 1; seed <= kInstances; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<Buffer> buffers =
        RandomBuffers(random, 2 + static_cast<int>(random() % 6));
    const Placement placement = PlaceBuffers(buffers, PlacementOptions());
    ASSERT_TRUE(IsValid(buffers, placement)) << "seed " << seed;
    const int64_t least = LeastHeight(buffers);
    EXPECT_GE(placement.height, least) << "seed " << seed;
    if (placement.height == least) ++optimal;
  }
  EXPECT_GE(optimal, kInstances * 95 / 100);
}

TEST(PlaceBuffersTest, EveryMethodIsValidOnLargerInstances) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<Buffer> buffers = RandomBuffers(random, 60);
    const Placement placement = PlaceBuffers(buffers, PlacementOptions());
    EXPECT_TRUE(IsValid(buffers, placement)) << "seed " << seed;
    EXPECT_GE(placement.height, placement.lower_bound);
  }
}

// With no work to spend only the sweeps are made.
TEST(PlaceBuffersTest, AWorkLimitLeavesTheSweeps) {
  std::mt19937_64 random(5);
  const std::vector<Buffer> buffers = RandomBuffers(random, 60);
  PlacementOptions options;
  options.max_pairs = 0;
  options.max_search_work = 0;
  const Placement placement = PlaceBuffers(buffers, options);
  EXPECT_TRUE(IsValid(buffers, placement));
  EXPECT_LE(placement.tried, 6);
}

// Residuals of a long chain: buffer i lives in [i, 2n - i). They nest, so the
// first sweep is exact, and no pair of the n^2/2 is looked at.
TEST(PlaceBuffersTest, AHundredThousandNestedBuffersAreStacked) {
  constexpr int32_t kNum = 100'000;
  std::vector<Buffer> buffers;
  for (int32_t i = 0; i < kNum; ++i) {
    buffers.push_back(MakeBuffer(64, i, 2 * kNum - i));
  }
  const Placement placement = PlaceBuffers(buffers, PlacementOptions());
  EXPECT_EQ(placement.height, int64_t{64} * kNum);
}

// Public instances: where the best greedy placements are known to be near the
// bound, ours must be too.
TEST(PlaceBuffersTest, IsCloseToTheBoundOnPublicInstances) {
  const char* shared = std::getenv("REPRISE_SHARED_DIR");
  if (shared == nullptr) GTEST_SKIP() << "REPRISE_SHARED_DIR is not set";
  struct Instance {
    const char* name;
    double largest_ratio;
  };
  for (const Instance& instance :
       {Instance{"resnet50", 1.02}, Instance{"G_1", 1.02}}) {
    std::ifstream file(std::string(shared) + "/bench/offsets/" + instance.name +
                       ".csv");
    ASSERT_TRUE(file.good()) << instance.name;
    std::string line;
    std::getline(file, line);
    std::vector<Buffer> buffers;
    while (std::getline(file, line)) {
      std::replace(line.begin(), line.end(), ',', ' ');
      std::istringstream fields(line);
      std::string id;
      Buffer b;
      fields >> id >> b.life.begin >> b.life.end >> b.bytes;
      buffers.push_back(b);
    }
    const Placement placement = PlaceBuffers(buffers, PlacementOptions());
    EXPECT_TRUE(IsValid(buffers, placement)) << instance.name;
    EXPECT_LE(
        static_cast<double>(placement.height),
        instance.largest_ratio * static_cast<double>(placement.lower_bound))
        << instance.name << " by " << placement.name;
  }
}

}  // namespace
}  // namespace reprise
