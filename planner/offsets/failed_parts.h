// What a search for offsets remembers of what it has refuted.

#ifndef PLANNER_OFFSETS_FAILED_PARTS_H_
#define PLANNER_OFFSETS_FAILED_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reprise {

// Spreads the bits of `x` (SplitMix64's finalizer).
inline uint64_t MixBits(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// What is left to do in a range of sections, as 128 bits.
struct PartHash {
  uint64_t low = 0;
  uint64_t high = 0;

  void Add(uint64_t what) {
    const uint64_t mixed = MixBits(what);
    low ^= mixed;
    high += mixed * 0xd6e8feb86659fd93;
  }
};

// Hashes of parts of a search that hold no placement under one capacity.
class FailedParts {
 public:
  bool Contains(const PartHash& hash) const;

  // Forgets the hash if it has no room for more.
  void Insert(const PartHash& hash);

  void Clear();

 private:
  size_t Find(const PartHash& hash) const;
  void Grow();

  std::vector<PartHash> slots_;  // with open addressing; all zeros: free
  size_t size_ = 0;
};

}  // namespace reprise

#endif  // PLANNER_OFFSETS_FAILED_PARTS_H_
