// Buffers to place, and an independent look at placements.

#ifndef TESTS_PLANNER_PACKINGS_H_
#define TESTS_PLANNER_PACKINGS_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "planner/liveness.h"

namespace reprise {

Buffer MakeBuffer(int64_t bytes, int32_t begin, int32_t end);

// Up to 12 bytes, lifetimes of up to 6 of 15 steps.
std::vector<Buffer> RandomBuffers(std::mt19937_64& random, int n);

struct CutOptions {
  int num_buffers = 100;
  int64_t height = 256;  // in grains
  int32_t num_steps = 2048;
  int64_t grain_bytes = 1024;

  // Of the buffers that do not live at a step drawn at random: the fraction
  // left out, and the fraction whose lifetimes are cut short.
  double left_out = 0;
  double shortened = 0;
};

// Returns the pieces of a rectangle of bytes and steps, cut along its sides at
// random, in random order. They fill it at one step at least, so its height is
// the least that any placement has.
std::vector<Buffer> CutRectangle(std::mt19937_64& random,
                                 const CutOptions& options);

// Returns what is wrong with a placement, or an empty string: an offset below
// 0, two buffers that share a step and a byte, or a height that is not that of
// the offsets. Looks at every pair.
std::string Mistake(absl::Span<const Buffer> buffers,
                    absl::Span<const int64_t> offsets, int64_t height);

// Returns the least height of all placements, for up to some 8 buffers: some
// order placed lowest first is an optimum (take an optimal placement and its
// buffers from the bottom up), so all orders are tried.
int64_t LeastHeight(absl::Span<const Buffer> buffers);

}  // namespace reprise

#endif  // TESTS_PLANNER_PACKINGS_H_
