// The state of importing one model, private to this folder.
//
// Stages: operator sets, functions (inlined), constants in double, names,
// initializers and inputs, nodes in an order in which they can run, outputs,
// loss and head, and last the message. A stage goes on after an error wherever
// what follows does not depend on it: a value that could not be typed is
// `broken`, and what reads it is passed over in silence.

#ifndef TOOLS_IMPORTER_GRAPH_IMPORTER_H_
#define TOOLS_IMPORTER_GRAPH_IMPORTER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/attributes.h"
#include "core/error_list.h"
#include "core/op_table.h"
#include "onnx/onnx_pb.h"
#include "tools/importer/importer.h"
#include "tools/importer/name_map.h"
#include "tools/importer/onnx_file.h"
#include "tools/importer/provenance.h"

namespace reprise {

using ImportId = int32_t;  // index into GraphImporter::values_
inline constexpr ImportId kAbsent = -1;

// A value of the model.
struct ImportValue {
  enum class Kind : uint8_t { kInput, kParameter, kComputed };

  std::string theirs;  // name in the model; of ours: empty
  std::string ours;
  Kind kind = Kind::kComputed;
  TensorType type;        // not present: broken
  int32_t producer = -1;  // index into the nodes made; kComputed only

  // Whether `content` is known before the first step: of parameters, and of
  // whatever is computed from known content.
  bool known = false;
  Array content;

  // The content is computed from the shapes of values: no weight.
  bool from_shapes = false;

  // The content may change in training, or is that of an input which is not
  // bound yet: a node that reads it stays a node.
  bool trainable = false;
  std::vector<ImportId> unbound;

  // A parameter that is a state: what becomes its next content.
  ImportId next = kAbsent;

  // An input's dims by name; empty: a number.
  std::vector<std::string> symbols;

  bool broken() const { return !type.present(); }
  bool constant() const { return known && !trainable && unbound.empty(); }
};

// A node on its way into the graph: operator, attributes and operands are of
// the newest form (see opset_rules.cc).
struct ImportNode {
  std::string who;  // "node 'n' (Op)", for errors
  std::string op;
  Attrs attrs;
  std::vector<ImportId> in;
  std::vector<ImportId> out;

  // An operand that became an attribute was computed from shapes.
  bool from_shapes = false;
};

// A few bytes of a file, or a number on the command line, can ask for much:
// beyond this nothing is filled.
inline constexpr int64_t kMostFilledBytes = int64_t{1} << 32;

// Returns the model's name of dim `axis` of an input: "INPUT.dimAXIS" where it
// has none; empty for a number.
std::string NameOfDim(const onnx::ValueInfoProto& input, int axis);

// Returns the names of all dims of the inputs that are no numbers.
SymbolNames NamesOfDims(const onnx::GraphProto& graph);

class GraphImporter {
 public:
  GraphImporter(const onnx::ModelProto& model, const OpTable& ops,
                const ImportOptions& options, const std::string& folder,
                absl::string_view source)
      : model_(model),
        ops_(ops),
        options_(options),
        provenance_(model.graph()),
        reader_(folder),
        source_(source),
        errors_(source) {}

  // Runs all stages, once.
  absl::StatusOr<ImportedModel> Import();

  // Names of inputs in bind_if_needed that an operand needs as constants. If
  // there are any, Import() must be repeated with them bound.
  const std::set<std::string>& needed() const { return needed_; }

  // --- For the rules of operators.

  const ImportValue& value(ImportId id) const { return values_[id]; }

  // The operator set's version that the current node is written in.
  int64_t version() const { return version_; }

  const OpTable& ops() const { return ops_; }

  const ImportOptions& options() const { return options_; }

  // Adds a node before the current one and returns its result.
  absl::StatusOr<ImportId> AddNode(const ImportNode& near, std::string op,
                                   std::vector<ImportId> in, Attrs attrs);

  // As AddNode, with the value that is its result.
  absl::Status AddNamed(const ImportNode& near, std::string op,
                        std::vector<ImportId> in, Attrs attrs, ImportId output);

  // Adds constant content.
  ImportId AddConstant(const ImportNode& near, Array content);

  // Makes `array` what an output of the current node is.
  void SetKnown(ImportId output, Array array);

  // As SetKnown, for what is computed from the shape of a value.
  void SetShape(ImportId output, Array array) {
    SetKnown(output, std::move(array));
    if (output != kAbsent) values_[output].from_shapes = true;
  }

