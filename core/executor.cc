#include "core/executor.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status_macros.h"
#include "core/thread_scope.h"

namespace reprise {

absl::StatusOr<const Kernel*> KernelCache::Get(const Signature& signature) {
  std::string key = SignatureKey(signature);
  const auto it = kernels_.find(key);
  if (it != kernels_.end()) return it->second.get();
  const ThreadCountScope threads(env_.threads);
  ASSIGN_OR_RETURN(Kernel kernel, signature.op->build(signature, env_));
  const auto inserted = kernels_.emplace(
      std::move(key), std::make_unique<Kernel>(std::move(kernel)));
  return inserted.first->second.get();
}

absl::Status KernelCache::Build(const LoweredGraph& graph) {
  std::vector<bool> done(graph.signatures.size(), false);
  for (const LoweredNode& node : graph.nodes) {
    if (done[node.signature]) continue;
    done[node.signature] = true;
    const Signature& signature = graph.signatures[node.signature].signature;
    const absl::StatusOr<const Kernel*> built = Get(signature);
    if (!built.ok()) {
      return absl::Status(
          built.status().code(),
          absl::StrCat("node '", node.name, "' (", signature.op->name,
                       "): ", built.status().message()));
    }
  }
  return absl::OkStatus();
}

int64_t Executor::TableBytes(const Plan& plan) {
  size_t bytes = plan.steps.size() * sizeof(BoundStep);
  for (const Step& step : plan.steps) {
    bytes += (step.in.size() + step.out.size()) * sizeof(void*);
  }
  return static_cast<int64_t>(bytes);
}

absl::StatusOr<Executor> Executor::Create(const LoweredGraph& graph,
                                          const Plan& plan, KernelCache& cache,
                                          void* arena) {
  Executor executor;
  RETURN_IF_ERROR(cache.Build(graph));
  // Kernels by signature, so that equal steps look up an index, not a text.
  std::vector<const Kernel*> kernels(graph.signatures.size(), nullptr);
  size_t num_addresses = 0;
  for (const Step& step : plan.steps) {
    num_addresses += step.in.size() + step.out.size();
  }
  executor.addresses_.reserve(num_addresses);
  executor.steps_.reserve(plan.steps.size());
  char* const base = static_cast<char*>(arena);
  const auto address = [base](const Operand& operand) -> void* {
    return operand.value < 0 || operand.bytes == 0 ? nullptr
                                                   : base + operand.offset;
  };
  for (const Step& step : plan.steps) {
    const LoweredNode& node = graph.nodes[step.node];
    const Kernel*& kernel = kernels[node.signature];
    if (kernel == nullptr) {
      ASSIGN_OR_RETURN(kernel,
                       cache.Get(graph.signatures[node.signature].signature));
    }
    BoundStep bound;
    bound.kernel = kernel;
    bound.buffers.in = executor.addresses_.data() + executor.addresses_.size();
    for (const Operand& operand : step.in) {
      executor.addresses_.push_back(address(operand));
    }
    bound.buffers.out = executor.addresses_.data() + executor.addresses_.size();
    for (const Operand& operand : step.out) {
      executor.addresses_.push_back(address(operand));
    }
    bound.buffers.scratchpad =
        step.scratchpad.bytes > 0 ? base + step.scratchpad.offset : nullptr;
    executor.steps_.push_back(bound);
  }
  executor.guard_step_ = plan.guard_step;
  if (plan.guard_step >= 0) {
    const Step& guard = plan.steps[plan.guard_step];
    executor.guard_ =
        reinterpret_cast<const float*>(base + guard.out[0].offset);
  }
  return executor;
}

void Executor::RunStep(int step) {
  const BoundStep& bound = steps_[step];
  bound.kernel->run(bound.buffers);
}

int64_t Executor::TimeStep(int step) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  RunStep(step);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() -
                                                              start)
      .count();
}

void Executor::RunRange(int begin, int end) {
  if (step_nanoseconds_.empty() && !step_hook_) {
    for (int i = begin; i < end; ++i) RunStep(i);
    return;
  }
  using Clock = std::chrono::steady_clock;
  Clock::time_point before = Clock::now();
  for (int i = begin; i < end; ++i) {
    RunStep(i);
    const Clock::time_point after = Clock::now();
    if (!step_nanoseconds_.empty()) {
      step_nanoseconds_[i] +=
          std::chrono::duration_cast<std::chrono::nanoseconds>(after - before)
              .count();
    }
    if (step_hook_) step_hook_(i);
    before = after;
  }
}

absl::Status Executor::CheckGuard() const {
  if (std::isfinite(*guard_)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the loss is ", *guard_,
      ", not a finite number: the step stopped before any update"));
}

absl::Status Executor::Run() {
  const int guard_end = guard_step_ + 1;
  if (guard_step_ >= 0) {
    RunRange(0, guard_end);
    RETURN_IF_ERROR(CheckGuard());
  }
  RunRange(guard_end, num_steps());
  return absl::OkStatus();
}

}  // namespace reprise
