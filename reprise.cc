#include "reprise.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/machine.h"
#include "core/plan_file.h"
#include "core/proto_file.h"
#include "core/status_macros.h"
#include "core/train_config.h"
#include "ops/all_ops.h"
#include "set_planner.h"

namespace reprise {

std::unique_ptr<OpTable> MakeOpTable() {
  return std::make_unique<OpTable>(AllOps());
}

absl::StatusOr<PlannedTrainer> PlanTrainer(const proto::Graph& graph,
                                           const proto::TrainConfig& config,
                                           const TrainerOptions& options) {
  SetPlanner planner(graph, config, options);
  RETURN_IF_ERROR(planner.LowerTraining());
  RETURN_IF_ERROR(planner.Plan());
  return planner.Finish();
}

absl::StatusOr<PlannedTrainer> ReadPlan(const std::string& path,
                                        const proto::Graph& graph,
                                        const proto::TrainConfig& config,
                                        const TrainerOptions& options) {
  proto::PlanSet file;
  RETURN_IF_ERROR(ReadProtoFile(path, file));
  SetPlanner planner(graph, config, options);
  RETURN_IF_ERROR(planner.LowerTraining());
  // A plan is what its own options made of the graph.
  planner.plan().options = file.options();
  absl::Status adopted = AdoptPlans(file, planner.plan());
  if (adopted.ok() && file.arena_bytes() > options.plan.budget_bytes) {
    adopted = absl::ResourceExhaustedError(absl::StrCat(
        "budget of ", options.plan.budget_bytes,
        " bytes is too small for the plan's arena of ", file.arena_bytes()));
  }
  if (!adopted.ok()) {
    return absl::Status(adopted.code(),
                        absl::StrCat(path, ": ", adopted.message()));
  }
  return planner.Finish();
}

absl::Status WritePlan(const TrainerPlan& plan, const std::string& path) {
  return WriteProtoFile(ToProto(plan), path);
}

absl::StatusOr<PlannedTrainer> PlanRunner(
    const proto::Graph& graph, PlanMode mode,
    const std::vector<std::string>& gradients, const TrainerOptions& options) {
  if (mode == PlanMode::kTrain || mode == PlanMode::kTrainAccumulate) {
    return absl::InvalidArgumentError("PlanRunner takes no training mode");
  }
  SetPlanner planner(graph, proto::TrainConfig(), options);
  std::vector<Bindings> bindings = {{}};
  bindings.insert(bindings.end(), options.more_symbols.begin(),
                  options.more_symbols.end());
  for (const Bindings& symbols : bindings) {
    RETURN_IF_ERROR(planner.Lower(mode, symbols, gradients));
  }
  RETURN_IF_ERROR(planner.Plan());
  return planner.Finish();
}

absl::StatusOr<std::unique_ptr<Trainer>> MakeTrainer(
    const proto::Graph& graph, const proto::TrainConfig& config,
    const TrainerOptions& options) {
  ASSIGN_OR_RETURN(PlannedTrainer planned, PlanTrainer(graph, config, options));
  return Trainer::Create(std::move(planned.plan));
}

absl::StatusOr<std::unique_ptr<Trainer>> MakeRunner(
    const proto::Graph& graph, PlanMode mode,
    const std::vector<std::string>& gradients, const TrainerOptions& options) {
  ASSIGN_OR_RETURN(PlannedTrainer planned,
                   PlanRunner(graph, mode, gradients, options));
  return Trainer::Create(std::move(planned.plan));
}

absl::StatusOr<proto::Machine> ReadMachine(const std::string& path) {
  proto::Machine machine;
  RETURN_IF_ERROR(ReadProtoFile(path, machine));
  const absl::Status status = CheckMachine(machine);
  if (!status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat(path, ": ", status.message()));
  }
  return machine;
}

absl::StatusOr<proto::TrainConfig> ReadTrainConfig(const std::string& path) {
  proto::TrainConfig config;
  RETURN_IF_ERROR(ReadProtoFile(path, config));
  const absl::Status status = CheckTrainConfig(config);
  if (!status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat(path, ": ", status.message()));
  }
  return config;
}

}  // namespace reprise
