// The part of the operator harness that runs an operator's kernel by itself.

#ifndef TESTS_TESTING_KERNEL_CHECK_H_
#define TESTS_TESTING_KERNEL_CHECK_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/op_table.h"
#include "tests/testing/op_case.h"

namespace reprise {

// Returns the bytes of each result, row-major, on one thread.
absl::StatusOr<std::vector<std::vector<char>>> RunKernel(
    const OpCase& c, const PreparedCase& prepared, const OpTable& table,
    const HostTensors& inputs);

// Expects `want` of the kernel: on 1 and 2 threads, row-major and
// channels-last, twice, and in place where it may be.
absl::Status CheckKernel(const OpCase& c, const PreparedCase& prepared,
                         const OpTable& table, const HostTensors& inputs,
                         const HostTensors& want);

}  // namespace reprise

#endif  // TESTS_TESTING_KERNEL_CHECK_H_
