// Every operator that a file can name, on random shapes and attributes.

#include <cstdint>
#include <ostream>
#include <string>

#include "gtest/gtest.h"
#include "tests/ops/op_cases.h"

namespace reprise {

void PrintTo(const OpCases& cases, std::ostream* out) { *out << cases.op; }

namespace {

// Cases per operator; the seeds are 1, 2, ..., so a failure is repeated by the
// seed it prints.
constexpr uint64_t kCases = 40;

class EveryOpTest : public ::testing::TestWithParam<OpCases> {};

TEST_P(EveryOpTest, AgreesWithItsDefinition) {
  for (uint64_t seed = 1; seed <= kCases; ++seed) {
    CaseRandom random(seed);
    CheckCase(GetParam().make(random), seed);
    if (HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryOpTest, ::testing::ValuesIn(kOpCases),
                         [](const ::testing::TestParamInfo<OpCases>& info) {
                           return std::string(info.param.op);
                         });

}  // namespace
}  // namespace reprise
