#include "planner/policy.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/names.h"

namespace reprise {
namespace {

// Adds what `policy` lists of value names, within others too.
void AddPatterns(const Policy& policy, std::set<std::string>& patterns) {
  if (policy.kind == Policy::Kind::kSaveNames ||
      policy.kind == Policy::Kind::kSaveAllButNames) {
    patterns.insert(policy.names.begin(), policy.names.end());
  }
  for (const Policy& one : policy.any_of) AddPatterns(one, patterns);
}

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

std::vector<std::string> NotesOfPatterns(const Graph& step_graph) {
  std::vector<std::set<std::string>> unmatched(step_graph.regions.size());
  for (size_t r = 0; r < step_graph.regions.size(); ++r) {
    AddPatterns(step_graph.regions[r].policy, unmatched[r]);
  }
  for (const Node& node : step_graph.nodes) {
    if (node.role != Role::kForward) continue;
    for (RegionId r = node.region; r != kNoRegion;
         r = step_graph.regions[r].parent) {
      for (auto it = unmatched[r].begin(); it != unmatched[r].end();) {
        const bool matches =
            std::any_of(node.out.begin(), node.out.end(), [&](ValueId value) {
              return value != kNoValue &&
                     MatchesGlob(*it, step_graph.values[value].name);
            });
        it = matches ? unmatched[r].erase(it) : std::next(it);
      }
    }
  }
  std::vector<std::string> notes;
  for (size_t r = 0; r < step_graph.regions.size(); ++r) {
    for (const std::string& pattern : unmatched[r]) {
      notes.push_back(absl::StrCat("region ", Quote(step_graph.regions[r].name),
                                   ": the pattern ", Quote(pattern),
                                   " of its policy matches no value in it"));
    }
  }
  return notes;
}

}  // namespace reprise
