// A pool of float values of a few ranks grows by random operators: each takes
// operands of a fitting rank from the pool and adds its results. Contents stay
// of order one (results of growing operators pass through Tanh), so that
// losses are finite whatever is drawn.

#include "tests/testing/random_graph.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace reprise {
namespace {

using Dims = std::vector<int64_t>;

struct Tensor {
  std::string name;
  Dims dims;
};

class Generator {
 public:
  Generator(uint64_t seed, const RandomGraphOptions& options)
      : random_(seed), options_(options) {}

  proto::Graph Generate() {
    graph_.set_format_version(1);
    graph_.set_name("random");
    MakeRegions();
    batch_ = Draw(1, 4);
    pool_.push_back(Input("x", proto::FLOAT32, {batch_, Draw(1, 6)}));
    const int64_t channels = Draw(1, 4);
    const int64_t side = Draw(4, 7);
    pool_.push_back(
        Input("image", proto::FLOAT32, {batch_, channels, side, side}));
    for (int i = 0; i < options_.num_ops; ++i) {
      PickRegion();
      OneOf(Rules())(*this);
    }
    Finish();
    return std::move(graph_);
  }

 private:
  using Rule = void (*)(Generator&);

  int64_t Draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool Chance(double p) { return std::bernoulli_distribution(p)(random_); }
  template <typename T>
  T OneOf(std::vector<T> options) {
    return options[Draw(0, static_cast<int64_t>(options.size()) - 1)];
  }

  static int64_t Count(const Dims& dims) {
    int64_t n = 1;
    for (const int64_t d : dims) n *= d;
    return n;
  }

  static void SetType(proto::TensorType& type, proto::DType dtype,
                      const Dims& dims) {
    type.set_dtype(dtype);
    for (const int64_t d : dims) type.add_dim()->set_value(d);
  }

  Tensor Input(const std::string& name, proto::DType dtype, const Dims& dims) {
    proto::Input& input = *graph_.add_input();
    input.set_name(name);
    SetType(*input.mutable_type(), dtype, dims);
    return {name, dims};
  }

  // A parameter of these dims, at times one that already exists: shared.
  Tensor Parameter(const Dims& dims, float low = -0.5f, float high = 0.5f) {
    if (low < 0 && Chance(0.3)) {
      for (const Tensor& old : parameters_) {
        if (old.dims == dims) return old;
      }
    }
    proto::Parameter& parameter = *graph_.add_parameter();
    parameter.set_name(absl::StrCat("p", graph_.parameter_size()));
    SetType(*parameter.mutable_type(), proto::FLOAT32, dims);
    proto::Initializer::Uniform& uniform =
        *parameter.mutable_initializer()->mutable_uniform();
    uniform.set_low(low);
    uniform.set_high(high);
    if (Chance(0.1)) parameter.set_trainable(false);
    const Tensor tensor = {parameter.name(), dims};
    if (low < 0) parameters_.push_back(tensor);
    return tensor;
  }

  class NodeHandle {
   public:
    explicit NodeHandle(proto::Node& node) : node_(node) {}
    NodeHandle& Ints(const std::string& name, const Dims& values) {
      proto::Attribute::Ints& ints = *Attribute(name).mutable_ints();
      for (const int64_t v : values) ints.add_v(v);
      return *this;
    }
    NodeHandle& Int(const std::string& name, int64_t value) {
      Attribute(name).set_i(value);
      return *this;
    }
    NodeHandle& Float(const std::string& name, float value) {
      Attribute(name).set_f(value);
      return *this;
    }
    NodeHandle& String(const std::string& name, const std::string& value) {
      Attribute(name).set_s(value);
      return *this;
    }
    NodeHandle& Type(const std::string& name, proto::DType value) {
      Attribute(name).set_type(value);
      return *this;
    }

   private:
    proto::Attribute& Attribute(const std::string& name) {
      proto::Attribute& attribute = *node_.add_attribute();
      attribute.set_name(name);
      return attribute;
    }
    proto::Node& node_;
  };

  NodeHandle Node(const std::string& op, const std::vector<Tensor>& in,
                  const std::vector<std::string>& out) {
    proto::Node& node = *graph_.add_node();
    node.set_name(absl::StrCat("n", graph_.node_size()));
    node.set_op(op);
    for (const Tensor& tensor : in) node.add_input(tensor.name);
    for (const std::string& name : out) node.add_output(name);
    node.set_region(region_);
    return NodeHandle(node);
  }

