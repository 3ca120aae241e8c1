// Our own loops on every instruction set that they are compiled for and that
// this CPU has: a machine with less than this one's runs them too.

#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "tests/ops/op_cases.h"

namespace reprise {
namespace {

// Restricts Highway's dispatch to one instruction set while it lives.
class OnlyTarget {
 public:
  explicit OnlyTarget(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  ~OnlyTarget() {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  OnlyTarget(const OnlyTarget&) = delete;
  OnlyTarget& operator=(const OnlyTarget&) = delete;
};

TEST(InstructionSetsTest, EveryOperatorAgreesWithItsDefinitionOnEach) {
  const int64_t supported = hwy::SupportedTargets();
  for (int64_t rest = supported; rest != 0; rest &= rest - 1) {
    const int64_t target = rest & -rest;
    SCOPED_TRACE(hwy::TargetName(target));
    const OnlyTarget only(target);
    for (const OpCases& cases : kOpCases) {
      for (uint64_t seed = 1; seed <= 5; ++seed) {
        CaseRandom random(seed);
        CheckForward(cases.make(random), seed);
      }
    }
  }
}

}  // namespace
}  // namespace reprise
