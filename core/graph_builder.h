// Makes a model in code: the same message that a model file holds.
//
//   GraphBuilder b("mlp");
//   const auto batch = b.Symbol("batch", 32);
//   const auto x = b.Input("x", DType::kF32, {batch, 784});
//   const auto w = b.Parameter("w", {784, 10}, Init::VarianceScaling(2));
//   GraphBuilder::Scope block = b.Region("block", Save::Matmuls());
//   const auto y = b.Add("Relu", {b.Add("MatMul", {x, w})});
//   block.End();
//   b.Loss(b.Add("ReduceSum", {y}));
//   ASSIGN_OR_RETURN(Graph graph, LoadGraph(b.graph(), ops, {}, "mlp"));
//
// The builder judges nothing: LoadGraph does, as it does for a file.

#ifndef CORE_GRAPH_BUILDER_H_
#define CORE_GRAPH_BUILDER_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "core/attributes.h"
#include "core/tensor_type.h"
#include "proto/graph.pb.h"

namespace reprise {

// A value of the graph under construction: its name. Empty: an absent operand.
struct BuilderValue {
  std::string name;
};

// A number, or a symbol by name.
class BuilderDim {
 public:
  template <typename Integer>
  BuilderDim(Integer value)  // NOLINT: dims lists mix numbers and symbols
      : value_(static_cast<int64_t>(value)) {}
  static BuilderDim OfSymbol(std::string symbol);

  proto::Dim message() const;

 private:
  BuilderDim() = default;

  int64_t value_ = 0;
  std::string symbol_;
};

using BuilderDims = std::vector<BuilderDim>;

// One attribute, e.g. {"axis", 1} or {"perm", Ints{1, 0}}. Whole numbers are
// integer attributes, others float ones.
class BuilderAttr {
 public:
  BuilderAttr(absl::string_view name, int value);
  BuilderAttr(absl::string_view name, int64_t value);
  BuilderAttr(absl::string_view name, float value);
  BuilderAttr(absl::string_view name, double value);
  BuilderAttr(absl::string_view name, bool value);
  BuilderAttr(absl::string_view name, const char* value);
  BuilderAttr(absl::string_view name, const std::string& value);
  BuilderAttr(absl::string_view name, DType value);
  BuilderAttr(absl::string_view name, const Ints& value);
  BuilderAttr(absl::string_view name, const Floats& value);
  BuilderAttr(absl::string_view name, proto::Tensor value);
  BuilderAttr(absl::string_view name, const AttrValue& value);

  const proto::Attribute& message() const { return message_; }

 private:
  proto::Attribute message_;
};

using BuilderAttrs = std::vector<BuilderAttr>;

// Constant content, row-major.
proto::Tensor FloatTensor(const Dims& dims, const std::vector<float>& content);
proto::Tensor IntTensor(DType dtype, const Dims& dims,
                        const std::vector<int64_t>& content);

// Initializers.
struct Init {
  static proto::Initializer Default();  // see core/initialize.h
  static proto::Initializer Constant(float content);
  static proto::Initializer Uniform(float low, float high);
  static proto::Initializer Normal(float mean, float stddev);
  static proto::Initializer VarianceScaling(
      float scale, proto::Initializer::Mode mode = proto::Initializer::FAN_IN,
      bool normal = false);
  static proto::Initializer Identity();
  static proto::Initializer Value(proto::Tensor content);
};

// Checkpoint policies.
struct Save {
  static proto::Policy Nothing();
  static proto::Policy Everything();
  static proto::Policy Matmuls();
  static proto::Policy MatmulsWithoutBatchDims();
  static proto::Policy Names(const std::vector<std::string>& globs);
  static proto::Policy AllButNames(const std::vector<std::string>& globs);
  static proto::Policy Ops(const std::vector<std::string>& ops);
  static proto::Policy AnyOf(const std::vector<proto::Policy>& policies);
  static proto::Policy Auto();
};

class GraphBuilder {
 public:
  using Value = BuilderValue;
  using Values = std::vector<BuilderValue>;

  explicit GraphBuilder(absl::string_view name = "");

  // A region that nodes belong to until it ends; scopes end innermost first.
  class Scope {
   public:
    Scope(Scope&& other) noexcept;
    Scope& operator=(Scope&&) = delete;
    ~Scope() { End(); }
    void End();

   private:
    friend class GraphBuilder;
    Scope(GraphBuilder* builder, size_t depth)
        : builder_(builder), depth_(depth) {}

    GraphBuilder* builder_;
    size_t depth_;
  };

  BuilderDim Symbol(absl::string_view name, int64_t default_value);
  Value Input(absl::string_view name, DType dtype, const BuilderDims& dims);

  // An f32 parameter that is trained.
  Value Parameter(absl::string_view name, const BuilderDims& dims,
                  const proto::Initializer& initializer = Init::Default());

  // A parameter that is not.
  Value Frozen(absl::string_view name, DType dtype, const BuilderDims& dims,
               const proto::Initializer& initializer = Init::Default());

  // A state; SetNext names what becomes its content.
  Value State(absl::string_view name, DType dtype, const BuilderDims& dims,
              const proto::Initializer& initializer = Init::Default());
  void SetNext(const Value& state, const Value& next);

  // Adds a node with one result, which is named `name`, or after the operator
  // if that is empty. The node has its result's name.
  Value Add(absl::string_view op, const Values& in,
            const BuilderAttrs& attrs = {}, absl::string_view name = "");

  // Adds a node with several results, one per name. An empty name: not wanted.
  Values AddMany(absl::string_view op, const Values& in,
                 const BuilderAttrs& attrs,
                 const std::vector<std::string>& names);

  // Opens a region within the innermost open one.
  [[nodiscard]] Scope Region(absl::string_view name);
  [[nodiscard]] Scope Region(absl::string_view name,
                             const proto::Policy& policy);

  void MustSave(const Value& value);
  void MustRecompute(const Value& value);
  void Output(const Value& value);
  void Loss(const Value& value, float weight = 1);

  const proto::Graph& graph() const { return graph_; }

 private:
  // Returns a name not given before, after `op`: "relu", "relu_1", ...
  std::string NewName(absl::string_view op);
  void Annotate(const Value& value, proto::ValueAnnotation::Keep keep);
  proto::Parameter& NewParameter(absl::string_view name, DType dtype,
                                 const BuilderDims& dims,
                                 const proto::Initializer& initializer);

  proto::Graph graph_;
  std::vector<std::string> open_regions_;  // outermost first
  absl::flat_hash_set<std::string> names_;
  std::map<std::string, int> next_suffix_;
};

}  // namespace reprise

#endif  // CORE_GRAPH_BUILDER_H_