  std::string Name() { return absl::StrCat("v", ++num_values_); }

  Tensor Keep(Tensor tensor) {
    pool_.push_back(tensor);
    return tensor;
  }

  // One-output node whose result joins the pool.
  NodeHandle Apply(const std::string& op, const std::vector<Tensor>& in,
                   const Dims& dims) {
    const std::string name = Name();
    const NodeHandle handle = Node(op, in, {name});
    Keep({name, dims});
    return handle;
  }

  // The same, and its result is brought back to order one.
  void ApplyBounded(const std::string& op, const std::vector<Tensor>& in,
                    const Dims& dims) {
    const std::string name = Name();
    Node(op, in, {name});
    Apply("Tanh", {{name, dims}}, dims);
  }

  Tensor Any() {
    return pool_[Draw(0, static_cast<int64_t>(pool_.size()) - 1)];
  }

  // A pool value of this rank; made from another one if there is none.
  Tensor OfRank(size_t rank) {
    std::vector<Tensor> fitting;
    for (const Tensor& tensor : pool_) {
      if (tensor.dims.size() == rank) fitting.push_back(tensor);
    }
    if (!fitting.empty()) return OneOf(fitting);
    const Tensor from = OfRank(2);
    Dims dims = from.dims;
    while (dims.size() < rank) dims.insert(dims.begin() + 1, 1);
    Apply("Reshape", {from}, dims).Ints("shape", dims);
    return pool_.back();
  }

  // A second operand that broadcasts with `a`: a pool value, or a parameter.
  Tensor Partner(const Tensor& a) {
    for (int attempt = 0; attempt < 3; ++attempt) {
      const Tensor b = Any();
      if (b.dims == a.dims) return b;
    }
    Dims dims = a.dims;
    for (int64_t& d : dims) {
      if (Chance(0.4)) d = 1;
    }
    while (!dims.empty() && Chance(0.3)) dims.erase(dims.begin());
    return Parameter(dims);
  }

  // Values away from 0, for operators that need it: square + 0.5.
  Tensor Positive(const Tensor& a) {
    const std::string square = Name();
    Node("Square", {a}, {square});
    const std::string name = Name();
    Node("Add", {{square, a.dims}, Parameter({}, 0.5f, 0.6f)}, {name});
    return {name, a.dims};
  }

  int64_t Axis(const Tensor& a) {
    const int64_t rank = static_cast<int64_t>(a.dims.size());
    return rank == 0 ? 0 : Draw(-rank, rank - 1);
  }
  static size_t Index(const Tensor& a, int64_t axis) {
    return axis < 0 ? axis + a.dims.size() : axis;
  }

  void Unary(const std::string& op) {
    const Tensor a = Any();
    Apply(op, {a}, a.dims);
  }

  void Binary(const std::string& op) {
    Tensor a = Any();
    Tensor b = Partner(a);
    if (op != "Div" && Chance(0.5)) std::swap(a, b);
    if (op == "Div") b = Positive(b);
    const Dims dims = a.dims.size() >= b.dims.size() && a.dims != Dims{}
                          ? Broadcast(a.dims, b.dims)
                          : Broadcast(b.dims, a.dims);
    ApplyBounded(op, {a, b}, dims);
  }

  static Dims Broadcast(Dims a, const Dims& b) {
    const size_t lead = a.size() - b.size();
    for (size_t i = 0; i < b.size(); ++i) {
      a[lead + i] = std::max(a[lead + i], b[i]);
    }
    return a;
  }

  void Reduce(const std::string& op) {
    const Tensor a = Any();
    const bool keep = Chance(0.5);
    Dims axes;
    Dims dims;
    for (size_t i = 0; i < a.dims.size(); ++i) {
      // The batch stays, so that the pool keeps values of some size.
      if (i > 0 && Chance(0.5)) {
        axes.push_back(static_cast<int64_t>(i));
        if (keep) dims.push_back(1);
      } else {
        dims.push_back(a.dims[i]);
      }
    }
    if (axes.empty()) return;
    const std::string name = Name();
    Node(op, {a}, {name}).Ints("axes", axes).Int("keepdims", keep ? 1 : 0);
    Apply("Tanh", {{name, dims}}, dims);
  }

