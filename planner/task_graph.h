// What a plan runs, before anybody decides when: runs of nodes ("tasks") that
// read and write contents of values ("instances"). A replayed node has several
// tasks, and each of its values several instances.

#ifndef PLANNER_TASK_GRAPH_H_
#define PLANNER_TASK_GRAPH_H_

#include <cstdint>
#include <vector>

#include "core/graph.h"
#include "core/lowered_graph.h"

namespace reprise {

using InstanceId = int32_t;  // index into TaskGraph::instances
using TaskId = int32_t;      // index into TaskGraph::tasks

// The content of a value as one run of its producer leaves it.
struct Instance {
  LoweredValueId value = -1;
  TaskId producer = -1;  // -1: an input or a persistent value
};

struct Task {
  LoweredNodeId node = -1;
  bool replay = false;
  // Of a replay: the region whose content it repeats; kNoRegion: a reorder
  // that is redone.
  RegionId region = kNoRegion;
  // Has no place of its own: runs directly before the first other task that
  // needs it.
  bool on_demand = false;
  std::vector<InstanceId> in;   // -1: absent
  std::vector<InstanceId> out;  // -1: absent
};

struct TaskGraph {
  // Instance i is the first content of value i, for every lowered value;
  // replays add theirs behind.
  std::vector<Instance> instances;

  // Task i is the first run of node i, for every lowered node; replays follow.
  std::vector<Task> tasks;

  std::vector<InstanceId> results;  // read after the last step
};

// Returns every node's first run: nothing is replayed.
TaskGraph FirstRuns(const LoweredGraph& graph);

// Appends a replay of `node` that writes new instances; the caller fills in
// what it reads.
TaskId AppendReplay(const LoweredGraph& graph, LoweredNodeId node,
                    RegionId region, TaskGraph& tasks);

// Sets Task::on_demand: replays, and what the backward pass and the updates
// compute without a gradient (constants, reorders of parameters, factors made
// of forward values).
void MarkOnDemand(const Graph& step_graph, const LoweredGraph& graph,
                  TaskGraph& tasks);

}  // namespace reprise

#endif  // PLANNER_TASK_GRAPH_H_
