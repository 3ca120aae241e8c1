#include "core/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/initialize.h"
#include "core/process_memory.h"
#include "core/status_macros.h"
#include "core/thread_scope.h"

namespace reprise {
namespace {

// What a step may touch besides, for each thread: stacks, and allocations below
// the 16 KiB that steps are allowed.
constexpr int64_t kStepBytesPerThread = 512 * 1024;

// Searches for a plan within what the process has left.
constexpr int kMostSearches = 4;

template <typename Names>
std::string Quoted(const Names& names) {
  return absl::StrJoin(names, ", ", [](std::string* out, const auto& name) {
    absl::StrAppend(out, "'", name, "'");
  });
}

absl::string_view ModeName(PlanMode mode) {
  switch (mode) {
    case PlanMode::kTrain:
      return "train";
    case PlanMode::kTrainAccumulate:
      return "train_accumulate";
    case PlanMode::kEvaluate:
      return "evaluate";
    case PlanMode::kForward:
      return "forward";
    case PlanMode::kGradients:
      return "gradients";
  }
  return "";
}

std::string PassName(PlanMode mode,
                     const std::map<std::string, int64_t>& symbols) {
  return absl::StrCat(ModeName(mode), "{",
                      absl::StrJoin(symbols, ",",
                                    [](std::string* out, const auto& entry) {
                                      absl::StrAppend(out, entry.first, "=",
                                                      entry.second);
                                    }),
                      "}");
}

bool Trains(PlanMode mode) {
  return mode == PlanMode::kTrain || mode == PlanMode::kTrainAccumulate;
}

}  // namespace

absl::StatusOr<Pass::Place> Pass::FindInput(absl::string_view name,
                                            DType dtype) const {
  const Graph& graph = planned_->step.graph;
  std::vector<std::string> known;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Value& value = graph.values[graph.inputs[i]];
    known.push_back(value.name);
    if (value.name != name) continue;
    if (value.type.dtype != dtype) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", name, "' is ", ToString(value.type),
                       ", asked for as ", ToString(dtype)));
    }
    return Place{arena_ + planned_->plan.inputs[i].offset,
                 static_cast<size_t>(value.type.num_elements())};
  }
  return absl::NotFoundError(
      absl::StrCat("no input '", name, "'; there are ", Quoted(known)));
}

absl::StatusOr<Pass::Place> Pass::FindResult(absl::string_view name,
                                             DType dtype, bool gradient) const {
  std::vector<std::string> known;
  for (size_t i = 0; i < planned_->step.results.size(); ++i) {
    const StepResult& result = planned_->step.results[i];
    const bool is_gradient = result.kind == StepResult::Kind::kGradient;
    if (is_gradient != gradient) continue;
    known.push_back(result.name);
    if (result.name != name) continue;
    const TensorType& type = planned_->step.graph.values[result.value].type;
    if (type.dtype != dtype) {
      return absl::InvalidArgumentError(
          absl::StrCat("result '", name, "' is ", ToString(type),
                       ", asked for as ", ToString(dtype)));
    }
    return Place{arena_ + planned_->plan.results[i].offset,
                 static_cast<size_t>(type.num_elements())};
  }
  return absl::NotFoundError(
      absl::StrCat("no ", gradient ? "gradient of" : "output", " '", name,
                   "'; there are ", Quoted(known)));
}

float Pass::loss() const {
  for (size_t i = 0; i < planned_->step.results.size(); ++i) {
    if (planned_->step.results[i].kind != StepResult::Kind::kTotalLoss) {
      continue;
    }
    float loss;
    std::memcpy(&loss, arena_ + planned_->plan.results[i].offset, sizeof(loss));
    return loss;
  }
  return std::numeric_limits<float>::quiet_NaN();
}

absl::StatusOr<int64_t> MeasureEngineBytes(const TrainerPlan& plan) {
  const int64_t heap_before = HeapBytes();
  KernelCache kernels(plan.env);
  int64_t table_bytes = 0;
  for (const std::unique_ptr<PlannedPass>& pass : plan.passes) {
    RETURN_IF_ERROR(kernels.Build(pass->lowered));
    table_bytes += Executor::TableBytes(pass->plan);
  }
  return std::max<int64_t>(0, HeapBytes() - heap_before) + table_bytes;
}

int64_t ArenaBytesLeft(const TrainerPlan& plan, int64_t engine_bytes) {
  {
    // Threads and their stacks are there from the first step on.
    const KernelThreadScope threads(plan.env.threads);
  }
  int64_t heap_in_step = 0;
  int64_t table_bytes = 0;
  for (const std::unique_ptr<PlannedPass>& pass : plan.passes) {
    for (const LoweredSignature& signature : pass->lowered.signatures) {
      heap_in_step =
          std::max(heap_in_step, signature.description.library_heap_bytes);
    }
    table_bytes += Executor::TableBytes(pass->plan);
  }
  return plan.process_budget_bytes - ProcessBytes() - engine_bytes -
         table_bytes - heap_in_step - kStepBytesPerThread * plan.env.threads;
}