  void MatMul() {
    const Tensor a = OfRank(OneOf<size_t>({2, 3, 4}));
    const int64_t n = Draw(1, 6);
    const std::string name = Name();
    Dims dims = a.dims;
    dims.back() = n;
    const Tensor b = a.dims.size() == 3 && Chance(0.3)
                         ? Parameter({a.dims[0], a.dims.back(), n})
                         : Parameter({a.dims.back(), n});
    Node("MatMul", {a, b}, {name});
    Apply(Chance(0.5) ? "Relu" : "Tanh", {{name, dims}}, dims);
  }

  void Gemm() {
    const Tensor a = OfRank(2);
    const int64_t n = Draw(1, 6);
    const bool transpose = Chance(0.5);
    const Tensor b =
        transpose ? Parameter({n, a.dims[1]}) : Parameter({a.dims[1], n});
    std::vector<Tensor> in = {a, b};
    if (Chance(0.7)) in.push_back(Parameter(OneOf<Dims>({{n}, {1, n}, {1}})));
    const std::string name = Name();
    Node("Gemm", in, {name}).Int("transB", transpose ? 1 : 0);
    const Dims dims = {a.dims[0], n};
    Apply(Chance(0.6) ? "Relu" : "Sigmoid", {{name, dims}}, dims);
  }

  void Conv() {
    const Tensor a = OfRank(4);
    const int64_t groups = Chance(0.3) ? a.dims[1] : 1;
    const int64_t out = groups * Draw(1, 3);
    const int64_t kernel =
        Draw(1, std::min<int64_t>(3, std::min(a.dims[2], a.dims[3])));
    const int64_t stride = Draw(1, 2);
    const int64_t pad = kernel / 2;
    std::vector<Tensor> in = {
        a, Parameter({out, a.dims[1] / groups, kernel, kernel})};
    if (Chance(0.5)) in.push_back(Parameter({out}));
    const auto size = [&](int64_t d) {
      return (d + 2 * pad - kernel) / stride + 1;
    };
    const Dims dims = {a.dims[0], out, size(a.dims[2]), size(a.dims[3])};
    const std::string name = Name();
    Node("Conv", in, {name})
        .Ints("strides", {stride, stride})
        .Ints("pads", {pad, pad, pad, pad})
        .Int("group", groups);
    Apply(Chance(0.5) ? "Relu" : "Tanh", {{name, dims}}, dims);
  }

  void Pool(const std::string& op) {
    const Tensor a = OfRank(4);
    const int64_t kernel =
        std::min<int64_t>(Draw(1, 3), std::min(a.dims[2], a.dims[3]));
    const auto size = [&](int64_t d) { return (d - kernel) / kernel + 1; };
    Apply(op, {a}, {a.dims[0], a.dims[1], size(a.dims[2]), size(a.dims[3])})
        .Ints("kernel_shape", {kernel, kernel})
        .Ints("strides", {kernel, kernel});
  }

  void GlobalAveragePool() {
    const Tensor a = OfRank(4);
    Apply("GlobalAveragePool", {a}, {a.dims[0], a.dims[1], 1, 1});
  }

  Tensor NewState(const std::string& name, int64_t n, float content,
                  const std::string& next) {
    proto::State& state = *graph_.add_state();
    state.set_name(name);
    SetType(*state.mutable_type(), proto::FLOAT32, {n});
    state.mutable_initializer()->set_constant(content);
    state.set_next(next);
    return {name, {n}};
  }

  void BatchNormalization() {
    const Tensor a = OfRank(OneOf<size_t>({2, 4}));
    const int64_t c = a.dims[1];
    const std::string name = Name();
    const Tensor mean = NewState(name + ".mean", c, 0, name + ".mean_next");
    const Tensor var = NewState(name + ".var", c, 1, name + ".var_next");
    // Statistics of few equal elements have a tiny variance: a large epsilon
    // keeps gradients of order one.
    Node("BatchNormalization",
         {a, Parameter({c}, 0.5f, 1.5f), Parameter({c}), mean, var},
         {name, name + ".mean_next", name + ".var_next"})
        .Int("training_mode", 1)
        .Float("epsilon", 0.1f);
    Keep({name, a.dims});
  }

  void LayerNormalization() {
    const Tensor a = Any();
    if (a.dims.empty()) return;
    std::vector<Tensor> in = {a, Parameter({a.dims.back()}, 0.5f, 1.5f)};
    if (Chance(0.7)) in.push_back(Parameter({a.dims.back()}));
    Apply("LayerNormalization", in, a.dims)
        .Int("axis", -1)
        .Float("epsilon", 0.1f);
  }

