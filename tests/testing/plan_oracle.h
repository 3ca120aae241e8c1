// The oracle of plans: a planned trainer must compute, bit for bit, what the
// naive plan of the same lowered graph computes, with every dead byte of the
// arena poisoned.

#ifndef TESTS_TESTING_PLAN_ORACLE_H_
#define TESTS_TESTING_PLAN_ORACLE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "reprise.h"

namespace reprise {

struct OracleOptions {
  int steps = 2;
  uint64_t seed = 1;
  // Integer inputs are drawn from [0, index_limit).
  int64_t index_limit = 2;
  // Evaluate between steps too.
  bool evaluate = true;
  // Changes the plan before it runs, to see that a bad one is caught.
  std::function<void(Plan&)> sabotage;
  // Without it the checker would refuse a sabotaged plan before it runs.
  bool check_plan = true;
};

// Trains twice on the same random inputs, once as planned and once naively.
//
//   errors: Internal naming the pass, step and value of the first difference;
//           those of planning and of CheckPlan.
absl::Status ComparePlannedWithNaive(const proto::Graph& graph,
                                     const proto::TrainConfig& config,
                                     const TrainerOptions& options,
                                     const OracleOptions& oracle);

// Writes random content into every input of `pass`: floats of order one,
// integers in [0, index_limit).
void FillInputs(Pass& pass, uint64_t seed, int64_t index_limit);

// Returns every persistent value's bytes and, of `pass`, every result's.
std::vector<std::vector<char>> Snapshot(const Trainer& trainer,
                                        const Pass& pass, const char* arena);

// A train config with one optimizer by name: sgd, momentum, adam, adamw,
// adagrad, rmsprop, onnx_adam, onnx_adagrad or onnx_momentum.
proto::TrainConfig ConfigOf(const std::string& optimizer, float lr);

}  // namespace reprise

#endif  // TESTS_TESTING_PLAN_ORACLE_H_
