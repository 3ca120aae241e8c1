// Recurrent layers, and cells that are unrolled by hand: at each time step, a
// layer of a single step, whose results go on. A stack's next step begins with
// the output of the last one.

#include "tests/conformance/model_networks.h"

namespace reprise {
namespace {

using Value = BuilderValue;

constexpr int kSteps = 2;
constexpr int64_t kHidden = 2;

// One time step of a cell whose weights exist.
RecurrentResults Step(Network& net, const Recurrent& layer, const Value& x,
                      const CellWeights& cell, const Value& h, const Value& c) {
  const Value row = net.Reshape(x, {layer.batch, 1, layer.input});
  return AddRecurrent(net, layer, row, {cell}, h, c);
}

// The outputs [batch, hidden] of all steps, as [batch, steps, hidden].
void OutputSteps(Network& net, const Network::Values& steps, int64_t batch,
                 const Value& label) {
  Network::Values rows;
  for (const Value& step : steps) {
    rows.push_back(net.Reshape(step, {batch, 1, kHidden}));
  }
  const Value y = net.Concat(rows, 1);
  net.Output(y);
  net.MeanSquaredError(y, label);
}

// States that the file gives: h of each cell, or h and c of each in turn.
struct States {
  Network::Values h;
  Network::Values c;
};

States InputStates(Network& net, const Recurrent& layer, int cells) {
  States states;
  for (int i = 0; i < cells; ++i) {
    states.h.push_back(net.Input({layer.batch, layer.hidden}));
    states.c.push_back(
        layer.op == "LSTM" ? net.Input({layer.batch, layer.hidden}) : Value{});
  }
  return states;
}

// A cell's output may go through a linear layer, to the next step too.
void AddCells(Network& net, const std::string& op, int cells,
              bool linear = false) {
  Recurrent layer = {op, /*batch=*/3, /*steps=*/1, kHidden, kHidden};
  layer.reset_after = true;
  Value x = net.Input({layer.batch, layer.input});
  States states = InputStates(net, layer, cells);
  const Value label = net.Label({layer.batch, kSteps, layer.hidden});
  std::vector<CellWeights> weights;
  for (int i = 0; i < cells; ++i) {
    weights.push_back(AddCellWeights(net, layer));
  }
  Value w;
  Value b;
  if (linear) {
    w = net.Weight({layer.hidden, layer.hidden});
    b = net.Weight({layer.hidden});
  }
  Network::Values steps;
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < cells; ++i) {
      const RecurrentResults results =
          Step(net, layer, x, weights[i], states.h[i], states.c[i]);
      x = states.h[i] = results.h;
      states.c[i] = results.c;
    }
    if (linear) x = net.Linear(x, w, b);
    steps.push_back(x);
  }
  OutputSteps(net, steps, layer.batch, label);
}

// Layers of the operator LSTM, one over the other.
void AddLstmLayers(Network& net, int layers, bool bidirectional) {
  const int64_t directions = bidirectional ? 2 : 1;
  Recurrent layer = {"LSTM", /*batch=*/3, kSteps, kHidden, kHidden};
  Value x = net.Input({layer.batch, layer.steps, layer.input});
  const Value label =
      net.Label({layer.batch, layer.steps, directions * layer.hidden});
  for (int i = 0; i < layers; ++i) {
    std::vector<CellWeights> weights;
    for (int64_t d = 0; d < directions; ++d) {
      weights.push_back(AddCellWeights(net, layer));
    }
    x = AddRecurrent(net, layer, x, weights).y;
    layer.input = directions * layer.hidden;
  }
  net.Output(x);
  net.MeanSquaredError(x, label);
}

// before + mask (after - before): where the mask is 0, the state stays.
Value Zoneout(Network& net, const Value& before, const Value& after,
              const Value& mask) {
  return net.Add(
      "Add", {before, net.Add("Mul", {mask, net.Add("Sub", {after, before})})});
}

// LSTM cells whose states stay where masks in the file say so: [steps, hidden],
// 0 or 1, after the other parameters of each cell. The names end in the rates
// that the masks were drawn with.
void AddZoneout(Network& net, int cells) {
  const Recurrent layer = {"LSTM", /*batch=*/1, /*steps=*/1, kHidden, kHidden};
  Value x = net.Input({layer.batch, layer.input});
  States states = InputStates(net, layer, cells);
  const Value label = net.Label({layer.batch, kSteps, layer.hidden});
  std::vector<CellWeights> weights;
  std::vector<Network::Values> h_masks;
  std::vector<Network::Values> c_masks;
  for (int i = 0; i < cells; ++i) {
    weights.push_back(AddCellWeights(net, layer));
    const Value h_mask = net.FrozenWeight({kSteps, layer.hidden});
    const Value c_mask = net.FrozenWeight({kSteps, layer.hidden});
    h_masks.push_back(net.Split(h_mask, 0, kSteps));
    c_masks.push_back(net.Split(c_mask, 0, kSteps));
  }
  Network::Values steps;
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < cells; ++i) {
      const RecurrentResults results =
          Step(net, layer, x, weights[i], states.h[i], states.c[i]);
      x = states.h[i] = Zoneout(net, states.h[i], results.h, h_masks[i][step]);
      states.c[i] = Zoneout(net, states.c[i], results.c, c_masks[i][step]);
    }
    steps.push_back(x);
  }
  OutputSteps(net, steps, layer.batch, label);
}

}  // namespace

std::vector<ModelGolden> CellGoldens() {
  std::vector<ModelGolden> all = {
      {"rnncell_single", [](Network& n) { AddCells(n, "RNN", 1); }},
      {"rnncell_stacked", [](Network& n) { AddCells(n, "RNN", 2); }},
      {"grucell_single", [](Network& n) { AddCells(n, "GRU", 1); }},
      {"grucell_fc",
       [](Network& n) { AddCells(n, "GRU", 1, /*linear=*/true); }},
      {"lstmcell_single", [](Network& n) { AddCells(n, "LSTM", 1); }},
      {"lstmcell_stacked", [](Network& n) { AddCells(n, "LSTM", 2); }},
      {"lstm_stacked", [](Network& n) { AddLstmLayers(n, 2, false); }},
      {"bidirectional_lstm_single",
       [](Network& n) { AddLstmLayers(n, 1, true); }},
      {"bidirectional_lstm_stacked",
       [](Network& n) { AddLstmLayers(n, 2, true); }},
  };
  for (const char* rates :
       {"000_000", "000_050", "050_000", "050_100", "100_000", "100_050"}) {
    all.push_back({std::string("zoneout_lstm_single_") + rates,
                   [](Network& n) { AddZoneout(n, 1); }});
  }
  for (const char* rates : {"000_050", "000_100", "050_050", "050_100",
                            "100_000", "100_050", "100_100"}) {
    all.push_back({std::string("zoneout_lstm_stacked_") + rates,
                   [](Network& n) { AddZoneout(n, 2); }});
  }
  return all;
}

}  // namespace reprise
