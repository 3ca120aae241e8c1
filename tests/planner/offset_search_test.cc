#include "planner/offsets/offset_search.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/planner/packings.h"

namespace reprise {
namespace {

struct Found {
  std::vector<int64_t> offsets;
  int64_t height = 0;
  int64_t proven_bound = 0;
  bool done = false;
  int32_t runs = 0;
};

// Searches below a placement of all buffers side by side.
Found SearchFor(const std::vector<Buffer>& buffers, int64_t max_work,
                int64_t capacity_bytes = 0) {
  const Sections sections = MakeSections(buffers);
  std::vector<int64_t> bytes;
  int64_t sum = 0;
  for (const Buffer& b : buffers) {
    bytes.push_back(b.bytes);
    sum += b.bytes;
  }
  OffsetSearchOptions options;
  options.lower_bound = MostLiveBytes(buffers, sections);
  options.capacity_bytes = capacity_bytes;
  OffsetSearch search(bytes, sections, sum + 1, options);
  search.Continue(max_work, sum + 1, nullptr);
  Found found;
  found.offsets = search.offsets();
  found.height = search.height();
  found.proven_bound = search.proven_bound();
  found.done = search.done();
  found.runs = search.runs();
  return found;
}

// The optimum of so few buffers at random is nearly always at the most live
// bytes; the proof that nothing is lower has tests of its own.
TEST(OffsetSearchTest, FindsTheOptimumOfAllOrders) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<Buffer> buffers =
        RandomBuffers(random, 2 + static_cast<int>(random() % 6));
    const int64_t least = LeastHeight(buffers);
    const Found found = SearchFor(buffers, /*max_work=*/100'000'000);
    ASSERT_EQ(Mistake(buffers, found.offsets, found.height), "")
        << "seed " << seed;
    EXPECT_TRUE(found.done) << "seed " << seed;
    EXPECT_EQ(found.height, least) << "seed " << seed;
    EXPECT_EQ(found.proven_bound, least) << "seed " << seed;
  }
}

// Eight buffers that need 9 bytes although at most 8 live at once, as all of
// their 40,320 orders show. With each size ten times as large, give or take
// two, the gap remains: the search has to refute every height below the
// optimum, and to raise its bound exactly to it.
TEST(OffsetSearchTest, ProvesGapsThatCannotBeFilled) {
  const std::vector<Buffer> base = {MakeBuffer(4, 4, 6), MakeBuffer(1, 5, 8),
                                    MakeBuffer(3, 0, 1), MakeBuffer(3, 3, 5),
                                    MakeBuffer(2, 1, 4), MakeBuffer(3, 2, 4),
                                    MakeBuffer(1, 1, 3), MakeBuffer(5, 0, 2)};
  ASSERT_EQ(PeakLive(base).bytes, 8);
  ASSERT_EQ(LeastHeight(base), 9);
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Buffer> buffers = base;
    for (Buffer& b : buffers) {
      b.bytes = 10 * b.bytes + static_cast<int64_t>(random() % 5) - 2;
    }
    const int64_t least = LeastHeight(buffers);
    ASSERT_GT(least, PeakLive(buffers).bytes) << "seed " << seed;
    const Found found = SearchFor(buffers, /*max_work=*/100'000'000);
    EXPECT_EQ(Mistake(buffers, found.offsets, found.height), "");
    EXPECT_EQ(found.height, least) << "seed " << seed;
    EXPECT_EQ(found.proven_bound, least) << "seed " << seed;
  }
}

// With a capacity the first placement within it is enough.
TEST(OffsetSearchTest, ACapacityEndsTheSearch) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<Buffer> buffers = RandomBuffers(random, 7);
    const int64_t least = LeastHeight(buffers);
    const Found at = SearchFor(buffers, 100'000'000, least);
    EXPECT_EQ(at.height, least) << "seed " << seed;
    const Found above = SearchFor(buffers, 100'000'000, least + 3);
    EXPECT_TRUE(above.done);
    EXPECT_LE(above.height, least + 3) << "seed " << seed;
    // One byte less than the optimum must be refuted.
    const Found below = SearchFor(buffers, 100'000'000, least - 1);
    EXPECT_EQ(below.height, least) << "seed " << seed;
    EXPECT_EQ(below.proven_bound, least) << "seed " << seed;
  }
}

// Pieces of a full rectangle fit together again; sums of lifetimes are small
// enough that 4e8 steps of the search, about a second, are plenty.
TEST(OffsetSearchTest, PiecesOfARectangleFitTogetherAgain) {
  for (const int num_buffers : {40, 100, 200}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      std::mt19937_64 random(seed);
      CutOptions options;
      options.num_buffers = num_buffers;
      const std::vector<Buffer> buffers = CutRectangle(random, options);
      const Found found = SearchFor(buffers, 400'000'000);
      EXPECT_EQ(Mistake(buffers, found.offsets, found.height), "");
      EXPECT_EQ(found.height, options.height * options.grain_bytes)
          << num_buffers << " buffers, seed " << seed;
    }
  }
}

TEST(OffsetSearchTest, AnswersAreTheSameTwice) {
  std::mt19937_64 random(7);
  CutOptions options;
  options.num_buffers = 150;
  options.left_out = 0.1;
  options.shortened = 0.3;
  const std::vector<Buffer> buffers = CutRectangle(random, options);
  const Found first = SearchFor(buffers, 30'000'000);
  const Found second = SearchFor(buffers, 30'000'000);
  EXPECT_EQ(first.offsets, second.offsets);
  EXPECT_EQ(first.height, second.height);
  EXPECT_EQ(first.runs, second.runs);
}

// A question that is answered with yes at once leaves nothing done.
TEST(OffsetSearchTest, StopsWhenAsked) {
  std::mt19937_64 random(7);
  CutOptions cut;
  const std::vector<Buffer> buffers = CutRectangle(random, cut);
  const Sections sections = MakeSections(buffers);
  std::vector<int64_t> bytes;
  for (const Buffer& b : buffers) bytes.push_back(b.bytes);
  OffsetSearchOptions options;
  options.lower_bound = MostLiveBytes(buffers, sections);
  const int64_t known_height = 2 * options.lower_bound;
  OffsetSearch search(bytes, sections, known_height, options);
  search.Continue(1'000'000'000, known_height, [] { return true; });
  EXPECT_EQ(search.runs(), 0);
  EXPECT_EQ(search.height(), known_height);
  EXPECT_TRUE(search.offsets().empty());
}

}  // namespace
}  // namespace reprise
