// The trainer: runs the plans of a PlanSet over one arena, step after step.
//
// A trainer is made of finished plans (reprise.h makes them). It owns no
// tensors but the arena, and allocates nothing of size once it exists.

#ifndef CORE_TRAINER_H_
#define CORE_TRAINER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/arena_memory.h"
#include "core/checkpoint.h"
#include "core/executor.h"
#include "core/graph.h"
#include "core/load.h"
#include "core/lowered_graph.h"
#include "core/op_table.h"
#include "core/plan.h"
#include "core/status_macros.h"
#include "core/train_config.h"
#include "core/train_step.h"
#include "proto/plan.pb.h"
#include "proto/train.pb.h"

namespace reprise {

// One mode with one binding, planned.
struct PlannedPass {
  PlanMode mode = PlanMode::kTrain;
  Graph model;  // as loaded with this binding
  StepGraph step;
  LoweredGraph lowered;
  Plan plan;
};

// Everything a trainer runs.
struct TrainerPlan {
  std::unique_ptr<OpTable> ops;  // the graphs point into it
  proto::TrainConfig config;
  OpEnv env;
  std::string library;         // of kernels, with its version and the CPU's ISA
  proto::PlanOptions options;  // that the plans were made with
  // The first pass is the one that names parameters and fingerprints.
  std::vector<std::unique_ptr<PlannedPass>> passes;
  std::vector<PersistentValue> persistent;
  int64_t persistent_bytes = 0;
  int64_t arena_bytes = 0;

  // Returns a plan for each pass such that all end within the budget, or
  // ResourceExhausted naming the smallest arena found. Empty: plans are what
  // they are (read from a file).
  std::function<absl::StatusOr<std::vector<Plan>>(int64_t budget_bytes)>
      plan_within;

  // Bytes that the whole process may hold; see Trainer::Create.
  int64_t process_budget_bytes = INT64_MAX;
};

// Builds every kernel of the plans and throws them away.
//
//   returns: the heap that a trainer of this plan will hold besides its arena:
//            kernels and tables, as the allocator counts them.
//   errors:  those of the kernels.
absl::StatusOr<int64_t> MeasureEngineBytes(const TrainerPlan& plan);

// Returns the bytes that `plan.process_budget_bytes` leaves for the arena: what
// the process holds now (see core/process_memory.h; threads are started first),
// the tables, what kernels take in a step, and a reserve for stacks go off.
//
//   engine_bytes: of kernels that are not there yet.
int64_t ArenaBytesLeft(const TrainerPlan& plan, int64_t engine_bytes);

// One runnable mode: spans into the arena for its inputs and results.
class Pass {
 public:
  PlanMode mode() const { return planned_->mode; }
  const std::map<std::string, int64_t>& symbols() const {
    return planned_->model.symbols;
  }
  const PlannedPass& planned() const { return *planned_; }
  const Plan& plan() const { return planned_->plan; }

  // Returns the bytes of an input, row-major. Written by the caller before
  // each run: a run may reuse them after the last reader.
  //
  //   errors: NotFound naming the inputs there are; InvalidArgument if T is
  //           not the input's element type.
  template <typename T>
  absl::StatusOr<absl::Span<T>> Input(absl::string_view name) {
    ASSIGN_OR_RETURN(const Place place, FindInput(name, DTypeOf<T>()));
    return absl::Span<T>(static_cast<T*>(place.data), place.num_elements);
  }

  // Returns an output or loss of the last run of this pass, row-major; valid
  // until any pass runs.
  template <typename T>
  absl::StatusOr<absl::Span<const T>> Output(absl::string_view name) const {
    ASSIGN_OR_RETURN(const Place place, FindResult(name, DTypeOf<T>(), false));
    return absl::Span<const T>(static_cast<const T*>(place.data),
                               place.num_elements);
  }

  // Returns the gradient of an input or parameter (mode kGradients).
  absl::StatusOr<absl::Span<const float>> Gradient(
      absl::string_view name) const {
    ASSIGN_OR_RETURN(const Place place, FindResult(name, DType::kF32, true));
    return absl::Span<const float>(static_cast<const float*>(place.data),
                                   place.num_elements);
  }

  // The weighted sum of all losses of the last run; NaN without a loss.
  float loss() const;

  Executor& executor() { return executor_; }

 private:
  friend class Trainer;
  template <typename T>
  static DType DTypeOf();

  struct Place {
    void* data;
    size_t num_elements;
  };
  Pass(const PlannedPass* planned, Executor executor, char* arena)
      : planned_(planned), executor_(std::move(executor)), arena_(arena) {}
  absl::StatusOr<Place> FindInput(absl::string_view name, DType dtype) const;
  absl::StatusOr<Place> FindResult(absl::string_view name, DType dtype,
                                   bool gradient) const;

