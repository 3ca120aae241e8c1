#include "tests/conformance/layer_networks.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

using Value = BuilderValue;

// The small number in nntrainer's normalizations.
constexpr double kEpsilon = 1e-3;

Network::Values Inputs(const LayerCase& c, Network& net) {
  Network::Values inputs;
  for (const Dims& dims : c.inputs) inputs.push_back(net.Input(dims));
  return inputs;
}

// Without the axis of channels, which is 1.
Dims WithoutChannels(const Dims& dims) { return {dims[0], dims[2], dims[3]}; }

void AddConcat(const LayerCase& c, Network& net) {
  net.Output(net.Concat(Inputs(c, net), c.Int("axis", 1)));
}

void AddSum(const LayerCase& c, Network& net) {
  net.Output(net.Add("Sum", Inputs(c, net)));
}

void AddReshape(const LayerCase& c, Network& net) {
  const Value x = Inputs(c, net)[0];
  // target_shape=-1: all of an image in one row.
  net.Output(net.Reshape(x, {c.inputs[0][0], 1, 1, c.Int("target_shape", 0)}));
}

// The index does not say which axes change places: of the one file whose layer
// it names, channels and rows do.
void AddTranspose(const LayerCase& c, Network& net) {
  net.Output(net.Transpose(Inputs(c, net)[0], {0, 2, 1, 3}));
}

void AddSwiGlu(const LayerCase& c, Network& net) {
  const Network::Values x = Inputs(c, net);
  net.Output(net.Add("Mul", {net.Add("Swish", {x[0]}), x[1]}));
}

void AddDropout(const LayerCase& c, Network& net) {
  net.Output(net.Add(
      "Dropout", Inputs(c, net),
      {{"ratio", DropoutRatio(c)}, {"training_mode", c.inference ? 0 : 1}}));
}

void AddUpsample(const LayerCase& c, Network& net) {
  const Ints scale = c.List("kernel_size", 2, 1);
  const bool nearest = c.String("upsample", "") == "nearest";
  net.Output(net.Add("Resize", Inputs(c, net),
                     {{"mode", nearest ? "nearest" : "linear"},
                      {"scales", Floats{1, 1, static_cast<float>(scale[0]),
                                        static_cast<float>(scale[1])}}}));
}

void AddConvolution(const LayerCase& c, size_t axes, const Value& x,
                    int64_t channels, const Dims& out, Network& net) {
  const Ints kernel = c.List("kernel_size", axes, 1);
  Dims w = {c.Int("filters", 0), channels};
  w.insert(w.end(), kernel.begin(), kernel.end());
  const Ints dilations = c.List("dilation", axes, 1);
  BuilderAttrs attrs = {{"kernel_shape", kernel},
                        {"strides", c.List("stride", axes, 1)},
                        {"dilations", dilations}};
  const std::string padding = c.String("padding", "valid");
  if (padding == "same") {
    attrs.emplace_back("auto_pad", "SAME_UPPER");
  } else if (padding == "causal") {
    attrs.emplace_back("pads", Ints{(kernel[0] - 1) * dilations[0], 0});
  } else if (padding != "valid") {
    // Top, bottom, left, right, to begins and ends.
    const Ints sides = c.List("padding", 4, 0);
    attrs.emplace_back("pads", Ints{sides[0], sides[2], sides[1], sides[3]});
  }
  const Value weight = net.Weight(w);
  const Value bias = net.Weight({w[0]});
  const Value y = net.Add("Conv", {x, weight, bias}, attrs);
  net.Output(out.empty() ? y : net.Reshape(y, out));
}

void AddConv1D(const LayerCase& c, Network& net) {
  const Dims& in = c.inputs[0];
  const Value x = net.Reshape(Inputs(c, net)[0], {in[0], in[1], in[3]});
  AddConvolution(c, 1, x, in[1], {in[0], c.Int("filters", 0), 1, -1}, net);
}

