// The lowered graph: what will run, with layouts, bytes and costs, and nothing
// about when or where in memory.
//
// It differs from the step graph in four ways: every value has a physical
// layout, with Reorder nodes between layouts; some nodes are fused into one;
// views are gone (their readers read the viewed value); workspaces are values
// with a size. Lowering sees the math, the binding, the threads, the library
// and the CPU; never regions, policies or budgets.

#ifndef CORE_LOWERED_GRAPH_H_
#define CORE_LOWERED_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph.h"
#include "core/op.h"

namespace reprise {

using LoweredValueId = int32_t;  // index into LoweredGraph::values
using LoweredNodeId = int32_t;   // index into LoweredGraph::nodes
using SignatureId = int32_t;     // index into LoweredGraph::signatures

struct LoweredValue {
  Layout layout;
  int64_t bytes = 0;  // physical; 0: never touched by a kernel
  ValueKind kind = ValueKind::kComputed;
  bool workspace = false;
  LoweredNodeId producer = -1;  // -1: input or persistent
  int output = 0;

  // Values of the step graph whose content this is: the value itself, views
  // of it, and (in `swallowed`) values that exist only inside the producer.
  std::vector<ValueId> logical;
  std::vector<ValueId> swallowed;

  // The value this is a reordered copy of; itself if it is none. Never a copy
  // of a copy.
  LoweredValueId copy_of = -1;
};

struct LoweredNode {
  std::string name;  // of the logical node; of a reorder, made up
  SignatureId signature = -1;
  std::vector<LoweredValueId> in;   // -1: absent
  std::vector<LoweredValueId> out;  // -1: absent
  Role role = Role::kForward;
  Effect effect = Effect::kPure;
  bool is_reorder = false;
  // Step graph nodes that this one computes; the last one names it. Empty for
  // a reorder.
  std::vector<NodeId> logical;
};

// One distinct kernel.
struct LoweredSignature {
  Signature signature;  // with layouts
  Description description;
  int64_t cost_nanoseconds = 0;
};

struct LoweredGraph {
  int threads = 1;
  std::vector<LoweredSignature> signatures;
  std::vector<LoweredValue> values;
  std::vector<LoweredNode> nodes;          // producers before readers
  std::vector<LoweredValueId> inputs;      // row-major, in model order
  std::vector<LoweredValueId> persistent;  // parameters, states, slots, ...
  // Read after the last step: outputs, losses, wanted gradients, in the order
  // of StepGraph::results.
  std::vector<LoweredValueId> results;

  const Description& description(LoweredNodeId node) const {
    return signatures[nodes[node].signature].description;
  }
  const OpDef& op(LoweredNodeId node) const {
    return *signatures[nodes[node].signature].signature.op;
  }
  // The pairs of an update whose operands the node has: optional slots may be
  // absent.
  std::vector<Overwrite> MustOverwrite(LoweredNodeId node) const {
    std::vector<Overwrite> pairs;
    const auto has = [](const std::vector<LoweredValueId>& values, int i) {
      return i < static_cast<int>(values.size()) && values[i] >= 0;
    };
    for (const Overwrite& pair : op(node).must_overwrite) {
      if (has(nodes[node].in, pair.in) && has(nodes[node].out, pair.out)) {
        pairs.push_back(pair);
      }
    }
    return pairs;
  }
  int64_t cost_nanoseconds(LoweredNodeId node) const {
    return signatures[nodes[node].signature].cost_nanoseconds;
  }
};

}  // namespace reprise

#endif  // CORE_LOWERED_GRAPH_H_
