// Reprise: trains neural networks from a serialized graph, on the CPU, inside
// one block of memory whose every byte is planned before the first step.
//
// This header is what an embedding program needs:
//
//   ASSIGN_OR_RETURN(proto::Graph graph, ReadGraphFile("model.textproto"));
//   ASSIGN_OR_RETURN(proto::TrainConfig config, ReadTrainConfig("adam..."));
//   TrainerOptions options;
//   options.symbols = {{"batch", 64}};
//   options.plan.budget_bytes = int64_t{512} << 20;
//   ASSIGN_OR_RETURN(std::unique_ptr<Trainer> trainer,
//                    MakeTrainer(graph, config, options));
//   ASSIGN_OR_RETURN(absl::Span<float> x, trainer->next().Input<float>("x"));
//   ... fill x and the labels ...
//   RETURN_IF_ERROR(trainer->Step());
//   float loss = trainer->next().loss();
//
// It wires the stages together: core/load, core/train_step, core/lowering,
// planner/, core/trainer.

#ifndef REPRISE_H_
#define REPRISE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/load.h"
#include "core/trainer.h"
#include "planner/planner.h"
#include "proto/graph.pb.h"
#include "proto/machine.pb.h"
#include "proto/train.pb.h"

namespace reprise {

// Returns the table of all operators.
std::unique_ptr<OpTable> MakeOpTable();

struct TrainerOptions {
  // Values for the graph's symbols; others keep their defaults.
  Bindings symbols;

  // Further bindings that share the arena: each gets a training pass and an
  // evaluation pass, e.g. {{"batch", 37}} for a last partial batch.
  std::vector<Bindings> more_symbols;

  // Threads of every kernel; 0: one for each core.
  int threads = 0;

  bool evaluate = true;  // plan evaluation passes too
  bool fusion = true;
  PlanOptions plan;

  // What the whole process may hold: the arena gets what libraries, kernels and
  // the rest of this process leave of it when the trainer is created.
  int64_t process_budget_bytes = INT64_MAX;

  // Rates for the cost model; the compiled-in table if left empty.
  proto::Machine machine;

  // Named at the start of errors about the graph.
  std::string source = "graph";
};

// Everything decided before memory is taken.
struct PlannedTrainer {
  TrainerPlan plan;
  std::vector<PlanReport> reports;  // of plan.passes, in order

  // Returns the smallest arena found in which every pass fits: the smallest
  // budget that is not refused. The first call may search long. Empty: the
  // plans are read from a file.
  std::function<int64_t()> smallest_arena_bytes;
};

// Loads, differentiates, lowers and plans: one training pass (two where the
// config accumulates gradients) and one evaluation pass a binding.
//
//   errors: those of LoadGraph, BuildStepGraph, Lower and MakePlan;
//           InvalidArgument if an override of the config matches nothing.
absl::StatusOr<PlannedTrainer> PlanTrainer(const proto::Graph& graph,
                                           const proto::TrainConfig& config,
                                           const TrainerOptions& options);

// PlanTrainer, with schedule and offsets taken from a file that WritePlan has
// made from the same graph, config and options, on the same kind of machine;
// every step is checked. `reports` stays empty.
//
//   options: the budget is a limit only; searching was done when it was made.
//   errors: those of PlanTrainer and ReadProtoFile; FailedPrecondition naming
//           what differs; ResourceExhausted if the plan's arena exceeds the
//           budget; Internal if the checker refuses a plan.
absl::StatusOr<PlannedTrainer> ReadPlan(const std::string& path,
                                        const proto::Graph& graph,
                                        const proto::TrainConfig& config,
                                        const TrainerOptions& options);

// Writes the plans in `plan`; the old file or the new one stands, whole.
absl::Status WritePlan(const TrainerPlan& plan, const std::string& path);

// PlanTrainer without training: a forward pass (mode kEvaluate, or kForward
// with training semantics), or kGradients with the gradients of `gradients`
// (inputs and parameters; empty: all trainable parameters).
absl::StatusOr<PlannedTrainer> PlanRunner(
    const proto::Graph& graph, PlanMode mode,
    const std::vector<std::string>& gradients, const TrainerOptions& options);

// Memory against time, over all budgets. Arenas are those of the whole set,
// everything else is of the training pass; added costs are those of all steps
// that run again, cost is that of all others.
struct Sweep {
  std::map<std::string, int64_t> symbols;  // as bound
  std::vector<TradeOff> curve;             // largest arena and least cost first
  TradeOff annotated;             // the plan of the graph without a budget
  TradeOff save_everything;       // the same without regions and annotations
  int64_t persistent_bytes = 0;   // part of every arena
  int64_t working_set_bytes = 0;  // no schedule of the curve needs less
};

enum class SweepAnnotations : uint8_t {
  kIgnored,  // the curve shows what is possible
  kBinding,  // it shows what the graph's annotations leave possible
};

// Returns the trade-off of a trainer's plans.
//
//   options: the budgets are not used.
//   errors:  those of PlanTrainer.
//   cost:    searches once, or twice if the graph has annotations.
absl::StatusOr<Sweep> SweepTrainer(
    const proto::Graph& graph, const proto::TrainConfig& config,
    const TrainerOptions& options,
    SweepAnnotations annotations = SweepAnnotations::kIgnored);

// Returns `graph` without regions and annotations.
proto::Graph WithoutAnnotations(const proto::Graph& graph);

struct LargestValue {
  int64_t value = 0;
  PlannedTrainer planned;
};

// Returns the largest value of a symbol, from 1 to 2^31 - 1, for which a plan
// is found within `options.plan.budget_bytes` whose replays cost at most
// `max_added_fraction` of all other steps, and the plan. Values double until
// one does not fit, then the interval is halved: a value above one that fails
// is not tried, whatever it fails for.
//
//   options: a value of the symbol there is not used; no process budget.
//   on_try:  called before each value that is tried, for progress; may be null.
//   errors:  InvalidArgument naming the symbols there are; those of PlanTrainer
//            for the value 1, and ResourceExhausted with both costs if it adds
//            too much.
absl::StatusOr<LargestValue> MaximizeSymbol(
    const proto::Graph& graph, const proto::TrainConfig& config,
    const TrainerOptions& options, const std::string& symbol,
    double max_added_fraction,
    const std::function<void(int64_t value)>& on_try = nullptr);

// PlanTrainer, and a trainer that owns its arena.
absl::StatusOr<std::unique_ptr<Trainer>> MakeTrainer(
    const proto::Graph& graph, const proto::TrainConfig& config,
    const TrainerOptions& options);

// PlanRunner likewise: use Trainer::next() and Trainer::Run().
absl::StatusOr<std::unique_ptr<Trainer>> MakeRunner(
    const proto::Graph& graph, PlanMode mode,
    const std::vector<std::string>& gradients, const TrainerOptions& options);

// Returns the measured rates in `path`, checked, as `reprise calibrate` writes
// them: text if the name ends in .textproto, binary otherwise.
absl::StatusOr<proto::Machine> ReadMachine(const std::string& path);

// Returns the train config in `path`, checked: text if the name ends in
// .textproto, binary otherwise.
absl::StatusOr<proto::TrainConfig> ReadTrainConfig(const std::string& path);

}  // namespace reprise

#endif  // REPRISE_H_
