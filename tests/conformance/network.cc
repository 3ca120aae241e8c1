#include "tests/conformance/network.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

BuilderDims Dimensions(const Dims& dims) {
  return BuilderDims(dims.begin(), dims.end());
}

// Gates in ONNX's order, from those of CellWeights.
BuilderValue OnnxGates(Network& net, const Recurrent& layer,
                       const BuilderValue& x, int64_t axis) {
  if (layer.op != "LSTM") return x;
  const Network::Values ifgo = net.Split(x, axis, 4);
  return net.Concat({ifgo[0], ifgo[3], ifgo[1], ifgo[2]}, axis);
}

template <typename T>
absl::Status Copy(const Network::Tensor& tensor, const GoldenTensor& from,
                  absl::StatusOr<absl::Span<T>> to) {
  if (!to.ok()) return to.status();
  if (to->size() != from.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(tensor.name, " must have ", to->size(), " elements, got ",
                     from.size()));
  }
  static_assert(sizeof(T) == sizeof(float), "integers are kept as floats");
  std::memcpy(to->data(), from.data(), from.size() * sizeof(float));
  return absl::OkStatus();
}

}  // namespace

BuilderValue Network::Input(const Dims& dims, DType dtype) {
  inputs_.push_back({absl::StrCat("x", inputs_.size()), dims, Role::kFrozen});
  return builder_.Input(inputs_.back().name, dtype, Dimensions(dims));
}

BuilderValue Network::Label(const Dims& dims) {
  labels_.push_back(
      {absl::StrCat("label", labels_.size()), dims, Role::kFrozen});
  return builder_.Input(labels_.back().name, DType::kF32, Dimensions(dims));
}

BuilderValue Network::Persistent(const Dims& dims, Role role) {
  weights_.push_back({absl::StrCat("w", weights_.size()), dims, role});
  const std::string& name = weights_.back().name;
  if (role == Role::kTrained) return builder_.Parameter(name, Dimensions(dims));
  if (role == Role::kFrozen) {
    return builder_.Frozen(name, DType::kF32, Dimensions(dims));
  }
  return builder_.State(name, DType::kF32, Dimensions(dims));
}

BuilderValue Network::Weight(const Dims& dims) {
  return Persistent(dims, Role::kTrained);
}

BuilderValue Network::FrozenWeight(const Dims& dims) {
  return Persistent(dims, Role::kFrozen);
}

BuilderValue Network::State(const Dims& dims) {
  return Persistent(dims, Role::kState);
}

void Network::Output(const Value& value) {
  builder_.Output(value);
  outputs_.push_back(value.name);
}

std::string Network::NewConstantName() {
  return absl::StrCat("constant", constants_++);
}

BuilderValue Network::Constant(const Dims& dims,
                               const std::vector<float>& content) {
  return builder_.Frozen(NewConstantName(), DType::kF32, Dimensions(dims),
                         Init::Value(FloatTensor(dims, content)));
}

BuilderValue Network::Filled(const Dims& dims, float content) {
  return builder_.Frozen(NewConstantName(), DType::kF32, Dimensions(dims),
                         Init::Constant(content));
}

BuilderValue Network::Reshape(const Value& x, const Dims& dims) {
  return Add("Reshape", {x}, {{"shape", Ints(dims.begin(), dims.end())}});
}

BuilderValue Network::Transpose(const Value& x, const Ints& perm) {
  return Add("Transpose", {x}, {{"perm", perm}});
}

BuilderValue Network::Concat(const Values& parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  return Add("Concat", parts, {{"axis", axis}});
}

std::vector<BuilderValue> Network::Split(const Value& x, int64_t axis,
                                         int64_t parts) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < parts; ++i) {
    names.push_back(absl::StrCat("split", splits_, ".", i));
  }
  ++splits_;
  return builder_.AddMany("Split", {x},
                          {{"axis", axis}, {"num_outputs", parts}}, names);
}

BuilderValue Network::Linear(const Value& x, const Value& w, const Value& b) {
  const Value product = Add("MatMul", {x, w});
  return b.name.empty() ? product : Add("Add", {product, b});
}

void Network::MeanSquaredError(const Value& prediction, const Value& target) {
  builder_.Loss(Add("MeanSquaredError", {prediction, target}));
}

void Network::SumLoss(const Value& x, float weight) {
  builder_.Loss(Add("ReduceSum", {x}, {{"keepdims", 0}}), weight);
}

CellWeights AddCellWeights(Network& net, const Recurrent& layer) {
  const int64_t gates = layer.op == "LSTM" ? 4 : layer.op == "GRU" ? 3 : 1;
  const int64_t size = gates * layer.hidden;
  CellWeights cell;
  cell.w = net.Weight({layer.input, size});
  cell.u = net.Weight({layer.hidden, size});
  cell.b = net.Weight({size});
  cell.u_bias = net.Weight({size});
  return cell;
}

