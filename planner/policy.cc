#include "planner/policy.h"

#include <algorithm>
#include <string>
#include <vector>

namespace reprise {
namespace {

bool IsStatistic(const Graph& step, ValueId v) {
  const Value& value = step.values[v];
  return value.producer != kNoNode &&
         value.output >= step.nodes[value.producer].op->first_statistic;
}

bool MatchesAny(const std::vector<std::string>& globs,
                const std::string& name) {
  return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
    return MatchesGlob(glob, name);
  });
}

bool HasNoBatchDims(const Graph& step, const Node& node) {
  if (node.op->matmul == MatmulKind::kGemm) return true;
  if (node.op->matmul != MatmulKind::kDot) return false;
  for (const ValueId v : node.in) {
    if (v != kNoValue && step.values[v].type.rank() <= 2) return true;
  }
  return false;
}

}  // namespace

ValueId PolicyLeader(const Graph& step_graph, ValueId value) {
  if (!IsStatistic(step_graph, value)) return value;
  const NodeId producer = step_graph.values[value].producer;
  const ValueId first = step_graph.nodes[producer].out[0];
  return first == kNoValue ? value : first;
}

bool MayKeep(const Policy& policy, const Graph& step_graph, ValueId value) {
  const Value& leader = step_graph.values[PolicyLeader(step_graph, value)];
  const Node* producer =
      leader.producer == kNoNode ? nullptr : &step_graph.nodes[leader.producer];
  switch (policy.kind) {
    case Policy::Kind::kSaveNothing:
      return false;
    case Policy::Kind::kSaveEverything:
    case Policy::Kind::kAuto:
      return true;
    case Policy::Kind::kSaveMatmuls:
      return producer != nullptr && producer->op->matmul != MatmulKind::kNone;
    case Policy::Kind::kSaveMatmulsWithoutBatchDims:
      return producer != nullptr && HasNoBatchDims(step_graph, *producer);
    case Policy::Kind::kSaveNames:
      return MatchesAny(policy.names, leader.name);
    case Policy::Kind::kSaveAllButNames:
      return !MatchesAny(policy.names, leader.name);
    case Policy::Kind::kSaveOps:
      return producer != nullptr &&
             std::find(policy.names.begin(), policy.names.end(),
                       WrittenOp(*producer)) != policy.names.end();
    case Policy::Kind::kAnyOf:
      return std::any_of(
          policy.any_of.begin(), policy.any_of.end(),
          [&](const Policy& p) { return MayKeep(p, step_graph, value); });
  }
  return false;
}

}  // namespace reprise
