// A network whose tensors stand in a golden file, in the order in which it
// names them, and the parts that such networks have in common.

#ifndef TESTS_CONFORMANCE_NETWORK_H_
#define TESTS_CONFORMANCE_NETWORK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/graph_builder.h"
#include "core/trainer.h"
#include "tests/conformance/goldens.h"

namespace reprise {

class Network {
 public:
  using Value = BuilderValue;
  using Values = std::vector<BuilderValue>;

  enum class Role : uint8_t { kTrained, kFrozen, kState };

  // A tensor of the file.
  struct Tensor {
    std::string name;
    Dims dims;
    Role role = Role::kTrained;
  };

  // Those that the file has, in its order.
  Value Input(const Dims& dims, DType dtype = DType::kF32);
  Value Label(const Dims& dims);
  Value Weight(const Dims& dims);
  Value FrozenWeight(const Dims& dims);
  // With SetNext of builder(): a running statistic.
  Value State(const Dims& dims);
  void Output(const Value& value);

  // A constant that the file does not have.
  Value Constant(const Dims& dims, const std::vector<float>& content);
  Value Filled(const Dims& dims, float content);

  Value Add(const char* op, const Values& in, const BuilderAttrs& attrs = {}) {
    return builder_.Add(op, in, attrs);
  }
  Value Reshape(const Value& x, const Dims& dims);
  Value Transpose(const Value& x, const Ints& perm);
  Values Split(const Value& x, int64_t axis, int64_t parts);
  Value Concat(const Values& parts, int64_t axis);
  // x w + b; an absent b: x w.
  Value Linear(const Value& x, const Value& w, const Value& b);
  // The mean of (prediction - target)^2, as a loss.
  void MeanSquaredError(const Value& prediction, const Value& target);
  // sum(x) times `weight`, as a loss.
  void SumLoss(const Value& x, float weight = 1);

  GraphBuilder& builder() { return builder_; }
  const proto::Graph& graph() const { return builder_.graph(); }
  const std::vector<Tensor>& inputs() const { return inputs_; }
  const std::vector<Tensor>& labels() const { return labels_; }
  const std::vector<Tensor>& weights() const { return weights_; }
  const std::vector<std::string>& outputs() const { return outputs_; }

 private:
  Value Persistent(const Dims& dims, Role role);
  std::string NewConstantName();

  GraphBuilder builder_{"golden"};
  std::vector<Tensor> inputs_;
  std::vector<Tensor> labels_;
  std::vector<Tensor> weights_;
  std::vector<std::string> outputs_;
  int constants_ = 0;
  int splits_ = 0;
};

// Parameters of one direction of a recurrent layer, gates one after the other
// in the last axis: i, f, g, o of an LSTM, z, r, n of a GRU.
struct CellWeights {
  BuilderValue w;       // [input, gates * hidden]
  BuilderValue u;       // [hidden, gates * hidden]
  BuilderValue b;       // [gates * hidden]
  BuilderValue u_bias;  // likewise, added to h u; absent: 0
};

// What a recurrent layer is, but for its weights.
struct Recurrent {
  std::string op;  // RNN, GRU or LSTM
  int64_t batch = 0;
  int64_t steps = 0;
  int64_t input = 0;
  int64_t hidden = 0;
  std::string activations = {};  // empty: the operator's
  bool reset_after = false;      // of a GRU: the reset gate multiplies h u
};

struct RecurrentResults {
  BuilderValue y;  // [batch, steps, directions * hidden]
  BuilderValue h;  // [batch, directions * hidden]
  BuilderValue c;  // likewise, of an LSTM
};

// Adds the weights of one direction, with both biases.
CellWeights AddCellWeights(Network& net, const Recurrent& layer);

// Adds the layer, by the operator of its name.
//
//   x:    [batch, steps, input]
//   cell: of the forward direction, and of the reverse one if there are two
//   h, c: [batch, hidden], before the first step; absent: 0
RecurrentResults AddRecurrent(Network& net, const Recurrent& layer,
                              const BuilderValue& x,
                              const std::vector<CellWeights>& cells,
                              const BuilderValue& h = {},
                              const BuilderValue& c = {});

// Parameters of an attention with several heads: x w + b of queries, keys and
// values, and of the result. An absent bias: none.
struct AttentionWeights {
  BuilderValue w[4];
  BuilderValue b[4];
};

// Adds them: w and b in turn, of the sizes before and after each product.
AttentionWeights AddAttentionWeights(Network& net, const Dims& in,
                                     const Dims& out);

// The projections, the operator Attention, and the product with the last w.
//
//   q, k, v: [batch, length, size]
//   mask:    [batch, heads, q length, k length], added to the scores; or absent
BuilderValue AddAttention(Network& net, const AttentionWeights& weights,
                          int64_t heads, const BuilderValue& q,
                          const BuilderValue& k, const BuilderValue& v,
                          const BuilderValue& mask = {});

// The weights [batch, heads, q length, k length] that an attention gives to
// the values, by MatMul and Softmax.
struct AttentionShape {
  int64_t batch = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t heads = 0;
  int64_t head_size = 0;
};
BuilderValue AddAttentionScores(Network& net, const AttentionWeights& weights,
                                const AttentionShape& shape,
                                const BuilderValue& q, const BuilderValue& k,
                                const BuilderValue& mask = {});

// Writes tensors `first`.. of `golden` to the inputs `tensors`, or to the
// persistent values of those names.
//
//   errors: InvalidArgument naming a tensor that has another length.
absl::Status WriteInputs(const std::vector<Network::Tensor>& tensors,
                         const GoldenTensors& golden, size_t first, Pass& pass);
absl::Status WriteWeights(const std::vector<Network::Tensor>& tensors,
                          const GoldenTensors& golden, size_t first,
                          Trainer& trainer);

}  // namespace reprise

#endif  // TESTS_CONFORMANCE_NETWORK_H_