RecurrentResults AddRecurrent(Network& net, const Recurrent& layer,
                              const BuilderValue& x,
                              const std::vector<CellWeights>& cells,
                              const BuilderValue& h, const BuilderValue& c) {
  const int64_t gates = layer.op == "LSTM" ? 4 : layer.op == "GRU" ? 3 : 1;
  const int64_t size = gates * layer.hidden;
  Network::Values w;
  Network::Values r;
  Network::Values b;
  for (const CellWeights& cell : cells) {
    w.push_back(
        net.Reshape(OnnxGates(net, layer, net.Transpose(cell.w, {1, 0}), 0),
                    {1, size, layer.input}));
    r.push_back(
        net.Reshape(OnnxGates(net, layer, net.Transpose(cell.u, {1, 0}), 0),
                    {1, size, layer.hidden}));
    const BuilderValue u_bias =
        cell.u_bias.name.empty() ? net.Filled({size}, 0) : cell.u_bias;
    b.push_back(net.Reshape(net.Concat({OnnxGates(net, layer, cell.b, 0),
                                        OnnxGates(net, layer, u_bias, 0)},
                                       0),
                            {1, 2 * size}));
  }
  const Dims state = {layer.batch, 1, layer.hidden};
  Network::Values in = {x, net.Concat(w, 0), net.Concat(r, 0),
                        net.Concat(b, 0)};
  in.emplace_back();  // all sequences are of one length
  in.push_back(h.name.empty() ? h : net.Reshape(h, state));
  BuilderAttrs attrs = {{"hidden_size", layer.hidden}, {"layout", 1}};
  if (cells.size() == 2) attrs.emplace_back("direction", "bidirectional");
  if (!layer.activations.empty()) {
    attrs.emplace_back("activations", layer.activations);
  }
  if (layer.op == "GRU") {
    attrs.emplace_back("linear_before_reset", layer.reset_after ? 1 : 0);
  }
  // The weights of a layer may be used by several; its first product is new.
  const std::string name = absl::StrCat(layer.op, "_of_", in[1].name);
  std::vector<std::string> names = {name + ".y", name + ".h"};
  if (layer.op == "LSTM") {
    in.push_back(c.name.empty() ? c : net.Reshape(c, state));
    names.push_back(name + ".c");
  }
  const Network::Values results =
      net.builder().AddMany(layer.op, in, attrs, names);
  const int64_t both = static_cast<int64_t>(cells.size()) * layer.hidden;
  RecurrentResults out;
  out.y = net.Reshape(results[0], {layer.batch, layer.steps, both});
  out.h = net.Reshape(results[1], {layer.batch, both});
  if (layer.op == "LSTM") out.c = net.Reshape(results[2], {layer.batch, both});
  return out;
}

AttentionWeights AddAttentionWeights(Network& net, const Dims& in,
                                     const Dims& out) {
  AttentionWeights weights;
  for (int i = 0; i < 4; ++i) {
    weights.w[i] = net.Weight({in[i], out[i]});
    weights.b[i] = net.Weight({out[i]});
  }
  return weights;
}

BuilderValue AddAttention(Network& net, const AttentionWeights& weights,
                          int64_t heads, const BuilderValue& q,
                          const BuilderValue& k, const BuilderValue& v,
                          const BuilderValue& mask) {
  Network::Values in = {net.Linear(q, weights.w[0], weights.b[0]),
                        net.Linear(k, weights.w[1], weights.b[1]),
                        net.Linear(v, weights.w[2], weights.b[2])};
  if (!mask.name.empty()) in.push_back(mask);
  const BuilderValue y = net.Add(
      "Attention", in, {{"q_num_heads", heads}, {"kv_num_heads", heads}});
  return net.Linear(y, weights.w[3], weights.b[3]);
}

BuilderValue AddAttentionScores(Network& net, const AttentionWeights& weights,
                                const AttentionShape& s, const BuilderValue& q,
                                const BuilderValue& k,
                                const BuilderValue& mask) {
  const BuilderValue queries =
      net.Transpose(net.Reshape(net.Linear(q, weights.w[0], weights.b[0]),
                                {s.batch, s.queries, s.heads, s.head_size}),
                    {0, 2, 1, 3});
  const BuilderValue keys =
      net.Transpose(net.Reshape(net.Linear(k, weights.w[1], weights.b[1]),
                                {s.batch, s.keys, s.heads, s.head_size}),
                    {0, 2, 3, 1});
  const auto scale =
      static_cast<float>(1 / std::sqrt(static_cast<double>(s.head_size)));
  BuilderValue scores = net.Add(
      "Mul", {net.Add("MatMul", {queries, keys}), net.Filled({1}, scale)});
  if (!mask.name.empty()) scores = net.Add("Add", {scores, mask});
  return net.Add("Softmax", {scores});
}

absl::Status WriteInputs(const std::vector<Network::Tensor>& tensors,
                         const GoldenTensors& golden, size_t first,
                         Pass& pass) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string& name = tensors[i].name;
    const absl::StatusOr<absl::Span<int32_t>> ints = pass.Input<int32_t>(name);
    RETURN_IF_ERROR(ints.ok() ? Copy(tensors[i], golden[first + i], ints)
                              : Copy(tensors[i], golden[first + i],
                                     pass.Input<float>(name)));
  }
  return absl::OkStatus();
}

absl::Status WriteWeights(const std::vector<Network::Tensor>& tensors,
                          const GoldenTensors& golden, size_t first,
                          Trainer& trainer) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    RETURN_IF_ERROR(Copy(tensors[i], golden[first + i],
                         trainer.Persistent(tensors[i].name)));
  }
  return absl::OkStatus();
}

}  // namespace reprise
