#include "tools/measure/step_profile.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "core/thread_scope.h"

namespace reprise {
namespace {

// Returns the shortest of some runs of step i alone, nanoseconds.
double BareNanoseconds(Executor& executor, int i, int runs) {
  int64_t best = std::numeric_limits<int64_t>::max();
  for (int run = 0; run < runs; ++run) {
    best = std::min(best, executor.TimeStep(i));
  }
  return runs == 0 ? 0 : static_cast<double>(best);
}

void Add(const KernelTime& from, KernelTime& to) {
  to.steps += from.steps;
  to.nanoseconds += from.nanoseconds;
  to.bare_nanoseconds += from.bare_nanoseconds;
  to.flops += from.flops;
  to.bytes_moved += from.bytes_moved;
}

}  // namespace

KernelTime OpTime::Sum() const {
  KernelTime sum;
  for (const KernelTime& kernel : kernels) Add(kernel, sum);
  return sum;
}

std::vector<OpTime> ProfilePass(Pass& pass, int64_t runs, int bare_runs) {
  const PlannedPass& planned = pass.planned();
  const std::vector<int64_t>& times = pass.executor().step_nanoseconds();
  const KernelThreadScope scope(planned.lowered.threads);
  std::map<std::string, std::map<std::string, KernelTime>> by_op;
  for (size_t i = 0; i < planned.plan.steps.size(); ++i) {
    const LoweredNodeId node = planned.plan.steps[i].node;
    const Description& description = planned.lowered.description(node);
    KernelTime one;
    one.steps = 1;
    one.nanoseconds = static_cast<double>(times[i]) / static_cast<double>(runs);
    one.bare_nanoseconds =
        BareNanoseconds(pass.executor(), static_cast<int>(i), bare_runs);
    one.flops = description.flops;
    one.bytes_moved = description.bytes_moved;
    KernelTime& entry =
        by_op[planned.lowered.op(node).name][description.implementation];
    entry.implementation = description.implementation;
    Add(one, entry);
  }

  std::vector<OpTime> ops;
  for (auto& [name, kernels] : by_op) {
    OpTime op;
    op.op = name;
    for (auto& [implementation, kernel] : kernels) {
      op.kernels.push_back(std::move(kernel));
    }
    std::stable_sort(op.kernels.begin(), op.kernels.end(),
                     [](const KernelTime& a, const KernelTime& b) {
                       return a.nanoseconds > b.nanoseconds;
                     });
    ops.push_back(std::move(op));
  }
  std::stable_sort(ops.begin(), ops.end(),
                   [](const OpTime& a, const OpTime& b) {
                     return a.Sum().nanoseconds > b.Sum().nanoseconds;
                   });
  return ops;
}

}  // namespace reprise
