#include "planner/offsets/repacking.h"

#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/planner/packings.h"

namespace reprise {
namespace {

std::vector<int64_t> BytesOf(const std::vector<Buffer>& buffers) {
  std::vector<int64_t> bytes;
  for (const Buffer& b : buffers) bytes.push_back(b.bytes);
  return bytes;
}

TEST(RepackingTest, EveryHeightIsThatOfAValidPlacement) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<Buffer> buffers = RandomBuffers(random, 60);
    const Sections sections = MakeSections(buffers);
    const std::vector<int64_t> bytes = BytesOf(buffers);
    Repacking repacking(bytes, sections, MostLiveBytes(buffers, sections),
                        std::numeric_limits<int64_t>::max());
    int64_t last = std::numeric_limits<int64_t>::max();
    for (int i = 0; i < 40 && !repacking.done(); ++i) {
      repacking.Continue(1, nullptr);
      EXPECT_LE(repacking.height(), last);
      last = repacking.height();
      EXPECT_EQ(Mistake(buffers, repacking.offsets(), repacking.height()), "")
          << "seed " << seed << ", " << repacking.name();
    }
  }
}

// Eight orders are tried once each; what rounds of repacking gain on them is
// counted over instances, of which some are solved by an order already.
TEST(RepackingTest, RoundsAreLowerThanTheOrdersTheyBeginWith) {
  constexpr int kOrders = 8;
  int lower = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    CutOptions cut;
    cut.left_out = 0.2;
    cut.shortened = 0.5;
    const std::vector<Buffer> buffers = CutRectangle(random, cut);
    const Sections sections = MakeSections(buffers);
    const std::vector<int64_t> bytes = BytesOf(buffers);
    Repacking repacking(bytes, sections, MostLiveBytes(buffers, sections),
                        std::numeric_limits<int64_t>::max());
    repacking.Continue(kOrders, nullptr);
    const int64_t height = repacking.height();
    repacking.Continue(100, nullptr);
    if (repacking.height() < height) ++lower;
  }
  EXPECT_GE(lower, 20);
}

// A placement that goes beyond the work is given up, and nothing comes of it.
TEST(RepackingTest, WithoutWorkNothingIsPlaced) {
  std::mt19937_64 random(1);
  const std::vector<Buffer> buffers = RandomBuffers(random, 60);
  const Sections sections = MakeSections(buffers);
  const std::vector<int64_t> bytes = BytesOf(buffers);
  Repacking repacking(bytes, sections, /*goal=*/0, /*max_work=*/10);
  repacking.Continue(5, nullptr);
  EXPECT_TRUE(repacking.done());
  EXPECT_TRUE(repacking.offsets().empty());
}

}  // namespace
}  // namespace reprise