  void Softmax(const std::string& op) {
    const Tensor a = Any();
    if (a.dims.empty()) return;
    const int64_t axis = Axis(a);
    if (op == "Softmax") {
      Apply(op, {a}, a.dims).Int("axis", axis);
      return;
    }
    const std::string name = Name();
    Node(op, {a}, {name}).Int("axis", axis);
    Apply("Tanh", {{name, a.dims}}, a.dims);
  }

  void Dropout() {
    const Tensor a = Any();
    Apply("Dropout", {a}, a.dims).Float("ratio", 0.3f);
  }

  void Reshape() {
    const Tensor a = Any();
    if (a.dims.empty()) return;
    const Dims dims = {a.dims[0], Count(a.dims) / a.dims[0]};
    Apply("Reshape", {a}, dims).Ints("shape", dims);
  }

  void Flatten() {
    const Tensor a = OfRank(4);
    Apply("Flatten", {a}, {a.dims[0], Count(a.dims) / a.dims[0]})
        .Int("axis", 1);
  }

  void Unsqueeze() {
    const Tensor a = Any();
    if (a.dims.size() > 3) return;
    Dims dims = a.dims;
    const int64_t axis = Draw(0, static_cast<int64_t>(a.dims.size()));
    dims.insert(dims.begin() + axis, 1);
    Apply("Unsqueeze", {a}, dims).Ints("axes", {axis});
  }

  void Squeeze() {
    for (const Tensor& a : std::vector<Tensor>(pool_)) {
      for (size_t i = 1; i < a.dims.size(); ++i) {
        if (a.dims[i] != 1) continue;
        Dims dims = a.dims;
        dims.erase(dims.begin() + i);
        Apply("Squeeze", {a}, dims).Ints("axes", {static_cast<int64_t>(i)});
        return;
      }
    }
  }

  void Transpose() {
    const Tensor a = Any();
    if (a.dims.size() < 2) return;
    Dims perm(a.dims.size());
    for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
    std::shuffle(perm.begin() + 1, perm.end(), random_);
    Dims dims;
    for (const int64_t p : perm) dims.push_back(a.dims[p]);
    Apply("Transpose", {a}, dims).Ints("perm", perm);
  }

  void Concat() {
    const Tensor a = Any();
    if (a.dims.size() < 2) return;
    const size_t axis = Draw(1, static_cast<int64_t>(a.dims.size()) - 1);
    Dims extra = a.dims;
    extra[axis] = Draw(1, 3);
    Dims dims = a.dims;
    dims[axis] = 2 * a.dims[axis] + extra[axis];
    if (Count(dims) > 2000) return;
    Apply("Concat", {a, Parameter(extra), a}, dims)
        .Int("axis", static_cast<int64_t>(axis));
  }

  void Split() {
    const Tensor a = Any();
    for (size_t axis = 1; axis < a.dims.size(); ++axis) {
      if (a.dims[axis] < 2) continue;
      const int64_t first = Draw(1, a.dims[axis] - 1);
      const std::string one = Name();
      const std::string two = Name();
      Node("Split", {a}, {one, two})
          .Int("axis", static_cast<int64_t>(axis))
          .Ints("split", {first, a.dims[axis] - first});
      Dims dims = a.dims;
      dims[axis] = first;
      Keep({one, dims});
      dims[axis] = a.dims[axis] - first;
      Keep({two, dims});
      return;
    }
  }

  void Slice() {
    const Tensor a = Any();
    for (size_t axis = 1; axis < a.dims.size(); ++axis) {
      if (a.dims[axis] < 2) continue;
      const int64_t start = Draw(0, a.dims[axis] - 2);
      const int64_t step = Draw(1, 2);
      Dims dims = a.dims;
      dims[axis] = (a.dims[axis] - start + step - 1) / step;
      Apply("Slice", {a}, dims)
          .Ints("starts", {start})
          .Ints("ends", {a.dims[axis]})
          .Ints("axes", {static_cast<int64_t>(axis)})
          .Ints("steps", {step});
      return;
    }
  }

  void Gather() {
    const proto::DType dtype =
        OneOf<proto::DType>({proto::INT32, proto::INT64});
    const Tensor indices =
        Input(absl::StrCat("index", graph_.input_size()), dtype, {batch_, 2});
    const int64_t n = Draw(1, 4);
    Apply("Gather", {Parameter({kIndexLimit, n}), indices}, {batch_, 2, n})
        .Int("axis", 0);
  }

  void Expand() {
    const Tensor a = Parameter({1, Draw(1, 4)});
    const Dims dims = {batch_, a.dims[1]};
    Apply("Expand", {a}, dims).Ints("shape", dims);
  }

