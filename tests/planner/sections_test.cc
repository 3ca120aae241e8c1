#include "planner/offsets/sections.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/planner/packings.h"

namespace reprise {
namespace {

TEST(SectionsTest, ThePictureAtTheHeadHolds) {
  const Sections sections = MakeSections(std::vector<Buffer>{
      MakeBuffer(1, 0, 4), MakeBuffer(1, 1, 5), MakeBuffer(1, 4, 7)});
  ASSERT_EQ(sections.num, 2);
  EXPECT_EQ(sections.life[0].begin, 0);
  EXPECT_EQ(sections.life[0].end, 1);
  EXPECT_EQ(sections.life[1].begin, 0);
  EXPECT_EQ(sections.life[1].end, 2);
  EXPECT_EQ(sections.life[2].begin, 1);
  EXPECT_EQ(sections.life[2].end, 2);
}

TEST(SectionsTest, BuffersShareASectionIfAndOnlyIfTheyShareAStep) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<Buffer> buffers = RandomBuffers(random, 20);
    const Sections sections = MakeSections(buffers);
    EXPECT_LE(sections.num, 20);
    for (size_t a = 0; a < buffers.size(); ++a) {
      ASSERT_LT(sections.life[a].begin, sections.life[a].end);
      ASSERT_LE(sections.life[a].end, sections.num);
      for (size_t b = 0; b < a; ++b) {
        const bool step = buffers[a].life.begin < buffers[b].life.end &&
                          buffers[b].life.begin < buffers[a].life.end;
        const bool section = sections.life[a].begin < sections.life[b].end &&
                             sections.life[b].begin < sections.life[a].end;
        ASSERT_EQ(step, section) << "seed " << seed;
      }
    }
    EXPECT_EQ(MostLiveBytes(buffers, sections), PeakLive(buffers).bytes);
  }
}

TEST(SectionsTest, NothingHasNone) { EXPECT_EQ(MakeSections({}).num, 0); }

}  // namespace
}  // namespace reprise
