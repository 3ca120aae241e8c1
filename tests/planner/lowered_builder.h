// Makes lowered graphs by hand, with the step graph they stand for, so that a
// test of the planner can say exactly what reads what and how large it is.
//
//   LoweredBuilder b;
//   const LoweredValueId x = b.Input("x", 64);
//   const LoweredValueId y = b.Add(NodeSpec("y").Reads({x}).Writes({128}));
//   b.Result(y);

#ifndef TESTS_PLANNER_LOWERED_BUILDER_H_
#define TESTS_PLANNER_LOWERED_BUILDER_H_

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "core/graph.h"
#include "core/lowered_graph.h"
#include "core/op.h"
#include "core/plan.h"

namespace reprise {

// One node, with a kernel and an operator of its own. The defaults: a pure
// forward node in no region that nothing may overwrite.
struct NodeSpec {
  explicit NodeSpec(std::string node_name) : name(std::move(node_name)) {}

  NodeSpec& Op(std::string name) {
    op = std::move(name);
    return *this;
  }
  NodeSpec& Reads(std::vector<LoweredValueId> values) {
    in = std::move(values);
    return *this;
  }
  // Bytes of each result; -1: not wanted. Result 0 has the node's name, result
  // i "name.i".
  NodeSpec& Writes(std::vector<int64_t> bytes) {
    out_bytes = std::move(bytes);
    return *this;
  }
  NodeSpec& In(RegionId r) {
    region = r;
    return *this;
  }
  // A backward node of what `forward` computes.
  NodeSpec& GradientOf(LoweredValueId forward) {
    role = Role::kBackward;
    origin = forward;
    return *this;
  }
  // A backward node that belongs to no forward node.
  NodeSpec& Backward() {
    role = Role::kBackward;
    return *this;
  }
  // Result 0 is the new content of the persistent operand `i`.
  NodeSpec& Updates(int i) {
    role = Role::kUpdate;
    effect = Effect::kUpdate;
    must_overwrite = {{i, 0}};
    return *this;
  }
  NodeSpec& Guards() {
    effect = Effect::kGuard;
    return *this;
  }
  NodeSpec& MayOverwrite(std::vector<Overwrite> pairs) {
    may_overwrite = std::move(pairs);
    return *this;
  }
  NodeSpec& Scratchpad(int64_t bytes) {
    scratchpad_bytes = bytes;
    return *this;
  }
  // Results from index `i` on are statistics.
  NodeSpec& StatisticsFrom(int i) {
    first_statistic = i;
    return *this;
  }
  NodeSpec& Matmul(MatmulKind kind) {
    matmul = kind;
    return *this;
  }

  std::string name;
  std::string op = "Op";
  std::vector<LoweredValueId> in;
  std::vector<int64_t> out_bytes = {64};
  RegionId region = kNoRegion;
  Role role = Role::kForward;
  LoweredValueId origin = -1;
  Effect effect = Effect::kPure;
  std::vector<Overwrite> may_overwrite;
  std::vector<Overwrite> must_overwrite;
  int64_t scratchpad_bytes = 0;
  int64_t library_heap_bytes = 0;
  int64_t cost_nanoseconds = 1;
  int first_statistic = 1 << 20;
  MatmulKind matmul = MatmulKind::kNone;
};

class LoweredBuilder {
 public:
  LoweredValueId Input(const std::string& name, int64_t bytes);
  LoweredValueId Parameter(const std::string& name, int64_t bytes);

  // Adds a node and returns its first result.
  LoweredValueId Add(const NodeSpec& spec);

  // Returns result i of the node that computes `value`.
  LoweredValueId OutputOf(LoweredValueId value, int i) const;

  // Adds a reorder of `value`, which may be a copy itself, and returns the
  // copy.
  LoweredValueId Reorder(const std::string& name, LoweredValueId value,
                         int64_t bytes, Role role);

  // Gives a value a second name, as a view of it would.
  void View(const std::string& name, LoweredValueId value);

  RegionId AddRegion(const std::string& name, RegionId parent, Policy policy);
  void Annotate(LoweredValueId value, Keep keep);
  void Result(LoweredValueId value);

  // Says that `value` is a loss, so that gradients start at the constants that
  // belong to its producer.
  void Loss(LoweredValueId value);

  // Puts the producer of `from` and that of `to`, which alone reads `from` and
  // was added last, into one kernel. `from` is then the id of what `to` was;
  // the value between them is swallowed.
  void Fuse(LoweredValueId from, LoweredValueId to);

  const Graph& step() const { return step_; }
  Graph& step() { return step_; }
  const LoweredGraph& graph() const { return graph_; }
  LoweredGraph& graph() { return graph_; }

 private:
  LoweredValueId Source(const std::string& name, int64_t bytes, ValueKind kind);
  ValueId AddStepValue(const std::string& name, int64_t bytes, ValueKind kind);
  LoweredNodeId AddNode(const NodeSpec& spec, bool is_reorder);

  std::deque<OpDef> ops_;
  Graph step_;
  LoweredGraph graph_;
};

// Returns policies by name.
Policy SaveNothing();
Policy SaveEverything();
Policy SaveNames(std::vector<std::string> names);

// Returns a policy of another kind, with the names that it lists, if any.
Policy PolicyOf(Policy::Kind kind, std::vector<std::string> names = {});

}  // namespace reprise

#endif  // TESTS_PLANNER_LOWERED_BUILDER_H_
