#include "tests/testing/plan_oracle.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/check_plan.h"
#include "core/status_macros.h"
#include "planner/planner.h"

namespace reprise {
namespace {

// Every bit set: a NaN as a float, -1 as an integer.
constexpr int kPoison = 0xFF;

struct FreeDeleter {
  void operator()(char* p) const { std::free(p); }
};
using Arena = std::unique_ptr<char, FreeDeleter>;

bool Trains(PlanMode mode) {
  return mode == PlanMode::kTrain || mode == PlanMode::kTrainAccumulate;
}

Arena NewArena(int64_t bytes) {
  return Arena(static_cast<char*>(std::aligned_alloc(
      kArenaAlignment, AlignUp(std::max<int64_t>(bytes, 1)))));
}

// A trainer, its arena, and what to poison when.
struct Subject {
  Arena arena;
  std::unique_ptr<Trainer> trainer;
  // By pass and step: ranges whose bytes are dead once the step has run.
  std::vector<std::vector<std::vector<LiveRange>>> dying;
};

absl::StatusOr<Subject> MakeSubject(TrainerPlan plan, bool check) {
  Subject subject;
  for (const std::unique_ptr<PlannedPass>& pass : plan.passes) {
    std::vector<std::vector<LiveRange>> dying(pass->plan.steps.size() + 1);
    if (check) {
      ASSIGN_OR_RETURN(const PlanFacts facts,
                       CheckPlan(pass->lowered, pass->plan));
      const int32_t num_steps = static_cast<int32_t>(pass->plan.steps.size());
      for (const LiveRange& range : facts.ranges) {
        // Results are read after the last step, the guard's after its own.
        const bool read_outside =
            range.end >= num_steps ||
            (pass->plan.guard_step >= 0 &&
             range.value ==
                 pass->plan.steps[pass->plan.guard_step].out[0].value);
        if (range.offset < plan.persistent_bytes || read_outside) continue;
        // Bytes that the next step takes over in place are read by it first.
        bool taken_over = false;
        for (const Operand& in : pass->plan.steps[range.end].in) {
          taken_over = taken_over ||
                       (in.value == range.value && in.offset == range.offset);
        }
        if (!taken_over) dying[range.end].push_back(range);
      }
    }
    subject.dying.push_back(std::move(dying));
  }
  subject.arena = NewArena(plan.arena_bytes);
  const int64_t bytes = plan.arena_bytes;
  ASSIGN_OR_RETURN(
      subject.trainer,
      Trainer::Create(
          std::move(plan),
          absl::MakeSpan(subject.arena.get(), std::max<int64_t>(bytes, 1))));
  return subject;
}

void PoisonTransient(const Subject& subject) {
  const TrainerPlan& plan = subject.trainer->plan();
  std::memset(subject.arena.get() + plan.persistent_bytes, kPoison,
              plan.arena_bytes - plan.persistent_bytes);
}

std::string NameInSnapshot(const Trainer& trainer, const Pass& pass,
                           size_t index) {
  const std::vector<PersistentValue>& persistent = trainer.plan().persistent;
  if (index < persistent.size()) return persistent[index].name;
  return pass.planned().step.results[index - persistent.size()].name;
}

// Runs the pass with dead bytes poisoned and returns the snapshot after it.
absl::StatusOr<std::vector<std::vector<char>>> RunPoisoned(
    Subject& subject, size_t p, uint64_t seed, int64_t index_limit) {
  const PlannedPass& planned = *subject.trainer->plan().passes[p];
  ASSIGN_OR_RETURN(Pass* const pass,
                   subject.trainer->Find(planned.mode, planned.model.symbols));
  PoisonTransient(subject);
  FillInputs(*pass, seed, index_limit);
  const auto& dying = subject.dying[p];
  char* const arena = subject.arena.get();
  pass->executor().SetStepHook([&dying, arena](int step) {
    for (const LiveRange& range : dying[step + 1]) {
      std::memset(arena + range.offset, kPoison, range.bytes);
    }
  });
  RETURN_IF_ERROR(Trains(planned.mode) ? subject.trainer->Step(*pass)
                                       : subject.trainer->Run(*pass));
  return Snapshot(*subject.trainer, *pass, arena);
}

}  // namespace

void FillInputs(Pass& pass, uint64_t seed, int64_t index_limit) {
  const Graph& graph = pass.planned().step.graph;
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int64_t> index(0, index_limit - 1);
  for (const ValueId v : graph.inputs) {
    const Value& value = graph.values[v];
    const auto fill = [&](auto zero, auto draw) {
      using T = decltype(zero);
      const absl::StatusOr<absl::Span<T>> span = pass.Input<T>(value.name);
      REPRISE_CHECK(span.ok());
      for (T& element : *span) element = static_cast<T>(draw());
    };
    switch (value.type.dtype) {
      case DType::kF32:
        fill(float{}, [&] { return normal(random); });
        break;
      case DType::kI32:
        fill(int32_t{}, [&] { return index(random); });
        break;
      case DType::kI64:
        fill(int64_t{}, [&] { return index(random); });
        break;
      case DType::kBool:
        fill(bool{}, [&] { return index(random) % 2 == 1; });
        break;
      default:
        fill(uint8_t{}, [&] { return index(random); });
    }
  }
}

std::vector<std::vector<char>> Snapshot(const Trainer& trainer,
                                        const Pass& pass, const char* arena) {
  std::vector<std::vector<char>> snapshot;
  for (const PersistentValue& value : trainer.plan().persistent) {
    snapshot.emplace_back(arena + value.offset,
                          arena + value.offset + value.bytes);
  }
  for (const Operand& result : pass.plan().results) {
    snapshot.emplace_back(arena + result.offset,
                          arena + result.offset + result.bytes);
  }
  return snapshot;
}

absl::Status ComparePlannedWithNaive(const proto::Graph& graph,
                                     const proto::TrainConfig& config,
                                     const TrainerOptions& options,
                                     const OracleOptions& oracle) {
  ASSIGN_OR_RETURN(PlannedTrainer planned, PlanTrainer(graph, config, options));
  ASSIGN_OR_RETURN(PlannedTrainer naive, PlanTrainer(graph, config, options));
  naive.plan.arena_bytes = 0;
  for (std::unique_ptr<PlannedPass>& pass : naive.plan.passes) {
    pass->plan = MakeNaivePlan(pass->lowered, pass->mode, pass->step.graph,
                               naive.plan.persistent);
    naive.plan.arena_bytes =
        std::max(naive.plan.arena_bytes, pass->plan.end_bytes);
  }
  if (oracle.sabotage) oracle.sabotage(planned.plan.passes[0]->plan);
  ASSIGN_OR_RETURN(Subject as_planned,
                   MakeSubject(std::move(planned.plan), oracle.check_plan));
  ASSIGN_OR_RETURN(Subject as_naive, MakeSubject(std::move(naive.plan), true));
  for (int step = 0; step < oracle.steps; ++step) {
    for (size_t p = 0; p < as_planned.dying.size(); ++p) {
      const PlannedPass& pass = *as_planned.trainer->plan().passes[p];
      if (Trains(pass.mode) ? pass.mode != as_planned.trainer->next().mode()
                            : !oracle.evaluate) {
        continue;
      }
      const uint64_t seed = oracle.seed * 1000003 + step * 101 + p;
      ASSIGN_OR_RETURN(const auto planned_bytes,
                       RunPoisoned(as_planned, p, seed, oracle.index_limit));
      ASSIGN_OR_RETURN(const auto naive_bytes,
                       RunPoisoned(as_naive, p, seed, oracle.index_limit));
      for (size_t i = 0; i < planned_bytes.size(); ++i) {
        if (planned_bytes[i] == naive_bytes[i]) continue;
        ASSIGN_OR_RETURN(Pass* const run, as_planned.trainer->Find(
                                              pass.mode, pass.model.symbols));
        return absl::InternalError(absl::StrCat(
            "planned and naive differ in pass ", p, ", step ", step, ": '",
            NameInSnapshot(*as_planned.trainer, *run, i), "'"));
      }
    }
  }
  return absl::OkStatus();
}

proto::TrainConfig ConfigOf(const std::string& optimizer, float lr) {
  proto::TrainConfig config;
  config.set_format_version(1);
  config.mutable_schedule()->set_lr(lr);
  config.set_seed(7);
  if (optimizer == "sgd") config.mutable_sgd();
  if (optimizer == "momentum") config.mutable_sgd()->set_momentum(0.9f);
  if (optimizer == "adam") config.mutable_adam();
  if (optimizer == "adamw") config.mutable_adamw();
  if (optimizer == "adagrad") config.mutable_adagrad();
  if (optimizer == "rmsprop") config.mutable_rmsprop();
  if (optimizer == "onnx_adam") config.mutable_onnx_adam();
  if (optimizer == "onnx_adagrad") config.mutable_onnx_adagrad();
  if (optimizer == "onnx_momentum") config.mutable_onnx_momentum();
  return config;
}

}  // namespace reprise
