// Wires the stages together for one trainer: loads, differentiates, lowers and
// plans its passes. For reprise.cc and explore.cc; embedders need reprise.h
// only.

#ifndef SET_PLANNER_H_
#define SET_PLANNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/lowering.h"
#include "reprise.h"

namespace reprise {

// Plans the passes of one trainer, one after the other, over one persistent
// segment that the first of them fixes.
class SetPlanner {
 public:
  // Graph and options must outlive the result.
  SetPlanner(const proto::Graph& graph, const proto::TrainConfig& config,
             const TrainerOptions& options);

  // Loads and lowers one pass; `Plan` is still to come.
  absl::Status Lower(PlanMode mode, const Bindings& symbols,
                     const std::vector<std::string>& gradients = {});

  // Lowers the passes of a trainer.
  absl::Status LowerTraining();

  // Prepares the planners of all passes; `Plan` does so itself.
  absl::Status MakePlanners();

  // Plans every pass within the budget of the options.
  absl::Status Plan();

  // The same without explanations, and without a search if none can help.
  absl::StatusOr<std::vector<reprise::Plan>> PlanBriefly();

  // Returns the plans without a budget as one point of the trade-off.
  absl::StatusOr<TradeOff> WithoutBudget();

  // Returns the trajectory of the first pass, with the arenas that the whole
  // set then has.
  //
  //   first: of WithoutBudget.
  absl::StatusOr<std::vector<TradeOff>> Curve(const TradeOff& first);

  // Returns the cost of replays / the cost of all other steps of a plan of the
  // first pass.
  double AddedFraction(const reprise::Plan& plan) const;

  int64_t WorkingSetBytes() const;

  TrainerPlan& plan() { return plan_; }

  PlannedTrainer Finish();

 private:
  using Planners = std::vector<std::unique_ptr<PassPlanner>>;

  static int64_t SmallestArenaBytes(const Planners& planners);
  static absl::Status ExplainBudget(const Planners& planners,
                                    int64_t budget_bytes,
                                    const absl::Status& status);
  void CountCosts(const reprise::Plan& plan, TradeOff& point) const;

  const proto::Graph& graph_;
  const TrainerOptions& options_;
  LoweringOptions lowering_;
  TrainerPlan plan_;
  std::shared_ptr<Planners> planners_;  // shared with TrainerPlan::plan_within
  std::vector<PlanReport> reports_;
};

}  // namespace reprise

#endif  // SET_PLANNER_H_