void AddConv2D(const LayerCase& c, Network& net) {
  AddConvolution(c, 2, Inputs(c, net)[0], c.inputs[0][1], {}, net);
}

// Over channels, or over columns if there is one channel.
void AddBatchNormalization(const LayerCase& c, Network& net) {
  const Dims& in = c.inputs[0];
  const bool columns = in[1] == 1;
  const Dims size = {columns ? in[3] : in[1]};
  const Value input = Inputs(c, net)[0];
  const Value x = columns ? net.Reshape(input, {-1, in[3]}) : input;
  const Value mean = c.inference ? net.FrozenWeight(size) : net.State(size);
  const Value var = c.inference ? net.FrozenWeight(size) : net.State(size);
  const Value scale = net.Weight(size);
  const Value shift = net.Weight(size);
  const Network::Values y = net.builder().AddMany(
      "BatchNormalization", {x, scale, shift, mean, var},
      {{"epsilon", kEpsilon},
       {"momentum", 0.99},
       {"training_mode", c.inference ? 0 : 1}},
      c.inference ? std::vector<std::string>{"y"}
                  : std::vector<std::string>{"y", "mean", "var"});
  if (!c.inference) {
    net.builder().SetNext(mean, y[1]);
    net.builder().SetNext(var, y[2]);
  }
  net.Output(y[0]);
}

// The axes go last, in their order.
void AddLayerNormalization(const LayerCase& c, Network& net) {
  const Dims& in = c.inputs[0];
  const Ints axes = c.List("axis", 0, 0);
  Ints perm;
  for (int64_t axis = 0; axis < 4; ++axis) {
    bool normalized = false;
    for (const int64_t a : axes) normalized |= a == axis;
    if (!normalized) perm.push_back(axis);
  }
  Dims size;
  for (const int64_t axis : axes) {
    perm.push_back(axis);
    size.push_back(in[axis]);
  }
  Ints back(4);
  for (int64_t i = 0; i < 4; ++i) back[perm[i]] = i;
  const Value x = net.Transpose(Inputs(c, net)[0], perm);
  const Value scale = net.Weight(size);
  const Value shift = net.Weight(size);
  const Value y = net.Add(
      "LayerNormalization", {x, scale, shift},
      {{"axis", 4 - static_cast<int64_t>(axes.size())}, {"epsilon", kEpsilon}});
  net.Output(net.Transpose(y, back));
}

void AddRmsNormalization(const LayerCase& c, Network& net) {
  double epsilon = kEpsilon;
  if (!absl::SimpleAtod(c.String("epsilon", ""), &epsilon)) epsilon = kEpsilon;
  const Value x = Inputs(c, net)[0];
  net.Output(net.Add("RMSNormalization", {x, net.Weight({c.inputs[0].back()})},
                     {{"epsilon", epsilon}}));
}

void AddEmbedding(const LayerCase& c, Network& net) {
  const Value rows =
      net.Add("Cast", {Inputs(c, net)[0]}, {{"to", DType::kI64}});
  const Value w = net.Weight({c.Int("in_dim", 0), c.Int("out_dim", 0)});
  net.Output(net.Add("Gather", {w, rows}));
}

// Even columns have sines, odd ones cosines, of 10000^(-(column / 2 * 2) /
// columns) for each row.
void AddPositionalEncoding(const LayerCase& c, Network& net) {
  const Dims& in = c.inputs[0];
  std::vector<float> encoding;
  for (int64_t row = 0; row < in[2]; ++row) {
    for (int64_t column = 0; column < in[3]; ++column) {
      const double exponent =
          static_cast<double>(column / 2 * 2) / static_cast<double>(in[3]);
      const double angle =
          static_cast<double>(row) / std::pow(10000.0, exponent);
      encoding.push_back(static_cast<float>(column % 2 == 0 ? std::sin(angle)
                                                            : std::cos(angle)));
    }
  }
  net.Output(net.Add("Add", {Inputs(c, net)[0],
                             net.Constant({1, 1, in[2], in[3]}, encoding)}));
}

