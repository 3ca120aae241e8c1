// Runs a plan: an array of kernels with bound addresses.

#ifndef CORE_EXECUTOR_H_
#define CORE_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/lowered_graph.h"
#include "core/plan.h"

namespace reprise {

// Kernels by signature, shared by the plans of one trainer.
class KernelCache {
 public:
  explicit KernelCache(const OpEnv& env) : env_(env) {}

  // Returns the kernel of a signature, built at the first call.
  absl::StatusOr<const Kernel*> Get(const Signature& signature);

  // Builds the kernel of every signature of `graph`.
  //
  //   errors: those of OpDef::build, with the name of a node that needs it.
  absl::Status Build(const LoweredGraph& graph);

  int64_t size() const { return static_cast<int64_t>(kernels_.size()); }

 private:
  OpEnv env_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
};

class Executor {
 public:
  Executor(Executor&&) = default;  // bound addresses stay where they are
  Executor& operator=(Executor&&) = default;

  // Builds what the plan needs; running cannot fail but for the guard.
  //
  //   arena:  plan.end_bytes bytes, 64-byte aligned; outlives the executor.
  //   errors: those of KernelCache::Build.
  static absl::StatusOr<Executor> Create(const LoweredGraph& graph,
                                         const Plan& plan, KernelCache& cache,
                                         void* arena);

  // Returns the bytes of an executor's tables, kernels not counted.
  static int64_t TableBytes(const Plan& plan);

  // Runs all steps. FailedPrecondition from the guard: a loss is not finite;
  // nothing persistent has been touched.
  absl::Status Run();

  // Runs one step alone and returns its nanoseconds, for who measures kernels:
  // the values of the plan are no longer what they should be.
  int64_t TimeStep(int step);

  int num_steps() const { return static_cast<int>(steps_.size()); }

  // From now on `Run` calls `hook` with each step's index after it has run;
  // for whoever looks between steps.
  void SetStepHook(std::function<void(int step)> hook) {
    step_hook_ = std::move(hook);
  }

  // From now on `Run` adds up the nanoseconds of each step.
  void EnableTiming() { step_nanoseconds_.assign(steps_.size(), 0); }

  // Nanoseconds by step, summed over runs; empty unless timing is on.
  const std::vector<int64_t>& step_nanoseconds() const {
    return step_nanoseconds_;
  }

 private:
  Executor() = default;

  struct BoundStep {
    const Kernel* kernel;
    Buffers buffers;
  };

  void RunRange(int begin, int end);
  void RunStep(int step);
  absl::Status CheckGuard() const;

  std::vector<BoundStep> steps_;
  std::vector<void*> addresses_;  // of all operands, step after step
  std::vector<int64_t> step_nanoseconds_;
  std::function<void(int)> step_hook_;
  int guard_step_ = -1;
  const float* guard_ = nullptr;
};

}  // namespace reprise

#endif  // CORE_EXECUTOR_H_
