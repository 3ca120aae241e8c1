// The graph IR: typed values with one producer each, nodes in an order in which
// they can run, and the annotations that the planner reads.
//
// A loaded model and the step graph made from it (forward, backward, update)
// are both a Graph. Symbols are bound: every dim is a number.

#ifndef CORE_GRAPH_H_
#define CORE_GRAPH_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/attributes.h"
#include "core/op.h"
#include "core/tensor_type.h"
#include "proto/graph.pb.h"

namespace reprise {

using RegionId = int32_t;  // index into Graph::regions
inline constexpr RegionId kNoRegion = -1;

enum class ValueKind : uint8_t {
  kComputed,     // result of a node
  kInput,        // written by the caller before each step
  kParameter,    // persistent, trained or constant
  kState,        // persistent, e.g. running statistics
  kSlot,         // persistent, of an optimizer
  kAccumulator,  // persistent, gradient sum over micro-steps
  kScalar,       // persistent, written by the trainer: lr, step, seed
};

inline bool IsPersistent(ValueKind kind) {
  return kind != ValueKind::kComputed && kind != ValueKind::kInput;
}

struct Value {
  std::string name;  // unique
  TensorType type;
  ValueKind kind = ValueKind::kComputed;
  NodeId producer = kNoNode;
  int output = 0;  // index among the producer's outputs
};

// Where a node comes from, which is also the phase it runs in.
enum class Role : uint8_t { kForward, kBackward, kUpdate };

struct Node {
  std::string name;  // unique
  const OpDef* op = nullptr;
  Attrs attrs;
  std::vector<ValueId> in;   // kNoValue: an absent optional operand
  std::vector<ValueId> out;  // kNoValue: not wanted
  RegionId region = kNoRegion;
  Role role = Role::kForward;
  // The operator of the model's node that expansion put this one in place of;
  // nullptr: `op` is what the model says.
  const OpDef* written_as = nullptr;
  // Backward nodes: the forward node whose gradient this is part of.
  NodeId origin = kNoNode;
};

// Returns the operator's name as the model says it, for policies and reports.
inline const std::string& WrittenOp(const Node& node) {
  return (node.written_as != nullptr ? node.written_as : node.op)->name;
}

struct Policy {
  enum class Kind : uint8_t {
    kSaveNothing,
    kSaveEverything,
    kSaveMatmuls,
    kSaveMatmulsWithoutBatchDims,
    kSaveNames,
    kSaveAllButNames,
    kSaveOps,
    kAnyOf,
    kAuto,
  };
  Kind kind = Kind::kSaveNothing;
  std::vector<std::string> names;  // value globs, or operator names
  std::vector<Policy> any_of;
};

// Returns the policy as it is written, e.g. "save_names{a,b*}".
std::string ToString(const Policy& policy);

// Returns whether `name` matches `glob`, in which `*` stands for any run of
// characters.
bool MatchesGlob(absl::string_view glob, absl::string_view name);

struct Region {
  std::string name;
  RegionId parent = kNoRegion;
  Policy policy;
};

enum class Keep : uint8_t { kMustSave, kMustRecompute };

struct Parameter {
  ValueId value = kNoValue;
  proto::Initializer initializer;
  bool trainable = true;
};

struct State {
  ValueId value = kNoValue;
  ValueId next = kNoValue;  // becomes the content after a training step
  proto::Initializer initializer;
};

struct Loss {
  ValueId value = kNoValue;
  float weight = 1;
};

struct Graph {
  std::string name;
  std::map<std::string, int64_t> symbols;  // as bound
  std::vector<Value> values;
  std::vector<Node> nodes;  // producers before their readers
  std::vector<Region> regions;
  std::vector<ValueId> inputs;
  std::vector<Parameter> parameters;
  std::vector<State> states;
  std::vector<ValueId> outputs;
  std::vector<Loss> losses;
  std::map<ValueId, Keep> annotations;

  // Returns the value of that name, or kNoValue. O(n).
  ValueId FindValue(absl::string_view name) const;
};

}  // namespace reprise

#endif  // CORE_GRAPH_H_