  void Cast() {
    const Tensor a = Any();
    Apply("Cast", {a}, a.dims).Type("to", proto::FLOAT32);
  }

  void Logarithm() {
    const Tensor a = Positive(Any());
    Apply("Log", {a}, a.dims);
  }
  void SquareRoot() {
    const Tensor a = Positive(Any());
    Apply("Sqrt", {a}, a.dims);
  }
  void Power() {
    const Tensor a = Positive(Any());
    ApplyBounded("Pow", {a, Parameter({}, 0.5f, 1.5f)}, a.dims);
  }
  void Exponential() {
    const Tensor a = Any();
    ApplyBounded("Exp", {a}, a.dims);
  }

  static std::vector<Rule> Rules() {
    return {
        [](Generator& g) { g.Binary("Add"); },
        [](Generator& g) { g.Binary("Sub"); },
        [](Generator& g) { g.Binary("Mul"); },
        [](Generator& g) { g.Binary("Div"); },
        [](Generator& g) { g.Unary("Neg"); },
        [](Generator& g) { g.Unary("Square"); },
        [](Generator& g) { g.Unary("Relu"); },
        [](Generator& g) { g.Unary("LeakyRelu"); },
        [](Generator& g) { g.Unary("Elu"); },
        [](Generator& g) { g.Unary("Sigmoid"); },
        [](Generator& g) { g.Unary("Tanh"); },
        [](Generator& g) { g.Unary("Gelu"); },
        [](Generator& g) { g.Unary("Identity"); },
        [](Generator& g) { g.Exponential(); },
        [](Generator& g) { g.Logarithm(); },
        [](Generator& g) { g.SquareRoot(); },
        [](Generator& g) { g.Power(); },
        [](Generator& g) { g.Reduce("ReduceSum"); },
        [](Generator& g) { g.Reduce("ReduceMean"); },
        [](Generator& g) { g.Reduce("ReduceMax"); },
        [](Generator& g) { g.MatMul(); },
        [](Generator& g) { g.Gemm(); },
        [](Generator& g) { g.Conv(); },
        [](Generator& g) { g.Pool("MaxPool"); },
        [](Generator& g) { g.Pool("AveragePool"); },
        [](Generator& g) { g.GlobalAveragePool(); },
        [](Generator& g) { g.BatchNormalization(); },
        [](Generator& g) { g.LayerNormalization(); },
        [](Generator& g) { g.Softmax("Softmax"); },
        [](Generator& g) { g.Softmax("LogSoftmax"); },
        [](Generator& g) { g.Dropout(); },
        [](Generator& g) { g.Reshape(); },
        [](Generator& g) { g.Flatten(); },
        [](Generator& g) { g.Unsqueeze(); },
        [](Generator& g) { g.Squeeze(); },
        [](Generator& g) { g.Transpose(); },
        [](Generator& g) { g.Concat(); },
        [](Generator& g) { g.Split(); },
        [](Generator& g) { g.Slice(); },
        [](Generator& g) { g.Gather(); },
        [](Generator& g) { g.Expand(); },
        [](Generator& g) { g.Cast(); },
    };
  }

  // Nodes are put into regions one after the other, never back into one that
  // was left: the graph of regions stays acyclic, as data flows forward.
  void MakeRegions() {
    if (!options_.regions) return;
    const int count = static_cast<int>(Draw(0, 5));
    for (int i = 0; i < count; ++i) {
      proto::Region& region = *graph_.add_region();
      region.set_name(absl::StrCat("r", i));
      if (i > 0 && Chance(0.5)) {
        region.set_parent(graph_.region(i - 1).name());
      }
      SetPolicy(*region.mutable_policy(), /*nesting=*/0);
    }
  }

  void SetPolicy(proto::Policy& policy, int nesting) {
    switch (Draw(0, nesting > 0 ? 8 : 9)) {
      case 0:
      case 1:
        policy.set_save_nothing(true);
        break;
      case 2:
        policy.set_save_everything(true);
        break;
      case 3:
        policy.set_save_matmuls(true);
        break;
      case 4:
        policy.mutable_save_names()->add_v(absl::StrCat("v", Draw(1, 20)));
        break;
      case 5:
        policy.mutable_save_all_but_names()->add_v(
            absl::StrCat("v", Draw(1, 3), "*"));
        break;
      case 6:
        policy.mutable_save_ops()->add_v("Relu");
        break;
      case 7:
        policy.set_save_matmuls_without_batch_dims(true);
        break;
      case 8:
        policy.set_auto_(true);
        break;
      default:
        SetPolicy(*policy.mutable_any_of()->add_policy(), nesting + 1);
        SetPolicy(*policy.mutable_any_of()->add_policy(), nesting + 1);
    }
  }

