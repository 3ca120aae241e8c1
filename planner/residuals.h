// What the backward pass reads of the forward run, and why it is there.

#ifndef PLANNER_RESIDUALS_H_
#define PLANNER_RESIDUALS_H_

#include <cstdint>
#include <vector>

#include "core/lowered_graph.h"
#include "planner/planner.h"
#include "planner/regions.h"
#include "planner/report.h"
#include "planner/task_graph.h"

namespace reprise {

// One of the forward run's contents that the backward pass reads, and who does.
struct ReadContent {
  InstanceId instance = -1;
  std::vector<TaskId> readers;  // gradients and replays, each once
};

// Returns what backward nodes and replays read of the forward run, inputs,
// parameters and scalars too, in the order of instances.
std::vector<ReadContent> ReadResiduals(const LoweredGraph& graph,
                                       const Regions& regions,
                                       const TaskGraph& tasks);

// Bytes that keeping a residual adds: none for what is there anyway.
int64_t AddedBytes(const LoweredGraph& graph, LoweredValueId v);

// Returns the forward values whose forward content backward nodes or replays
// read, inputs and parameters too, in the order in which they are made.
std::vector<Residual> ListResiduals(const PlanParts& parts);

}  // namespace reprise

#endif  // PLANNER_RESIDUALS_H_
