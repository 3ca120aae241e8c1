// The state of loading one model, private to core/load*.cc.
//
// Loading has stages, in this order: header, symbols, values that nodes read
// from outside, regions, names of nodes and their results, order, attributes
// and types, and last what the file says about values (next contents,
// annotations, outputs, losses). A stage goes on after an error wherever what
// follows does not depend on it, so that one look at the errors is enough.

#ifndef CORE_LOADER_H_
#define CORE_LOADER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/error_list.h"
#include "core/graph.h"
#include "core/load.h"
#include "core/load_regions.h"
#include "core/op_table.h"
#include "proto/graph.pb.h"

namespace reprise {

class Loader {
 public:
  Loader(const proto::Graph& file, const OpTable& ops, absl::string_view source)
      : file_(file), ops_(ops), errors_(source) {}

  // Runs all stages, once.
  absl::StatusOr<Graph> Load(const Bindings& bindings);

 private:
  // Where a name's value comes from, and its id once there is one.
  struct Declared {
    int32_t node;  // index in the file; kNoNode: a source
    ValueId id;
  };

  void ReadHeader();
  void ReadSymbols(const Bindings& bindings);
  void ReadSources();
  void DeclareNodes();
  void DeclareNode(int32_t n);
  void LinkNodes();
  void ReadNodes();
  void ReadNode(int32_t n);
  absl::StatusOr<Attrs> ReadAttrs(const proto::Node& node, const OpDef& op);
  void InferOutputs(int32_t n, Node node);
  void ReadStates();
  void ReadAnnotations();
  void ReadOutputs();
  void ReadLosses();

  // Adds a value that no node makes. `who` begins its errors.
  ValueId AddSource(absl::string_view who, const std::string& name,
                    const proto::TensorType& type, bool has_type,
                    ValueKind kind);

  // Says that the value `name` comes from the file's node `node`.
  absl::Status Declare(absl::string_view name, int32_t node);

  // Returns the value of a name, or nullptr and an error.
  const Value* Find(const std::string& who, const std::string& name,
                    ValueId* id);

  // Returns the name of node n: its own, or that of its first result.
  const std::string& NodeName(int32_t n) const;
  std::string Who(int32_t n) const;

  const proto::Graph& file_;
  const OpTable& ops_;
  ErrorList errors_;
  Graph graph_;
  LoadedRegions regions_;
  std::vector<const OpDef*> node_ops_;  // nullptr: unknown
  std::vector<int32_t> order_;          // of the file's nodes
  absl::flat_hash_map<absl::string_view, Declared> declared_;
};

}  // namespace reprise

#endif  // CORE_LOADER_H_