  // Makes `output` a parameter with `element` everywhere. A fill that is a
  // weight stands for the initializer that it saves space for.
  absl::Status SetFilled(ImportId output, TensorType type,
                         const std::string& element, bool is_weight);

  // Whether the user wants a value of the model trained, whatever it is.
  bool MustTrain(const ImportValue& value) const;

  // Says that a parameter is not trained.
  void Freeze(ImportId parameter) {
    if (parameter != kAbsent) values_[parameter].trainable = false;
  }

  // Makes a parameter a state with `next` as its next content. Of other values
  // nothing changes: their content comes from elsewhere.
  void SetNext(ImportId parameter, ImportId next) {
    if (values_[parameter].kind != ImportValue::Kind::kParameter) return;
    values_[parameter].next = next;
    values_[parameter].trainable = false;
  }

  void SetTrainingMode() { result_.training_mode = true; }

  // Returns the content of operand `id`, which fixes a shape or a mode.
  //
  //   errors: InvalidArgument saying what it depends on.
  absl::StatusOr<const Array*> MustBeKnown(ImportId id);

 private:
  // import_sources.cc
  void ReadOperatorSets();
  void DeclareNames();
  void ReadInitializers();
  void ReadInputs();
  absl::Status ReadInput(const onnx::ValueInfoProto& input);
  ImportId AddValue(absl::string_view theirs);
  absl::Status Declare(absl::string_view name, int32_t node);

  // inline_functions.cc
  void InlineFunctions();

  // narrow_doubles.cc
  void NarrowDoubles();

  // import_nodes.cc
  void ReadNodes();
  void ReadNode(const onnx::NodeProto& node);
  absl::Status ReadGradient(const onnx::NodeProto& node,
                            const ImportNode& made);
  absl::Status ReadAttributes(const onnx::NodeProto& node, ImportNode& out);
  absl::Status AbsorbOperands(const onnx::NodeProto& node, ImportNode& out);
  absl::Status FinishNode(ImportNode node);
  absl::StatusOr<bool> FoldNode(const ImportNode& node);
  absl::Status EmitNode(ImportNode node);

  // fine_tune.cc
  // What a cross-entropy reads, and along which axis its classes are.
  struct Scores {
    ImportId value;
    int64_t classes_axis;
  };
  absl::Status AddLoss();
  // Where the model ends in the softmax that the loss has in it, what goes into
  // that.
  Scores FindScores(ImportId y);
  absl::Status ReplaceHead();
  int32_t LastDense() const;
  absl::Status Widen(ImportId parameter, int axis, int64_t from, int64_t to);
  absl::Status InferAgain(int32_t first, int64_t from, int64_t to);

  // emit.cc
  void ReadOutputs();
  void KeepWhatIsRead();
  void WriteGraph();
  void WriteNode(const ImportNode& node);
  void WriteParameter(ImportValue& value, proto::Parameter& parameter);
  bool IsTrained(const ImportValue& value) const;

  const onnx::ModelProto& model_;
  const OpTable& ops_;
  const ImportOptions& options_;
  Provenance provenance_;
  TensorReader reader_;
  std::string source_;
  ErrorList errors_;

  std::map<std::string, int64_t> versions_;  // by domain; "" is ONNX's own
  std::vector<onnx::NodeProto> inlined_;
  std::vector<const onnx::NodeProto*> nodes_;  // functions inlined

  NameMap names_;                                            // of values
  absl::flat_hash_map<std::string, std::string> symbol_of_;  // by dim's name
  std::map<std::string, int64_t> symbols_;  // ours, with their values
  std::set<std::string> dims_;              // named in the model
  absl::flat_hash_map<std::string, ImportId> by_name_;
  absl::flat_hash_map<std::string, int32_t> made_by_;  // nodes_ index, or -1
  std::deque<ImportValue> values_;  // references stay good as it grows
  std::vector<ImportNode> made_;
  std::set<std::string> wanted_;  // names that nodes or outputs read
  std::vector<bool> kept_;        // of made_
  std::vector<bool> read_;        // of values_

  int64_t version_ = 0;
  int64_t folded_bytes_ = 0;
  int64_t filled_bytes_ = 0;
  std::set<std::string> needed_;
  std::vector<ImportId> inputs_;
  std::vector<ImportId> outputs_;
  std::vector<ImportId> losses_;
  std::map<ImportId, ImportId> gradient_of_;  // result of Gradient, and of what
  ImportedModel result_;
};

}  // namespace reprise

#endif  // TOOLS_IMPORTER_GRAPH_IMPORTER_H_
