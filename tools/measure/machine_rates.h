// What this machine can do, measured with the project's own kernels: the rates
// of the cost model, and the peak that a step is held against.

#ifndef TOOLS_MEASURE_MACHINE_RATES_H_
#define TOOLS_MEASURE_MACHINE_RATES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/machine.pb.h"

namespace reprise {

// The best of several runs of several shapes each.
struct MachineRates {
  double matmul_flops_per_second = 0;
  double conv_flops_per_second = 0;
  double vector_flops_per_second = 0;  // of one pointwise loop, in cache
  double bytes_per_second = 0;         // of one pointwise loop, out of cache
  int64_t kernel_overhead_nanoseconds = 0;

  // The best rate of arithmetic seen, flops a second.
  double peak_flops_per_second() const {
    return matmul_flops_per_second > conv_flops_per_second
               ? matmul_flops_per_second
               : conv_flops_per_second;
  }
};

// Measures on `threads` threads; takes about a second.
//
//   errors: those of the kernels.
absl::StatusOr<MachineRates> MeasureRates(int threads);

// Measures on 1, 2, .. `max_threads` threads.
absl::StatusOr<proto::Machine> MeasureMachine(absl::string_view name,
                                              int max_threads);

}  // namespace reprise

#endif  // TOOLS_MEASURE_MACHINE_RATES_H_
