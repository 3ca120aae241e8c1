#include "planner/offsets/first_fit.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace reprise {
namespace {

struct Placed {
  SectionRange life;
  int64_t offset;
  int64_t bytes;
};

// The least offset free of all that share a section, by looking at each.
int64_t LowestFree(const std::vector<Placed>& placed, SectionRange life,
                   int64_t bytes) {
  int64_t offset = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (const Placed& p : placed) {
      if (p.life.begin >= life.end || life.begin >= p.life.end) continue;
      if (offset < p.offset + p.bytes && p.offset < offset + bytes) {
        offset = p.offset + p.bytes;
        moved = true;
      }
    }
  }
  return offset;
}

TEST(FirstFitTest, IsTheLowestFreeOffset) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    const int32_t num_sections = 1 + static_cast<int32_t>(random() % 40);
    FirstFit first_fit(num_sections);
    std::vector<Placed> placed;
    for (int i = 0; i < 60; ++i) {
      SectionRange life;
      life.begin =
          static_cast<int32_t>(random() % static_cast<uint64_t>(num_sections));
      life.end =
          life.begin + 1 +
          static_cast<int32_t>(
              random() % static_cast<uint64_t>(num_sections - life.begin));
      const int64_t bytes = 1 + static_cast<int64_t>(random() % 9);
      const int64_t expected = LowestFree(placed, life, bytes);
      const int64_t offset = first_fit.Place(life, bytes);
      ASSERT_EQ(offset, expected) << "seed " << seed << ", buffer " << i;
      placed.push_back({life, offset, bytes});
    }
  }
}

}  // namespace
}  // namespace reprise
