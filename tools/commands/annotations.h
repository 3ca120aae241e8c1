// A plan written back into its graph: what the planner recomputes of its own
// accord, as regions and annotations that ask for it.

#ifndef TOOLS_COMMANDS_ANNOTATIONS_H_
#define TOOLS_COMMANDS_ANNOTATIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "reprise.h"

namespace reprise {

struct AnnotatedGraph {
  proto::Graph graph;
  int32_t regions = 0;  // added
  int32_t must_save = 0;
  int32_t must_recompute = 0;

  // Steps that the plan repeats of its own accord, copies in other layouts
  // aside.
  int32_t steps_repeated = 0;

  // Those that an annotation cannot ask for: further repeats of a forward node,
  // and any repeat of a backward node.
  int32_t steps_left_out = 0;
};

enum class AnnotationStyle {
  // A save_nothing region around nodes that run again one after the other.
  kRegions,
  // must_recompute for every value that is made again.
  kValues,
};

// Returns `graph` with what `pass` recomputes although no annotation asks for
// it; the graph's own regions and annotations stay as they are. Regions cover
// neighbours in an order of the nodes, so no two need each other's results.
//
//   pass: a training pass, planned from `graph`.
AnnotatedGraph Annotate(const proto::Graph& graph, const PlannedPass& pass,
                        AnnotationStyle style);

// Annotate in the style whose plan without a budget has the smaller arena; of
// equals, in regions. `arena_bytes` is of that plan. Where it is no smaller
// than with the graph as it is, nothing is added and every repeated step left
// out: no annotation asks for a result that is kept for one reader of the
// backward pass and made again for the next.
struct EmittedAnnotations {
  AnnotatedGraph annotated;
  int64_t arena_bytes = 0;
  double added_fraction = 0;  // RecomputeCostFraction of that plan
};

//   options: as `planned` was made with; the budget is not used.
//   errors:  those of PlanTrainer.
absl::StatusOr<EmittedAnnotations> EmitAnnotations(
    const proto::Graph& graph, const proto::TrainConfig& config,
    const TrainerOptions& options, const TrainerPlan& planned);

}  // namespace reprise

#endif  // TOOLS_COMMANDS_ANNOTATIONS_H_
