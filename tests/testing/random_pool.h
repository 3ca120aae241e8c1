// A model under construction, and its pool of values that random operators
// take their operands from.

#ifndef TESTS_TESTING_RANDOM_POOL_H_
#define TESTS_TESTING_RANDOM_POOL_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/graph.pb.h"

namespace reprise {

class RandomPool {
 public:
  using Dims = std::vector<int64_t>;

  struct Tensor {
    std::string name;
    Dims dims;
  };

  explicit RandomPool(uint64_t seed) : random_(seed) {}

  proto::Graph& graph() { return graph_; }
  std::mt19937_64& random() { return random_; }
  const std::vector<Tensor>& values() const { return pool_; }

  // Of the nodes that are added from now on; empty: none.
  const std::string& region() const { return region_; }
  void SetRegion(const std::string& region) { region_ = region; }

  // Dim 0 of what is made anew.
  int64_t batch() const { return batch_; }
  void SetBatch(int64_t batch) { batch_ = batch; }

  // A whole number in [low, high].
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

  // A name for a new value.
  std::string Name() { return absl::StrCat("v", ++num_values_); }

  // Adds a tensor to the pool.
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

  // The same, and its result is brought back to order one. Returns the node
  // itself.
  NodeHandle ApplyBounded(const std::string& op, const std::vector<Tensor>& in,
                          const Dims& dims) {
    const std::string name = Name();
    const NodeHandle handle = Node(op, in, {name});
    Apply("Tanh", {{name, dims}}, dims);
    return handle;
  }

  // A pool value.
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

  // An axis, counted from either end.
  int64_t Axis(const Tensor& a) {
    const int64_t rank = static_cast<int64_t>(a.dims.size());
    return rank == 0 ? 0 : Draw(-rank, rank - 1);
  }

 private:
  std::mt19937_64 random_;
  proto::Graph graph_;
  std::vector<Tensor> pool_;
  std::vector<Tensor> parameters_;  // those that may be shared
  std::string region_;
  int num_values_ = 0;
  int64_t batch_ = 1;
};

}  // namespace reprise

#endif  // TESTS_TESTING_RANDOM_POOL_H_