std::string OnnxActivation(const std::string& name) {
  return name == "sigmoid" ? "Sigmoid" : name == "tanh" ? "Tanh" : name;
}

// Layers over time steps (rows), and cells: one step from a state given.
void AddRecurrentLayer(const LayerCase& c, const std::string& op,
                       Network& net) {
  const Dims& in = c.inputs[0];
  Recurrent layer = {op, in[0], in[2], in[3], c.Int("unit", 0)};
  layer.reset_after = c.Bool("reset_after");
  if (op == "GRU") {
    layer.activations = absl::StrCat(
        OnnxActivation(c.String("recurrent_activation", "sigmoid")), ",",
        OnnxActivation(c.String("hidden_state_activation", "tanh")));
  }
  const Network::Values inputs = Inputs(c, net);
  const int64_t gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
  CellWeights cell;
  cell.w = net.Weight({layer.input, gates * layer.hidden});
  cell.u = net.Weight({layer.hidden, gates * layer.hidden});
  cell.b = net.Weight({gates * layer.hidden});
  if (!c.Bool("integrate_bias")) {
    cell.u_bias = net.Weight({gates * layer.hidden});
  }
  const RecurrentResults results =
      AddRecurrent(net, layer, net.Reshape(inputs[0], WithoutChannels(in)),
                   {cell}, inputs.size() > 1 ? inputs[1] : Value{},
                   inputs.size() > 2 ? inputs[2] : Value{});
  net.Output(c.Bool("return_sequences") ? results.y : results.h);
  if (inputs.size() > 2) net.Output(results.c);
}

void AddRnnCell(const LayerCase& c, Network& net) {
  AddRecurrentLayer(c, "RNN", net);
}
void AddGru(const LayerCase& c, Network& net) {
  AddRecurrentLayer(c, "GRU", net);
}
void AddLstm(const LayerCase& c, Network& net) {
  AddRecurrentLayer(c, "LSTM", net);
}

// Query, value and key, in this order; scores are not scaled.
void AddDotAttention(const LayerCase& c, Network& net) {
  const Network::Values x = Inputs(c, net);
  net.Output(net.Add("Attention", {x[0], x[2], x[1]}, {{"scale", 1.0}}));
}

// Query, key and value, in this order.
void AddMultiHeadAttention(const LayerCase& c, Network& net) {
  Network::Values x;
  for (const Dims& dims : c.inputs) {
    x.push_back(net.Reshape(net.Input(dims), WithoutChannels(dims)));
  }
  const int64_t heads = c.Int("num_heads", 1);
  const int64_t key = c.Int("projected_key_dim", 0);
  const int64_t value = c.Int("projected_value_dim", key);
  const int64_t size = c.inputs[0][3];
  const AttentionWeights weights = AddAttentionWeights(
      net, {size, c.inputs[1][3], c.inputs[2][3], heads * value},
      {heads * key, heads * key, heads * value, c.Int("output_shape", size)});
  net.Output(AddAttention(net, weights, heads, x[0], x[1], x[2]));
  if (c.String("return_attention_weight", "none") == "none") return;
  net.Output(AddAttentionScores(
      net, weights,
      {c.inputs[0][0], c.inputs[0][2], c.inputs[1][2], heads, key}, x[0],
      x[1]));
}

}  // namespace

int64_t LayerCase::Int(const std::string& name, int64_t otherwise) const {
  const Ints list = List(name, 1, otherwise);
  return list[0];
}

bool LayerCase::Bool(const std::string& name) const {
  return String(name, "false") == "true";
}

std::string LayerCase::String(const std::string& name,
                              const std::string& otherwise) const {
  const auto it = props.find(name);
  return it == props.end() ? otherwise : it->second;
}