  const PlannedPass* planned_;
  Executor executor_;
  char* arena_;
};

template <>
inline DType Pass::DTypeOf<float>() {
  return DType::kF32;
}
template <>
inline DType Pass::DTypeOf<int32_t>() {
  return DType::kI32;
}
template <>
inline DType Pass::DTypeOf<int64_t>() {
  return DType::kI64;
}
template <>
inline DType Pass::DTypeOf<bool>() {
  return DType::kBool;
}
template <>
inline DType Pass::DTypeOf<uint8_t>() {
  return DType::kU8;
}

struct ResumeOptions {
  // Resume although nodes, attributes or the binding differ (a larger batch,
  // say): the run goes on, but not with the bits of an uninterrupted one.
  bool allow_different_math = false;
};

// One call at a time, from any thread. Two trainers do not disturb each other.
class Trainer {
 public:
  // Builds every kernel and writes the initial parameters.
  //
  //   arena: 64-byte aligned, at least plan.arena_bytes, outlives the trainer;
  //          empty: the trainer allocates it.
  // With a process budget, the arena gets what is left of it once libraries,
  // threads, plans and kernels are there: what this process holds then is
  // subtracted, in the currency that limits it (see core/process_memory.h).
  //
  //   errors: InvalidArgument for an arena that is too small or unaligned,
  //           with the numbers; ResourceExhausted for a process budget that
  //           leaves too little; those of the kernels.
  static absl::StatusOr<std::unique_ptr<Trainer>> Create(
      TrainerPlan plan, absl::Span<char> arena = {});
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // The pass that the next Step() runs. Without gradient accumulation always
  // the same one.
  Pass& next();

  // Returns the pass of a mode and binding, or NotFound naming those there
  // are. Symbols not named stand for their value in the first pass.
  absl::StatusOr<Pass*> Find(PlanMode mode, const Bindings& symbols = {});

  // Runs one training step (with accumulation: one micro-step, every K-th
  // with an update) on the inputs written to next().
  //
  //   errors: FailedPrecondition if the loss is not finite; parameters, state
  //           and the step count are untouched.
  absl::Status Step();

  // The same on another binding, e.g. the last partial batch.
  absl::Status Step(Pass& pass);

  // Runs a pass that trains nothing.
  absl::Status Run(Pass& pass);

  // Goes on with plans whose arena is within the budget, and gives memory
  // beyond it back (a caller's arena: its bytes from arena_bytes() on are
  // free). No result changes by it, in any bit. Spans into inputs, outputs and
  // persistent values that were fetched before are void.
  //
  //   errors: ResourceExhausted naming the smallest arena found, or for a
  //           caller's arena that is too small; FailedPrecondition if the plans
  //           came from a file. Nothing is changed then.
  absl::Status SetBudget(int64_t bytes);

  // Optimizer steps completed.
  int64_t step() const { return step_; }
  double learning_rate() const { return LearningRate(plan_.config, step_); }

  // Returns a persistent value's content, row-major, by its name.
  absl::StatusOr<absl::Span<float>> Persistent(absl::string_view name);

  // Parameters and states as safetensors. Loading wants every name, with its
  // type, and no other: FailedPrecondition lists what differs; nothing is
  // changed then.
  absl::Status SaveWeights(const std::string& path) const;
  absl::Status LoadWeights(const std::string& path);

  // LoadWeights from memory.
  //
  //   source: named at the start of every error.
  absl::Status SetWeights(absl::Span<const TensorView> weights,
                          absl::string_view source);

  // Everything that a bit-equal continuation needs.
  absl::Status SaveCheckpoint(const std::string& path) const;

  // errors: FailedPrecondition naming what differs; nothing is changed then.
  absl::Status Resume(const std::string& path,
                      const ResumeOptions& options = {});

  const TrainerPlan& plan() const { return plan_; }
  int64_t arena_bytes() const { return plan_.arena_bytes; }

  // Heap held besides the arena: kernels and tables, as the allocator counts.
  int64_t engine_bytes() const { return engine_bytes_; }
  int64_t num_kernels() const { return kernels_.size(); }

 private:
  explicit Trainer(TrainerPlan plan);
  absl::Status BuildKernels();
  absl::Status FitProcessBudget();
  absl::Status TakeArena(absl::Span<char> arena);
  absl::Status BindPasses();
  absl::Status UsePlans(std::vector<Plan> plans);
  absl::Status Initialize();
  void WriteScalars();
  char* Address(const PersistentValue& value) const;
  std::vector<PersistentTensor> Tensors() const;
  TrainingPosition Position() const;

  TrainerPlan plan_;
  KernelCache kernels_;
  std::vector<Pass> passes_;
  char* arena_ = nullptr;
  int64_t callers_bytes_ = 0;  // of the caller's arena; 0: `owned_` is it
  ArenaMemory owned_;
  int64_t step_ = 0;
  int64_t micro_step_ = 0;
  int64_t engine_bytes_ = 0;
};

}  // namespace reprise

#endif  // CORE_TRAINER_H_
