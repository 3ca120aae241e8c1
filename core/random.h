// Counter-based random bits: a pure function of (seed, name, index), so the
// order of draws, the number of threads and the machine never matter.
//
// The mixing function is the finalizer of SplitMix64, a permutation of 64-bit
// words in which every input bit flips about half of the output bits.
//
// Source: Steele, Lea and Flood (2014), "Fast splittable pseudorandom number
// generators", doi:10.1145/2714064.2660195; name hash: Fowler, Noll and Vo,
// FNV-1a, RFC 9923.
// Tested by tests/core/random_test.cc.

#ifndef CORE_RANDOM_H_
#define CORE_RANDOM_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace reprise {

// The odd integer nearest to 2^64 divided by the golden ratio: multiples of it
// spread evenly over the 64-bit words.
inline constexpr uint64_t kGoldenGamma = 0x9E3779B97F4A7C15u;

// Returns a permutation of the 64-bit words that looks random.
constexpr uint64_t Mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// Returns a hash of `name` that is the same on every machine.
constexpr uint64_t NameHash(absl::string_view name) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  return Mix64(hash);
}

// Returns the key of one stream of draws.
//
//   stream: what the draws are for, e.g. NameHash of a parameter.
constexpr uint64_t RandomKey(uint64_t seed, uint64_t stream) {
  return Mix64(Mix64(seed + kGoldenGamma) ^ stream);
}

// Returns draw number `index` of a stream: 64 random bits.
constexpr uint64_t RandomBits(uint64_t key, uint64_t index) {
  return Mix64(Mix64((index + 1) * kGoldenGamma) ^ key);
}

// Returns a number in [0, 1), a multiple of 2^-24, from the upper bits.
constexpr float UnitFloat(uint64_t bits) {
  return static_cast<float>(bits >> 40) * 0x1p-24f;
}

}  // namespace reprise

#endif  // CORE_RANDOM_H_
