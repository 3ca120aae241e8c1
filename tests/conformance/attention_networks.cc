// Attention and transformers as PyTorch has them: normalization comes after the
// sums, Relu between the linear layers. Sizes of all files: 6 elements, 2
// heads, 7 elements between the linear layers, 3 sequences.

#include "tests/conformance/model_networks.h"

namespace reprise {
namespace {

using Value = BuilderValue;

constexpr int64_t kBatch = 3;
constexpr int64_t kSize = 6;
constexpr int64_t kHeads = 2;
constexpr int64_t kInner = 7;

AttentionWeights AddWeights(Network& net) {
  const Dims sizes = {kSize, kSize, kSize, kSize};
  return AddAttentionWeights(net, sizes, sizes);
}

// Masks are one for each head of each sequence.
Value InputMask(Network& net, int64_t queries, int64_t keys) {
  return net.Input({kBatch, kHeads, queries, keys});
}

struct Multi {
  int64_t queries = 3;
  int64_t keys = 2;
  int64_t key_size = kSize;
  int64_t value_size = kSize;
  bool self = false;  // keys and values are the queries
  bool masked = false;
};

// The result, which is compared with labels, and the weights' mean over the
// heads, which is not.
void AddMultiHead(Network& net, const Multi& m) {
  const Value q = net.Input({kBatch, m.queries, kSize});
  const Value k = m.self ? q : net.Input({kBatch, m.keys, m.key_size});
  const Value v = m.self ? q : net.Input({kBatch, m.keys, m.value_size});
  const Value mask = m.masked ? InputMask(net, m.queries, m.keys) : Value{};
  const Value label = net.Label({kBatch, m.queries, kSize});
  net.Label({kBatch, m.queries, m.keys});
  const AttentionWeights weights =
      AddAttentionWeights(net, {kSize, m.key_size, m.value_size, kSize},
                          {kSize, kSize, kSize, kSize});
  const Value y = AddAttention(net, weights, kHeads, q, k, v, mask);
  net.Output(y);
  const Value scores = AddAttentionScores(
      net, weights, {kBatch, m.queries, m.keys, kHeads, kSize / kHeads}, q, k,
      mask);
  net.Output(
      net.Add("ReduceMean", {scores}, {{"axes", Ints{1}}, {"keepdims", 0}}));
  net.MeanSquaredError(y, label);
}

// No biases, and the weights are not wanted.
void AddPlainMultiHead(Network& net) {
  const Value q = net.Input({kBatch, 3, kSize});
  const Value k = net.Input({kBatch, 2, kSize});
  const Value v = net.Input({kBatch, 2, kSize});
  const Value label = net.Label({kBatch, 3, kSize});
  AttentionWeights weights;
  for (Value& w : weights.w) w = net.Weight({kSize, kSize});
  const Value y = AddAttention(net, weights, kHeads, q, k, v);
  net.Output(y);
  net.MeanSquaredError(y, label);
}

Value AddNormalization(Network& net, const Value& x) {
  const Value scale = net.Weight({kSize});
  return net.Add("LayerNormalization", {x, scale, net.Weight({kSize})});
}

Value AddSelfOrCross(Network& net, const Value& x, const Value& memory,
                     const Value& mask) {
  const AttentionWeights weights = AddWeights(net);
  const Value y = AddAttention(net, weights, kHeads, x, memory, memory, mask);
  return AddNormalization(net, net.Add("Add", {x, y}));
}

Value AddFeedForward(Network& net, const Value& x) {
  const Value w1 = net.Weight({kSize, kInner});
  const Value b1 = net.Weight({kInner});
  const Value inner = net.Add("Relu", {net.Linear(x, w1, b1)});
  const Value w2 = net.Weight({kInner, kSize});
  const Value y = net.Linear(inner, w2, net.Weight({kSize}));
  return AddNormalization(net, net.Add("Add", {x, y}));
}

Value AddEncoder(Network& net, const Value& x, const Value& mask) {
  return AddFeedForward(net, AddSelfOrCross(net, x, x, mask));
}

Value AddDecoder(Network& net, const Value& x, const Value& memory,
                 const Value& mask, const Value& memory_mask) {
  const Value self = AddSelfOrCross(net, x, x, mask);
  return AddFeedForward(net, AddSelfOrCross(net, self, memory, memory_mask));
}

void OutputWithLabel(Network& net, const Value& y, const Value& label) {
  net.Output(y);
  net.MeanSquaredError(y, label);
}

void AddEncoderLayer(Network& net) {
  const Value x = net.Input({kBatch, 5, kSize});
  const Value mask = InputMask(net, 5, 5);
  const Value label = net.Label({kBatch, 5, kSize});
  OutputWithLabel(net, AddEncoder(net, x, mask), label);
}

void AddDecoderLayer(Network& net, bool masked) {
  const Value x = net.Input({kBatch, 5, kSize});
  const Value memory = net.Input({kBatch, 4, kSize});
  const Value mask = masked ? InputMask(net, 5, 5) : Value{};
  const Value memory_mask = masked ? InputMask(net, 5, 4) : Value{};
  const Value label = net.Label({kBatch, 5, kSize});
  OutputWithLabel(net, AddDecoder(net, x, memory, mask, memory_mask), label);
}

void AddTransformer(Network& net, int layers, bool masked) {
  Value x = net.Input({kBatch, 5, kSize});
  Value y = net.Input({kBatch, 4, kSize});
  const Value x_mask = masked ? InputMask(net, 5, 5) : Value{};
  const Value y_mask = masked ? InputMask(net, 4, 4) : Value{};
  const Value memory_mask = masked ? InputMask(net, 4, 5) : Value{};
  const Value label = net.Label({kBatch, 4, kSize});
  for (int i = 0; i < layers; ++i) x = AddEncoder(net, x, x_mask);
  x = AddNormalization(net, x);
  for (int i = 0; i < layers; ++i) {
    y = AddDecoder(net, y, x, y_mask, memory_mask);
  }
  OutputWithLabel(net, AddNormalization(net, y), label);
}

// Attention over places by a mixture of 5 logistic distributions, whose means
// (kappa) only move forward. Places from the length given on have no weight.
void AddMixtureAttention(Network& net) {
  constexpr int64_t kPlaces = 4;
  constexpr int64_t kUnits = 8;
  constexpr int64_t kMixture = 5;
  const Value query = net.Input({kBatch, kSize});
  const Value values = net.Input({kBatch, kPlaces, kSize});
  const Value state = net.Input({kBatch, 1, kMixture});
  const Value lengths = net.Input({kBatch}, DType::kI32);
  net.Label({kBatch, 1, kSize});
  net.Label({kBatch, 1, kMixture});
  const Value w1 = net.Weight({kSize, kUnits});
  const Value b1 = net.Weight({kUnits});
  const Value w2 = net.Weight({kUnits, 3 * kMixture});
  const Value hidden = net.Add(
      "Tanh", {net.Linear(net.Reshape(query, {kBatch, 1, kSize}), w1, b1)});
  const Network::Values parts =
      net.Split(net.Linear(hidden, w2, Value{}), 2, 3);
  const Value kappa = net.Add("Add", {net.Add("Exp", {parts[0]}), state});
  const Value beta = net.Add("Exp", {parts[1]});
  const Value alpha = net.Add("Softmax", {parts[2]});
  Network::Values sides;
  for (const float side : {0.5f, -0.5f}) {
    std::vector<float> places;
    for (int64_t i = 1; i <= kPlaces; ++i) {
      places.push_back(static_cast<float>(i) + side);
    }
    const Value distance =
        net.Add("Sub", {net.Constant({1, kPlaces, 1}, places), kappa});
    sides.push_back(net.Add("Sigmoid", {net.Add("Div", {distance, beta})}));
  }
  const Value scores =
      net.Add("ReduceSum",
              {net.Add("Mul", {alpha, net.Add("Sub", {sides[0], sides[1]})})},
              {{"axes", Ints{2}}, {"keepdims", 0}});
  const Value seen = net.Add(
      "Less", {net.Constant({1, kPlaces}, {0, 1, 2, 3}),
               net.Reshape(net.Add("Cast", {lengths}, {{"to", DType::kF32}}),
                           {kBatch, 1})});
  const Value masked = net.Add("Where", {seen, scores, net.Filled({1}, 0)});
  const Value y =
      net.Add("MatMul", {net.Reshape(masked, {kBatch, 1, kPlaces}), values});
  net.Output(y);
  net.Output(kappa);
  net.SumLoss(y);
  net.SumLoss(kappa);
}

ModelGolden MultiHead(const std::string& name, const Multi& m) {
  return {"multi_head_attention_" + name,
          [m](Network& net) { AddMultiHead(net, m); }};
}

}  // namespace

std::vector<ModelGolden> AttentionGoldens() {
  Multi masked;
  masked.masked = true;
  Multi self;
  self.keys = self.queries;
  self.self = true;
  Multi sizes;
  sizes.key_size = 4;
  sizes.value_size = 5;
  // Where a mask leaves a query no key, scores are -inf alone, and weights NaN.
  ModelGolden unseen = MultiHead("pseudo_bool_attn_mask", masked);
  unseen.diverges = true;
  return {
      {"mol_attention_masked", AddMixtureAttention},
      {"multi_head_attention_disable_need_weights", AddPlainMultiHead},
      MultiHead("float_attn_mask", masked),
      unseen,
      MultiHead("self_attention", self),
      MultiHead("kdim_vdim", sizes),
      {"transformer_encoder_layer_float_attn_mask", AddEncoderLayer},
      {"transformer_encoder_layer_pseudo_bool_attn_mask", AddEncoderLayer},
      {"transformer_decoder_layer",
       [](Network& n) { AddDecoderLayer(n, false); }},
      {"transformer_decoder_layer_float_attn_mask",
       [](Network& n) { AddDecoderLayer(n, true); }},
      {"transformer_single", [](Network& n) { AddTransformer(n, 1, false); }},
      {"transformer_float_attn_mask",
       [](Network& n) { AddTransformer(n, 2, true); }},
  };
}

}  // namespace reprise
