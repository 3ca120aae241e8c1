#include "planner/offsets/offsets.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/planner/packings.h"

namespace reprise {
namespace {

std::string Mistake(const std::vector<Buffer>& buffers,
                    const Placement& placement) {
  return Mistake(buffers, placement.offsets, placement.height);
}

// A and B share step 1, B and C step 2: 180 is the most at once, and C fits
// where A was, below B. Never reusing the gap below B would need 240.
TEST(PlaceBuffersTest, AGapBeforeTheFirstBufferIsReused) {
  const std::vector<Buffer> buffers = {
      MakeBuffer(100, 0, 2), MakeBuffer(80, 1, 3), MakeBuffer(60, 2, 4)};
  const Placement placement = PlaceBuffers(buffers, PlacementOptions());
  EXPECT_EQ(Mistake(buffers, placement), "");
  EXPECT_EQ(placement.height, 180);
}

TEST(PlaceBuffersTest, NothingNeedsNoBytes) {
  const Placement placement = PlaceBuffers({}, PlacementOptions());
  EXPECT_EQ(placement.height, 0);
  EXPECT_TRUE(placement.offsets.empty());
  EXPECT_TRUE(placement.proven);
}

TEST(PlaceBuffersTest, TheFirstPlacementAtTheBoundEndsTheSearch) {
  const std::vector<Buffer> buffers = {MakeBuffer(64, 0, 4),
                                       MakeBuffer(64, 1, 3)};
  const Placement placement = PlaceBuffers(buffers, PlacementOptions());
  EXPECT_EQ(placement.height, placement.lower_bound);
  EXPECT_TRUE(placement.proven);
  EXPECT_EQ(placement.tried, 1);
  EXPECT_EQ(placement.name, "sweep forward, lowest gap");
}

TEST(PlaceBuffersTest, IsTheOptimumOfAllOrders) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<Buffer> buffers =
        RandomBuffers(random, 2 + static_cast<int>(random() % 6));
    const Placement placement = PlaceBuffers(buffers, PlacementOptions());
    ASSERT_EQ(Mistake(buffers, placement), "") << "seed " << seed;
    EXPECT_EQ(placement.height, LeastHeight(buffers)) << "seed " << seed;
    EXPECT_TRUE(placement.proven) << "seed " << seed;
  }
}

// Eight buffers that need 9 bytes although at most 8 live at once, as all of
// their orders show: proven, but not by the lower bound.
TEST(PlaceBuffersTest, AProofAboveTheLowerBoundIsToldApart) {
  const std::vector<Buffer> buffers = {
      MakeBuffer(4, 4, 6), MakeBuffer(1, 5, 8), MakeBuffer(3, 0, 1),
      MakeBuffer(3, 3, 5), MakeBuffer(2, 1, 4), MakeBuffer(3, 2, 4),
      MakeBuffer(1, 1, 3), MakeBuffer(5, 0, 2)};
  ASSERT_EQ(LeastHeight(buffers), 9);
  const Placement placement = PlaceBuffers(buffers, PlacementOptions());
  EXPECT_EQ(Mistake(buffers, placement), "");
  EXPECT_EQ(placement.height, 9);
  EXPECT_EQ(placement.lower_bound, 8);
  EXPECT_EQ(placement.proven_bound, 9);
  EXPECT_TRUE(placement.proven);

  PlacementOptions no_search;
  no_search.max_search_work = 0;
  const Placement unproven = PlaceBuffers(buffers, no_search);
  EXPECT_EQ(unproven.proven_bound, 8);
  EXPECT_FALSE(unproven.proven);
}

// Two copies that share no step, beside a small buffer of each: the copies are
// placed on their own, and the higher one decides.
TEST(PlaceBuffersTest, PartsThatShareNoStepAreEachProven) {
  std::vector<Buffer> buffers;
  for (const int32_t begin : {0, 8}) {
    for (const Buffer& b :
         {MakeBuffer(4, 4, 6), MakeBuffer(1, 5, 8), MakeBuffer(3, 0, 1),
          MakeBuffer(3, 3, 5), MakeBuffer(2, 1, 4), MakeBuffer(3, 2, 4),
          MakeBuffer(1, 1, 3), MakeBuffer(5, 0, 2)}) {
      const int64_t scale = begin == 0 ? 64 : 80;
      buffers.push_back(MakeBuffer(scale * b.bytes, b.life.begin + begin,
                                   b.life.end + begin));
    }
  }
  const Placement placement = PlaceBuffers(buffers, PlacementOptions());
  EXPECT_EQ(Mistake(buffers, placement), "");
  EXPECT_EQ(placement.lower_bound, 8 * 80);
  EXPECT_EQ(placement.height, 9 * 80);
  EXPECT_TRUE(placement.proven);
}

TEST(PlaceBuffersTest, EveryMethodIsValidOnLargerInstances) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<Buffer> buffers = RandomBuffers(random, 60);
    const Placement placement = PlaceBuffers(buffers, PlacementOptions());
    EXPECT_EQ(Mistake(buffers, placement), "") << "seed " << seed;
    EXPECT_GE(placement.height, placement.lower_bound);
  }
}

