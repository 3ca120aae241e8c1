// What a checkpoint policy says about one value.

#ifndef PLANNER_POLICY_H_
#define PLANNER_POLICY_H_

#include <string>
#include <vector>

#include "core/graph.h"

namespace reprise {

// Returns the value whose policies and annotations `value` follows: the first
// output of its node for a statistic or workspace, otherwise itself.
ValueId PolicyLeader(const Graph& step_graph, ValueId value);

// Returns whether `policy` lets `value` of the step graph be kept.
bool MayKeep(const Policy& policy, const Graph& step_graph, ValueId value);

// Returns a note for each pattern of a policy that matches no forward value
// made in its region. That is no error: one policy may serve many models.
std::vector<std::string> NotesOfPatterns(const Graph& step_graph);

}  // namespace reprise

#endif  // PLANNER_POLICY_H_