Ints LayerCase::List(const std::string& name, size_t count,
                     int64_t otherwise) const {
  const auto it = props.find(name);
  if (it == props.end()) return Ints(count, otherwise);
  Ints list;
  for (const absl::string_view part : absl::StrSplit(it->second, ',')) {
    int64_t number = 0;
    list.push_back(absl::SimpleAtoi(part, &number) ? number : otherwise);
  }
  return list;
}

float DropoutRatio(const LayerCase& c) {
  float ratio = 0;
  if (!absl::SimpleAtof(c.String("dropout_rate", ""), &ratio)) return 0;
  // A rate of 1 was recorded as one of 0.9999: nobody divides by zero.
  return std::fmin(ratio, 0.9999f);
}

absl::StatusOr<LayerCase> ParseLayerCase(const nlohmann::json& entry) {
  LayerCase c;
  if (!entry.is_object() || !entry.contains("layer") ||
      !entry["layer"].is_string() || !entry.contains("input") ||
      !entry["input"].is_string()) {
    return absl::InvalidArgumentError(
        "a case must have a layer and an input, both strings");
  }
  c.layer = entry["layer"].get<std::string>();
  for (const nlohmann::json& prop : entry.value("props", nlohmann::json())) {
    if (!prop.is_string()) {
      return absl::InvalidArgumentError("properties must be strings");
    }
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(prop.get<std::string>(), absl::MaxSplits('=', 1));
    c.props.insert(parts);
  }
  for (const absl::string_view input :
       absl::StrSplit(entry["input"].get<std::string>(), ',')) {
    Dims dims;
    for (const absl::string_view part : absl::StrSplit(input, ':')) {
      dims.push_back(0);
      if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(part), &dims.back())) {
        return absl::InvalidArgumentError(
            absl::StrCat("an input must be n:c:h:w, got '", input, "'"));
      }
    }
    if (dims.size() != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("an input must be n:c:h:w, got '", input, "'"));
    }
    c.inputs.push_back(dims);
  }
  const nlohmann::json rest_entry = entry.value("rest", nlohmann::json(""));
  if (!rest_entry.is_string()) {
    return absl::InvalidArgumentError("rest must be a string");
  }
  const std::string rest = rest_entry.get<std::string>();
  c.inference = absl::StrContains(rest, "inference_option");
  c.has_weight_gradients = !absl::StrContains(rest, "SKIP_CALC_GRAD");
  c.has_input_gradients = !absl::StrContains(rest, "skip_derivative_option");
  return c;
}

const LayerNetwork* FindLayerNetwork(const std::string& layer) {
  static const auto* const table = new std::map<std::string, LayerNetwork>{
      {"AdditionLayerCL", {AddSum}},
      {"AttentionLayer", {AddDotAttention}},
      {"BatchNormalizationLayer", {AddBatchNormalization}},
      {"ConcatLayer", {AddConcat}},
      {"ConcatLayerCl", {AddConcat}},
      {"Conv1DLayer", {AddConv1D}},
      {"Conv2DLayer", {AddConv2D}},
      {"DropOutLayer", {AddDropout, true}},
      {"EmbeddingLayer", {AddEmbedding}},
      {"GRUCellLayer", {AddGru}},
      {"GRULayer", {AddGru}},
      {"LSTMCellLayer", {AddLstm}},
      {"LSTMLayer", {AddLstm}},
      {"LayerNormalizationLayer", {AddLayerNormalization}},
      {"MultiHeadAttentionLayer", {AddMultiHeadAttention}},
      {"PositionalEncodingLayer", {AddPositionalEncoding}},
      {"RMSNormLayerCl", {AddRmsNormalization}},
      {"RNNCellLayer", {AddRnnCell}},
      {"ReshapeLayerCl", {AddReshape}},
      {"SwiGLULayerCl", {AddSwiGlu}},
      {"TransposeLayerCl", {AddTranspose}},
      {"Upsample2dLayer", {AddUpsample}},
  };
  const auto it = table->find(layer);
  return it == table->end() ? nullptr : &it->second;
}

}  // namespace reprise
