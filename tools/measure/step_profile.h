// Where the time of a training step goes.

#ifndef TOOLS_MEASURE_STEP_PROFILE_H_
#define TOOLS_MEASURE_STEP_PROFILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/trainer.h"

namespace reprise {

// Steps of one operator that one implementation runs.
struct KernelTime {
  std::string implementation;   // as Description::implementation
  int64_t steps = 0;            // kernel runs in one step of training
  double nanoseconds = 0;       // of all of them, in one step of training
  double bare_nanoseconds = 0;  // the same, each run alone, the best of some
  int64_t flops = 0;
  int64_t bytes_moved = 0;
};

struct OpTime {
  std::string op;
  std::vector<KernelTime> kernels;  // the most expensive first

  KernelTime Sum() const;  // without an implementation
};

// Returns the times of the pass's steps by operator and kernel, the most
// expensive first.
//
//   pass:      its executor has timed `runs` runs.
//   bare_runs: runs of each step alone, after which the pass's values are not
//              what they should be; 0: none.
std::vector<OpTime> ProfilePass(Pass& pass, int64_t runs, int bare_runs);

}  // namespace reprise

#endif  // TOOLS_MEASURE_STEP_PROFILE_H_
