#include "tests/conformance/model_networks.h"

#include <utility>

namespace reprise {
namespace {

using Value = BuilderValue;

Value AddLinear(Network& net, const Value& x, int64_t in, int64_t out) {
  const Value w = net.Weight({in, out});
  return net.Linear(x, w, net.Weight({out}));
}

// An output that is compared with labels by their mean squared difference.
void OutputWithLabel(Network& net, const Value& y, const Value& label) {
  net.Output(y);
  net.MeanSquaredError(y, label);
}

void AddOneLinear(Network& net) {
  const Value x = net.Input({2, 3});
  const Value label = net.Label({2, 4});
  OutputWithLabel(net, AddLinear(net, x, 3, 4), label);
}

// The two halves of a linear layer, added.
void AddOneToOne(Network& net) {
  const Value x = net.Input({5, 3});
  const Value label = net.Label({5, 1});
  const Network::Values halves = net.Split(AddLinear(net, x, 3, 2), 1, 2);
  OutputWithLabel(net, net.Add("Add", halves), label);
}

// Each half through a layer of its own.
void AddSplitAndJoin(Network& net) {
  const Value x = net.Input({5, 3});
  const Value label = net.Label({5, 3});
  const Network::Values halves = net.Split(AddLinear(net, x, 3, 2), 1, 2);
  const Value a = AddLinear(net, halves[0], 1, 3);
  const Value b = AddLinear(net, halves[1], 1, 3);
  OutputWithLabel(net, net.Add("Add", {a, b}), label);
}

// A convolution by one pixel, its rows in `parts`, which are added.
void AddSplitRows(Network& net, int64_t parts) {
  const Value x = net.Input({2, 3, 4, 5});
  const Value label = net.Label({2, 3, 4 / parts, 5});
  const Value w = net.Weight({3, 3, 1, 1});
  const Value y = net.Add("Conv", {x, w, net.Weight({3})});
  OutputWithLabel(net, net.Add("Sum", net.Split(y, 2, parts)), label);
}

// `layers` linear layers of one number, `times` times one after the other; the
// output itself is the loss.
void AddUnrolledLinear(Network& net, int layers, int times) {
  Value y = net.Input({1, 1});
  net.Label({1, 1});
  Network::Values parameters;
  for (int i = 0; i < layers; ++i) {
    parameters.push_back(net.Weight({1, 1}));
    parameters.push_back(net.Weight({1}));
  }
  for (int i = 0; i < times * layers; ++i) {
    const int layer = i % layers;
    y = net.Linear(y, parameters[2 * layer], parameters[2 * layer + 1]);
  }
  net.Output(y);
  net.SumLoss(y);
}

// op(x w + b), or op(x, x w + b) if `binary`, of [rows, 2].
void AddOperation(Network& net, const char* op, int64_t rows, bool binary) {
  const Value x = net.Input({rows, 2});
  const Value label = net.Label({rows, 2});
  const Value h = AddLinear(net, x, 2, 2);
  OutputWithLabel(
      net, net.Add(op, binary ? Network::Values{x, h} : Network::Values{h}),
      label);
}

// The sum of each row [3]. Its labels are [3, 1]: every sum is compared with
// every label.
void AddReduceSum(Network& net) {
  const Value x = net.Input({3, 2});
  const Value label = net.Label({3, 1});
  const Value y = net.Add("ReduceSum", {AddLinear(net, x, 2, 7)},
                          {{"axes", Ints{1}}, {"keepdims", 0}});
  net.Output(y);
  const BuilderAttrs square = {{"shape", Ints{3, 3}}};
  net.MeanSquaredError(net.Add("Expand", {y}, square),
                       net.Add("Expand", {label}, square));
}

// Three linear layers, Relu after two, Sigmoid after the last; `frozen` is not
// trained.
void AddThreeLayers(Network& net, int frozen) {
  const Value x = net.Input({3, 3});
  const Value label = net.Label({3, 2});
  const Dims sizes = {3, 10, 10, 2};
  Value y = x;
  for (int i = 0; i < 3; ++i) {
    const Dims w_dims = {sizes[i], sizes[i + 1]};
    const Dims b_dims = {sizes[i + 1]};
    const Value w = i == frozen ? net.FrozenWeight(w_dims) : net.Weight(w_dims);
    const Value b = i == frozen ? net.FrozenWeight(b_dims) : net.Weight(b_dims);
    y = net.Add(i == 2 ? "Sigmoid" : "Relu", {net.Linear(y, w, b)});
  }
  OutputWithLabel(net, y, label);
}

void Append(std::vector<ModelGolden> more, std::vector<ModelGolden>& all) {
  for (ModelGolden& golden : more) all.push_back(std::move(golden));
}

}  // namespace

std::vector<ModelGolden> ModelGoldens() {
  std::vector<ModelGolden> all = {
      {"one_to_one", AddOneToOne},
      {"split_and_join", AddSplitAndJoin},
      {"split_axis2_split_number2", [](Network& n) { AddSplitRows(n, 2); }},
      {"split_axis2_split_number4", [](Network& n) { AddSplitRows(n, 4); }},
      {"fc_sgd", AddOneLinear, 1e-3f},
      {"fc_adam", AddOneLinear, 0.1f, /*adam=*/true},
      {"fc_unroll_single", [](Network& n) { AddUnrolledLinear(n, 1, 5); }},
      {"fc_unroll_stacked", [](Network& n) { AddUnrolledLinear(n, 2, 2); }},
      {"fc_unroll_stacked_clipped",
       [](Network& n) { AddUnrolledLinear(n, 2, 2); }, 0.1f, false, 1e-4f},
      {"matmul_operation",
       [](Network& n) { AddOperation(n, "MatMul", 2, true); }},
      {"multiply_operation",
       [](Network& n) { AddOperation(n, "Mul", 1, true); }},
      {"sine_operation", [](Network& n) { AddOperation(n, "Sin", 1, false); }},
      {"tangent_operation",
       [](Network& n) { AddOperation(n, "Tan", 1, false); }},
      {"reduce_sum_operation", AddReduceSum},
      {"non_trainable_fc_idx1", [](Network& n) { AddThreeLayers(n, 0); }},
      {"non_trainable_fc_idx2", [](Network& n) { AddThreeLayers(n, 1); }},
  };
  Append(CellGoldens(), all);
  Append(AttentionGoldens(), all);
  return all;
}

proto::TrainConfig ConfigOf(const ModelGolden& golden) {
  proto::TrainConfig config;
  config.set_format_version(1);
  if (golden.adam) {
    config.mutable_adam();
  } else {
    config.mutable_sgd();
  }
  config.mutable_schedule()->set_lr(golden.learning_rate);
  if (golden.clip_global_norm > 0) {
    config.set_clip_global_norm(golden.clip_global_norm);
  }
  return config;
}

}  // namespace reprise
