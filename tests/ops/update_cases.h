// One step of an optimizer's update operator, for tests that compare many steps
// with a reference.

#ifndef TESTS_OPS_UPDATE_CASES_H_
#define TESTS_OPS_UPDATE_CASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/attributes.h"

namespace reprise {

// A parameter vector under training, as the operator sees it.
struct UpdateState {
  std::vector<double> param;
  // As many as the operator can have; empty: absent.
  std::vector<std::vector<double>> slots;
};

struct UpdateStep {
  std::string op;
  Attrs attrs;
  double lr = 0.1;
  double grad_scale = 1;  // 1: the operand is absent
  int64_t step = 0;       // completed steps
};

// Returns the state after the step.
UpdateState RunUpdate(const UpdateStep& step, const UpdateState& state,
                      const std::vector<double>& grad);

// Expects five steps of the operator to follow `reference`, which advances a
// state in double by one step.
//
//   slots: sizes of the state's slots: true where there is one.
void CheckFiveSteps(UpdateStep step, const std::vector<bool>& slots,
                    void (*reference)(const UpdateStep& step,
                                      const std::vector<double>& grad,
                                      UpdateState& state));

}  // namespace reprise

#endif  // TESTS_OPS_UPDATE_CASES_H_
