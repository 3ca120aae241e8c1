// The rules that random operators are drawn from.

#ifndef TESTS_TESTING_RANDOM_RULES_H_
#define TESTS_TESTING_RANDOM_RULES_H_

#include <string>
#include <vector>

#include "tests/testing/random_pool.h"

namespace reprise {

// Adds nodes of one operator, or of a few that need each other.
using RandomRule = void (*)(RandomPool&);

// Comparisons, logic, choices and elementary functions.
std::vector<RandomRule> MathRules();

}  // namespace reprise

#endif  // TESTS_TESTING_RANDOM_RULES_H_
