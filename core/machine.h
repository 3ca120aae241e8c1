// The machine that plans are made for, and what a kernel costs on it.

#ifndef CORE_MACHINE_H_
#define CORE_MACHINE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "core/op.h"
#include "proto/machine.pb.h"

namespace reprise {

// The roofline table that is compiled in.
proto::Machine DefaultMachine();

// Ok if every list has a rate, and all rates are positive and finite.
//
//   errors: InvalidArgument naming field and number.
absl::Status CheckMachine(const proto::Machine& machine);

// SHA-256 over the rates, as 64 hex digits; the name does not count.
std::string MachineFingerprint(const proto::Machine& machine);

// Returns the cost of one run in nanoseconds: the slower of arithmetic and
// traffic at the machine's rates, plus the overhead of a kernel.
int64_t CostNanoseconds(const Description& description,
                        const proto::Machine& machine, int threads);

}  // namespace reprise

#endif  // CORE_MACHINE_H_