// Pieces of a rectangle, some left out and some cut short: one step is still
// full, so the rectangle's height is the optimum.
TEST(PlaceBuffersTest, PiecesOfARectangleFitTogetherAgain) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    std::mt19937_64 random(seed);
    CutOptions options;
    options.num_buffers = 60 + 20 * static_cast<int>(seed % 4);
    options.left_out = 0.1 * static_cast<double>(seed % 3);
    options.shortened = 0.2 * static_cast<double>(seed % 2);
    const std::vector<Buffer> buffers = CutRectangle(random, options);
    const Placement placement = PlaceBuffers(buffers, PlacementOptions());
    EXPECT_EQ(Mistake(buffers, placement), "") << "seed " << seed;
    EXPECT_EQ(placement.height, options.height * options.grain_bytes)
        << "seed " << seed;
  }
}

TEST(PlaceBuffersTest, OffsetsAreSumsOfSizes) {
  std::mt19937_64 random(3);
  CutOptions options;
  options.grain_bytes = 64;
  options.left_out = 0.1;
  const std::vector<Buffer> buffers = CutRectangle(random, options);
  for (const int64_t offset :
       PlaceBuffers(buffers, PlacementOptions()).offsets) {
    EXPECT_EQ(offset % 64, 0);
  }
}

// A capacity of a third more than the bound: whatever fits is enough, and it
// takes no more placements than going for the bound.
TEST(PlaceBuffersTest, ACapacityIsEnough) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<Buffer> buffers = CutRectangle(random, CutOptions());
    const Placement lowest = PlaceBuffers(buffers, PlacementOptions());
    PlacementOptions options;
    options.capacity_bytes = lowest.lower_bound + lowest.lower_bound / 3;
    const Placement placement = PlaceBuffers(buffers, options);
    EXPECT_EQ(Mistake(buffers, placement), "") << "seed " << seed;
    EXPECT_LE(placement.height, options.capacity_bytes) << "seed " << seed;
    EXPECT_LE(placement.tried, lowest.tried) << "seed " << seed;
  }
}

TEST(PlaceBuffersTest, IsTheSameTwice) {
  std::mt19937_64 random(11);
  CutOptions cut;
  cut.num_buffers = 400;
  cut.shortened = 0.5;
  const std::vector<Buffer> buffers = CutRectangle(random, cut);
  PlacementOptions options;
  options.max_search_work = 20'000'000;
  const Placement first = PlaceBuffers(buffers, options);
  const Placement second = PlaceBuffers(buffers, options);
  EXPECT_EQ(first.offsets, second.offsets);
  EXPECT_EQ(first.name, second.name);
  EXPECT_EQ(first.tried, second.tried);
}

// With no work to spend only the sweeps are made.
TEST(PlaceBuffersTest, AWorkLimitLeavesTheSweeps) {
  std::mt19937_64 random(5);
  const std::vector<Buffer> buffers = RandomBuffers(random, 60);
  PlacementOptions options;
  options.max_pairs = 0;
  options.max_search_work = 0;
  const Placement placement = PlaceBuffers(buffers, options);
  EXPECT_EQ(Mistake(buffers, placement), "");
  EXPECT_LE(placement.tried, 6);
}

TEST(PlaceBuffersTest, StopsWhenAskedWithThePlacementItHas) {
  std::mt19937_64 random(5);
  const std::vector<Buffer> buffers = CutRectangle(random, CutOptions());
  PlacementOptions options;
  options.should_stop = [] { return true; };
  const Placement placement = PlaceBuffers(buffers, options);
  EXPECT_EQ(Mistake(buffers, placement), "");
  EXPECT_EQ(placement.tried, 1);
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

// Lifetimes of one to 1,000 steps over 20,000, at random: no sweep is exact,
// the search is too large to start, and work ends with the pairs that may be
// looked at.
TEST(PlaceBuffersTest, FortyThousandRandomBuffersEndWithTheirWork) {
  std::mt19937_64 random(1);
  std::vector<Buffer> buffers;
  for (int i = 0; i < 40'000; ++i) {
    const int32_t begin = static_cast<int32_t>(random() % 20'000);
    const int32_t length = 1 + static_cast<int32_t>(random() % 1000);
    buffers.push_back(
        MakeBuffer(64 * (1 + static_cast<int64_t>(random() % 1000)), begin,
                   begin + length));
  }
  PlacementOptions options;
  options.max_pairs = 10'000'000;
  const Placement placement = PlaceBuffers(buffers, options);
  EXPECT_FALSE(placement.proven);
  EXPECT_LE(static_cast<double>(placement.height),
            1.2 * static_cast<double>(placement.lower_bound));
}

// Public instances. A to K fill 1,048,576 bytes at some step, C 1,039,360.
TEST(PlaceBuffersTest, MeetsTheBoundOnPublicInstances) {
  const char* shared = std::getenv("REPRISE_SHARED_DIR");
  if (shared == nullptr) GTEST_SKIP() << "REPRISE_SHARED_DIR is not set";
  struct Instance {
    const char* name;
    int64_t height;  // 0: whatever lives at once
  };
  for (const Instance& instance :
       {Instance{"A.1048576", 1048576}, Instance{"C.1048576", 1039360},
        Instance{"E.1048576", 1048576}, Instance{"G.1048576", 1048576},
        Instance{"I.1048576", 1048576}, Instance{"K.1048576", 1048576},
        Instance{"input.12", 12}, Instance{"resnet50", 0},
        Instance{"G_1", 0}}) {
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
    PlacementOptions options;
    options.max_search_work = 1'000'000'000;
    const Placement placement = PlaceBuffers(buffers, options);
    EXPECT_EQ(Mistake(buffers, placement), "") << instance.name;
    EXPECT_EQ(placement.height, placement.lower_bound) << instance.name;
    if (instance.height > 0) {
      EXPECT_EQ(placement.height, instance.height) << instance.name;
    }
  }
}

}  // namespace
}  // namespace reprise