Trainer::Trainer(TrainerPlan plan)
    : plan_(std::move(plan)), kernels_(plan_.env) {}

Trainer::~Trainer() = default;

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Create(
    TrainerPlan plan, absl::Span<char> arena) {
  // Not make_unique: the constructor is private.
  std::unique_ptr<Trainer> trainer(new Trainer(std::move(plan)));
  const int64_t heap_before = HeapBytes();
  RETURN_IF_ERROR(trainer->BuildKernels());
  if (trainer->plan_.process_budget_bytes != INT64_MAX) {
    RETURN_IF_ERROR(trainer->FitProcessBudget());
  }
  RETURN_IF_ERROR(trainer->TakeArena(arena));
  RETURN_IF_ERROR(trainer->BindPasses());
  trainer->engine_bytes_ = std::max<int64_t>(0, HeapBytes() - heap_before);
  RETURN_IF_ERROR(trainer->Initialize());
  return trainer;
}

absl::Status Trainer::BuildKernels() {
  for (const std::unique_ptr<PlannedPass>& pass : plan_.passes) {
    RETURN_IF_ERROR(kernels_.Build(pass->lowered));
  }
  return absl::OkStatus();
}

absl::Status Trainer::FitProcessBudget() {
  int64_t left = 0;
  absl::Status status;
  // A search takes memory of its own, which the process does not give back:
  // what is left is measured again after it.
  for (int searches = 0;; ++searches) {
    left = ArenaBytesLeft(plan_, /*engine_bytes=*/0);
    if (plan_.arena_bytes <= left) return absl::OkStatus();
    if (plan_.plan_within == nullptr || searches == kMostSearches) {
      status = absl::ResourceExhaustedError(
          absl::StrCat("the plan's arena has ", plan_.arena_bytes, " bytes"));
      break;
    }
    absl::StatusOr<std::vector<Plan>> plans =
        plan_.plan_within(std::max<int64_t>(left, 0));
    status = plans.status();
    if (!plans.ok()) break;
    RETURN_IF_ERROR(UsePlans(*std::move(plans)));
  }
  return absl::Status(
      status.code(),
      absl::StrCat("process budget of ", plan_.process_budget_bytes,
                   " bytes, of which everything but the arena takes ",
                   plan_.process_budget_bytes - left, ": ", status.message()));
}

absl::Status Trainer::TakeArena(absl::Span<char> arena) {
  if (arena.empty()) {
    RETURN_IF_ERROR(owned_.Resize(std::max<int64_t>(plan_.arena_bytes, 1)));
    arena_ = owned_.data();
    return absl::OkStatus();
  }
  const uintptr_t address = reinterpret_cast<uintptr_t>(arena.data());
  if (static_cast<int64_t>(arena.size()) < plan_.arena_bytes ||
      address % kArenaAlignment != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the arena must have at least ", plan_.arena_bytes,
        " bytes at a multiple of ", kArenaAlignment, ", got ", arena.size(),
        " bytes at a multiple of ", address & (~address + 1)));
  }
  callers_bytes_ = static_cast<int64_t>(arena.size());
  arena_ = arena.data();
  return absl::OkStatus();
}

// Passes stay where they are: callers hold references to them.
absl::Status Trainer::BindPasses() {
  for (size_t i = 0; i < plan_.passes.size(); ++i) {
    const PlannedPass& planned = *plan_.passes[i];
    ASSIGN_OR_RETURN(
        Executor executor,
        Executor::Create(planned.lowered, planned.plan, kernels_, arena_));
    Pass pass(&planned, std::move(executor), arena_);
    if (i < passes_.size()) {
      passes_[i] = std::move(pass);
    } else {
      passes_.push_back(std::move(pass));
    }
  }
  return absl::OkStatus();
}

absl::Status Trainer::UsePlans(std::vector<Plan> plans) {
  int64_t bytes = plan_.persistent_bytes;
  for (const Plan& plan : plans) bytes = std::max(bytes, plan.end_bytes);
  if (callers_bytes_ > 0 && bytes > callers_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the plan's arena has ", bytes,
                     " bytes, the caller's block only ", callers_bytes_));
  }
  if (owned_.data() != nullptr) {
    RETURN_IF_ERROR(owned_.Resize(std::max<int64_t>(bytes, 1)));
    arena_ = owned_.data();
  }
  plan_.arena_bytes = bytes;
  for (size_t i = 0; i < plans.size(); ++i) {
    plan_.passes[i]->plan = std::move(plans[i]);
  }
  return absl::OkStatus();
}

absl::Status Trainer::SetBudget(int64_t bytes) {
  if (plan_.plan_within == nullptr) {
    return absl::FailedPreconditionError(
        "the plans came from a file: there are no others to choose from");
  }
  // A caller's block is a budget too.
  const int64_t budget =
      callers_bytes_ > 0 ? std::min(bytes, callers_bytes_) : bytes;
  ASSIGN_OR_RETURN(std::vector<Plan> plans, plan_.plan_within(budget));
  RETURN_IF_ERROR(UsePlans(std::move(plans)));
  return BindPasses();
}

