// The roofline: a kernel takes as long as its arithmetic or its traffic does,
// whichever is slower.
//
// Tested by tests/tools/measure_test.cc and, in plans, by
// tests/flow/lowering_test.cc.

#include "core/machine.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "core/sha256.h"

namespace reprise {
namespace {

using Rates = google::protobuf::RepeatedField<double>;

double RateOf(const Rates& rates, int threads) {
  if (rates.empty()) return 1e9;
  return rates.Get(std::min(threads, rates.size()) - 1);
}

// The lists of a machine, by the names of their fields.
std::vector<std::pair<absl::string_view, const Rates*>> RatesOf(
    const proto::Machine& machine) {
  return {{"matmul_flops_per_second", &machine.matmul_flops_per_second()},
          {"conv_flops_per_second", &machine.conv_flops_per_second()},
          {"vector_flops_per_second", &machine.vector_flops_per_second()},
          {"bytes_per_second", &machine.bytes_per_second()}};
}

}  // namespace

proto::Machine DefaultMachine() {
  proto::Machine machine;
  machine.set_format_version(1);
  machine.set_name("default");
  // One and two cores of a 2020s x86 server with AVX-512.
  for (const double rate : {150e9, 300e9}) {
    machine.add_matmul_flops_per_second(rate);
    machine.add_conv_flops_per_second(rate);
  }
  for (const double rate : {8e9, 16e9})
    machine.add_vector_flops_per_second(rate);
  for (const double rate : {12e9, 24e9}) machine.add_bytes_per_second(rate);
  machine.set_kernel_overhead_nanoseconds(300);
  return machine;
}

absl::Status CheckMachine(const proto::Machine& machine) {
  if (machine.format_version() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("format_version must be 1, got ", machine.format_version(),
                     machine.format_version() == 0 ? " (is it set?)" : ""));
  }
  for (const auto& [name, rates] : RatesOf(machine)) {
    if (rates->empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": must have a rate for one thread at least"));
    }
    for (const double rate : *rates) {
      if (!std::isfinite(rate) || rate < 1) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, ": must be at least 1 and finite, got ", rate));
      }
    }
  }
  if (machine.kernel_overhead_nanoseconds() < 0 ||
      machine.kernel_overhead_nanoseconds() > 1'000'000'000) {
    return absl::InvalidArgumentError(absl::StrCat(
        "kernel_overhead_nanoseconds: must be in [0, 1000000000], got ",
        machine.kernel_overhead_nanoseconds()));
  }
  return absl::OkStatus();
}

std::string MachineFingerprint(const proto::Machine& machine) {
  std::string text;
  for (const auto& [name, rates] : RatesOf(machine)) {
    absl::StrAppend(&text, name);
    // Hexadecimal: every bit of the number.
    for (const double rate : *rates) absl::StrAppendFormat(&text, " %a", rate);
    absl::StrAppend(&text, "\n");
  }
  absl::StrAppend(&text, machine.kernel_overhead_nanoseconds());
  return Sha256Hex(text);
}

int64_t CostNanoseconds(const Description& description,
                        const proto::Machine& machine, int threads) {
  const auto& flop_rates =
      description.rate == Rate::kMatmul ? machine.matmul_flops_per_second()
      : description.rate == Rate::kConv ? machine.conv_flops_per_second()
                                        : machine.vector_flops_per_second();
  const double arithmetic =
      static_cast<double>(description.flops) / RateOf(flop_rates, threads);
  const double traffic = static_cast<double>(description.bytes_moved) /
                         RateOf(machine.bytes_per_second(), threads);
  return static_cast<int64_t>(std::max(arithmetic, traffic) * 1e9) +
         machine.kernel_overhead_nanoseconds();
}

}  // namespace reprise