  void PickRegion() {
    if (graph_.region_size() == 0) return;
    if (Chance(0.4) && next_region_ < graph_.region_size()) {
      proto::Region& region = *graph_.mutable_region(next_region_++);
      // Inside a parent only while the parent has not been left.
      if (region.parent() != region_) region.clear_parent();
      region_ = region.name();
    } else if (Chance(0.3)) {
      std::string parent;
      for (const proto::Region& region : graph_.region()) {
        if (region.name() == region_) parent = region.parent();
      }
      region_ = parent;
    }
  }

  void Finish() {
    region_.clear();
    // Every value that nothing reads joins a loss or is an output.
    std::vector<Tensor> ends;
    std::map<std::string, int> readers;
    for (const proto::Node& node : graph_.node()) {
      for (const std::string& name : node.input()) ++readers[name];
    }
    for (const Tensor& tensor : pool_) {
      if (readers[tensor.name] == 0) ends.push_back(tensor);
    }
    std::string total;
    for (const Tensor& end : ends) {
      if (Chance(0.1)) graph_.add_output(end.name);
      const std::string loss = Name();
      if (end.dims.size() == 2 && end.dims[1] > 1 && end.dims[1] <= 8 &&
          Chance(0.5)) {
        Tensor scores = end;
        if (scores.dims[1] < kIndexLimit) {
          const std::string wide = Name();
          Node("MatMul", {scores, Parameter({scores.dims[1], kIndexLimit})},
               {wide});
          scores = {wide, {scores.dims[0], kIndexLimit}};
        }
        const Tensor labels = Input(absl::StrCat("label", graph_.input_size()),
                                    proto::INT64, {scores.dims[0]});
        if (Chance(0.3)) {
          const std::string log_prob = Name();
          Node("LogSoftmax", {scores}, {log_prob}).Int("axis", 1);
          Node("NegativeLogLikelihoodLoss", {{log_prob, scores.dims}, labels},
               {loss});
        } else {
          Node("SoftmaxCrossEntropyLoss", {scores, labels}, {loss});
        }
      } else if (Chance(0.3)) {
        Node("MeanSquaredError", {end, Parameter(end.dims)}, {loss});
      } else {
        const std::string square = Name();
        Node("Square", {end}, {square});
        Node("ReduceMean", {{square, end.dims}}, {loss}).Int("keepdims", 0);
      }
      if (Chance(0.2)) {
        AddLoss(loss);
        continue;
      }
      if (total.empty()) {
        total = loss;
      } else {
        const std::string sum = Name();
        Node("Add", {{total, {}}, {loss, {}}}, {sum});
        total = sum;
      }
    }
    if (!total.empty()) AddLoss(total);
    if (options_.annotate) Annotate();
  }

  void AddLoss(const std::string& name) {
    proto::Loss& loss = *graph_.add_loss();
    loss.set_value(name);
    if (Chance(0.3)) loss.set_weight(0.5f);
  }

  void Annotate() {
    // One kind a graph: a view and what it views are one content, for which
    // both kinds would contradict each other.
    const bool save = Chance(0.5);
    for (const proto::Node& node : graph_.node()) {
      if (node.op() == "BatchNormalization" || !Chance(0.08)) continue;
      proto::ValueAnnotation& annotation = *graph_.add_annotation();
      annotation.set_value(node.output(0));
      annotation.set_keep(save ? proto::ValueAnnotation::MUST_SAVE
                               : proto::ValueAnnotation::MUST_RECOMPUTE);
    }
  }

  std::mt19937_64 random_;
  const RandomGraphOptions& options_;
  proto::Graph graph_;
  std::vector<Tensor> pool_;
  std::vector<Tensor> parameters_;  // those that may be shared
  std::string region_;
  int next_region_ = 0;
  int num_values_ = 0;
  int64_t batch_ = 1;
};

}  // namespace

proto::Graph RandomGraph(uint64_t seed, const RandomGraphOptions& options) {
  return Generator(seed, options).Generate();
}

void CountOperators(const proto::Graph& graph,
                    std::map<std::string, int>& coverage) {
  for (const proto::Node& node : graph.node()) ++coverage[node.op()];
}

}  // namespace reprise