char* Trainer::Address(const PersistentValue& value) const {
  return arena_ + value.offset;
}

absl::Status Trainer::Initialize() {
  std::memset(arena_, 0, plan_.persistent_bytes);
  const PlannedPass& first = *plan_.passes.front();
  std::map<std::string, const PersistentValue*> by_name;
  for (const PersistentValue& value : plan_.persistent) {
    by_name[value.name] = &value;
  }
  const Graph& graph = first.step.graph;
  const auto fill = [&](ValueId v,
                        const proto::Initializer& initializer) -> absl::Status {
    const Value& value = graph.values[v];
    const PersistentValue& place = *by_name.at(value.name);
    return FillInitial(initializer, value.name, value.type, plan_.config.seed(),
                       absl::MakeSpan(Address(place), place.bytes));
  };
  for (const Parameter& parameter : graph.parameters) {
    RETURN_IF_ERROR(fill(parameter.value, parameter.initializer));
  }
  for (const State& state : graph.states) {
    RETURN_IF_ERROR(fill(state.value, state.initializer));
  }
  for (const SlotContent& slot : first.step.slots) {
    const PersistentValue& place = *by_name.at(graph.values[slot.slot].name);
    float* const data = reinterpret_cast<float*>(Address(place));
    std::fill(data, data + place.bytes / sizeof(float), slot.content);
  }
  return absl::OkStatus();
}

void Trainer::WriteScalars() {
  for (const PersistentValue& value : plan_.persistent) {
    if (value.kind != ValueKind::kScalar) continue;
    const auto write = [&](auto content) {
      std::memcpy(Address(value), &content, sizeof(content));
    };
    if (value.name == "__seed") {
      write(static_cast<int64_t>(plan_.config.seed()));
    } else if (value.name == "__step") {
      write(step_);
    } else if (value.name == "__micro_step") {
      write(micro_step_);
    } else if (value.name == "__lr") {
      write(static_cast<float>(learning_rate()));
    }
  }
}

Pass& Trainer::next() {
  const int64_t accumulate = std::max(1, plan_.config.accumulate_steps());
  const PlanMode mode = micro_step_ + 1 < accumulate
                            ? PlanMode::kTrainAccumulate
                            : PlanMode::kTrain;
  for (Pass& pass : passes_) {
    if (pass.mode() == mode) return pass;
  }
  return passes_.front();
}

absl::StatusOr<Pass*> Trainer::Find(PlanMode mode, const Bindings& symbols) {
  std::map<std::string, int64_t> wanted = passes_.front().symbols();
  for (const auto& [name, value] : symbols) wanted[name] = value;
  std::vector<std::string> known;
  for (Pass& pass : passes_) {
    if (pass.mode() == mode && pass.symbols() == wanted) return &pass;
    known.push_back(PassName(pass.mode(), pass.symbols()));
  }
  return absl::NotFoundError(absl::StrCat("no pass ", PassName(mode, wanted),
                                          "; there are ", Quoted(known)));
}

absl::Status Trainer::Step() { return Step(next()); }

absl::Status Trainer::Step(Pass& pass) {
  if (!Trains(pass.mode())) {
    return absl::InvalidArgumentError(
        absl::StrCat("Step takes a training pass, got ",
                     PassName(pass.mode(), pass.symbols())));
  }
  if (pass.mode() != next().mode()) {
    return absl::InvalidArgumentError(
        absl::StrCat("micro-step ", micro_step_, " takes a pass of mode ",
                     ModeName(next().mode()), ", got ",
                     PassName(pass.mode(), pass.symbols())));
  }
  WriteScalars();
  {
    const KernelThreadScope threads(plan_.env.threads);
    RETURN_IF_ERROR(pass.executor_.Run());
  }
  if (pass.mode() == PlanMode::kTrain) {
    ++step_;
    micro_step_ = 0;
  } else {
    ++micro_step_;
  }
  return absl::OkStatus();
}

absl::Status Trainer::Run(Pass& pass) {
  if (Trains(pass.mode())) {
    return absl::InvalidArgumentError(
        absl::StrCat("Run takes a pass that trains nothing, got ",
                     PassName(pass.mode(), pass.symbols())));
  }
  WriteScalars();
  const KernelThreadScope threads(plan_.env.threads);
  return pass.executor_.Run();
}

absl::StatusOr<absl::Span<float>> Trainer::Persistent(absl::string_view name) {
  std::vector<std::string> known;
  for (const PersistentValue& value : plan_.persistent) {
    known.push_back(value.name);
    if (value.name != name) continue;
    if (value.type.dtype != DType::kF32) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", name, "' is ", ToString(value.type), ", asked for as f32"));
    }
    return absl::MakeSpan(reinterpret_cast<float*>(Address(value)),
                          value.type.num_elements());
  }
  return absl::NotFoundError(absl::StrCat("no persistent value '", name,
                                          "'; there are ", Quoted(known)));
}

}  // namespace reprise
