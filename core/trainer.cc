#include "core/trainer.h"

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/initialize.h"
#include "core/status_macros.h"
#include "core/thread_scope.h"

namespace reprise {
namespace {

// Heap in use, as the allocator counts it.
int64_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

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

Trainer::Trainer(TrainerPlan plan)
    : plan_(std::move(plan)), kernels_(plan_.env) {}

Trainer::~Trainer() { std::free(owned_); }

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Create(
    TrainerPlan plan, absl::Span<char> arena) {
  // Not make_unique: the constructor is private.
  std::unique_ptr<Trainer> trainer(new Trainer(std::move(plan)));
  const int64_t bytes = std::max<int64_t>(trainer->plan_.arena_bytes, 1);
  if (arena.empty()) {
    trainer->owned_ = std::aligned_alloc(kArenaAlignment, AlignUp(bytes));
    if (trainer->owned_ == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the arena's ", bytes, " bytes cannot be allocated"));
    }
    trainer->arena_ = static_cast<char*>(trainer->owned_);
  } else {
    const uintptr_t address = reinterpret_cast<uintptr_t>(arena.data());
    if (static_cast<int64_t>(arena.size()) < trainer->plan_.arena_bytes ||
        address % kArenaAlignment != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the arena must have at least ", trainer->plan_.arena_bytes,
          " bytes at a multiple of ", kArenaAlignment, ", got ", arena.size(),
          " bytes at a multiple of ", address & (~address + 1)));
    }
    trainer->arena_ = arena.data();
  }
  const int64_t heap_before = HeapBytes();
  for (const std::unique_ptr<PlannedPass>& planned : trainer->plan_.passes) {
    ASSIGN_OR_RETURN(Executor executor,
                     Executor::Create(planned->lowered, planned->plan,
                                      trainer->kernels_, trainer->arena_));
    trainer->passes_.push_back(
        Pass(planned.get(), std::move(executor), trainer->arena_));
  }
  trainer->engine_bytes_ = std::max<int64_t>(0, HeapBytes() - heap_before);
  RETURN_IF_ERROR(trainer->Initialize());
  return trainer;
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
