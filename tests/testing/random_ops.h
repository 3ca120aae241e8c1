// Random applications of every operator.

#ifndef TESTS_TESTING_RANDOM_OPS_H_
#define TESTS_TESTING_RANDOM_OPS_H_

#include <cstdint>

#include "tests/testing/random_pool.h"

namespace reprise {

inline constexpr int64_t kIndexLimit = 5;

// Adds nodes of an operator that the pool draws, on operands of a fitting rank
// from the pool, to which its results are added. May add nothing, where nothing
// fits.
void AddRandomOp(RandomPool& pool);

}  // namespace reprise

#endif  // TESTS_TESTING_RANDOM_OPS_H_
