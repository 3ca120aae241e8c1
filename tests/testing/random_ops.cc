#include "tests/testing/random_ops.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/random_rules.h"

namespace reprise {
namespace {

using Dims = RandomPool::Dims;
using Tensor = RandomPool::Tensor;

Dims Broadcast(Dims a, const Dims& b) {
  const size_t lead = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    a[lead + i] = std::max(a[lead + i], b[i]);
  }
  return a;
}

void Unary(RandomPool& g, const std::string& op) {
  const Tensor a = g.Any();
  g.Apply(op, {a}, a.dims);
}

void Binary(RandomPool& g, const std::string& op) {
  Tensor a = g.Any();
  Tensor b = g.Partner(a);
  if (op != "Div" && g.Chance(0.5)) std::swap(a, b);
  if (op == "Div") b = g.Positive(b);
  const Dims dims = a.dims.size() >= b.dims.size() && a.dims != Dims{}
                        ? Broadcast(a.dims, b.dims)
                        : Broadcast(b.dims, a.dims);
  g.ApplyBounded(op, {a, b}, dims);
}

void Reduce(RandomPool& g, const std::string& op) {
  const Tensor a = g.Any();
  const bool keep = g.Chance(0.5);
  Dims axes;
  Dims dims;
  for (size_t i = 0; i < a.dims.size(); ++i) {
    // The batch stays, so that the pool keeps values of some size.
    if (i > 0 && g.Chance(0.5)) {
      axes.push_back(static_cast<int64_t>(i));
      if (keep) dims.push_back(1);
    } else {
      dims.push_back(a.dims[i]);
    }
  }
  if (axes.empty()) return;
  const std::string name = g.Name();
  g.Node(op, {a}, {name}).Ints("axes", axes).Int("keepdims", keep ? 1 : 0);
  g.Apply("Tanh", {{name, dims}}, dims);
}

void CumSum(RandomPool& g) {
  const Tensor a = g.Any();
  if (a.dims.empty()) return;
  g.ApplyBounded("CumSum", {a}, a.dims)
      .Int("axis", g.Axis(a))
      .Int("exclusive", g.Draw(0, 1))
      .Int("reverse", g.Draw(0, 1));
}

void Cast(RandomPool& g) {
  const Tensor a = g.Any();
  g.Apply("Cast", {a}, a.dims).Type("to", proto::FLOAT32);
}

void Logarithm(RandomPool& g) {
  const Tensor a = g.Positive(g.Any());
  g.Apply("Log", {a}, a.dims);
}

void SquareRoot(RandomPool& g) {
  const Tensor a = g.Positive(g.Any());
  g.Apply("Sqrt", {a}, a.dims);
}

void Power(RandomPool& g) {
  const Tensor a = g.Positive(g.Any());
  g.ApplyBounded("Pow", {a, g.Parameter({}, 0.5f, 1.5f)}, a.dims);
}

void Exponential(RandomPool& g) {
  const Tensor a = g.Any();
  g.ApplyBounded("Exp", {a}, a.dims);
}

// What a seed draws depends on their order.
std::vector<RandomRule> Rules() {
  std::vector<RandomRule> rules = {
      [](RandomPool& g) { Binary(g, "Add"); },
      [](RandomPool& g) { Binary(g, "Sub"); },
      [](RandomPool& g) { Binary(g, "Mul"); },
      [](RandomPool& g) { Binary(g, "Div"); },
      [](RandomPool& g) { Unary(g, "Neg"); },
      [](RandomPool& g) { Unary(g, "Square"); },
      [](RandomPool& g) { Unary(g, "Relu"); },
      [](RandomPool& g) { Unary(g, "LeakyRelu"); },
      [](RandomPool& g) { Unary(g, "Elu"); },
      [](RandomPool& g) { Unary(g, "Sigmoid"); },
      [](RandomPool& g) { Unary(g, "Tanh"); },
      [](RandomPool& g) { Unary(g, "Gelu"); },
      [](RandomPool& g) { Unary(g, "Identity"); },
      [](RandomPool& g) { Exponential(g); },
      [](RandomPool& g) { Logarithm(g); },
      [](RandomPool& g) { SquareRoot(g); },
      [](RandomPool& g) { Power(g); },
      [](RandomPool& g) { Reduce(g, "ReduceSum"); },
      [](RandomPool& g) { Reduce(g, "ReduceMean"); },
      [](RandomPool& g) { Reduce(g, "ReduceMax"); },
      [](RandomPool& g) { MatMul(g); },
      [](RandomPool& g) { Gemm(g); },
      [](RandomPool& g) { Conv(g); },
      [](RandomPool& g) { Pool(g, "MaxPool"); },
      [](RandomPool& g) { Pool(g, "AveragePool"); },
      [](RandomPool& g) { DilatedPool(g, "MaxPool"); },
      [](RandomPool& g) { DilatedPool(g, "AveragePool"); },
      [](RandomPool& g) { Pool(g, "LpPool"); },
      [](RandomPool& g) { GlobalPool(g, "GlobalAveragePool"); },
      [](RandomPool& g) { GlobalPool(g, "GlobalMaxPool"); },
      [](RandomPool& g) { BatchNormalization(g); },
      [](RandomPool& g) { LayerNormalization(g); },
      [](RandomPool& g) { Softmax(g, "Softmax"); },
      [](RandomPool& g) { Softmax(g, "LogSoftmax"); },
      [](RandomPool& g) { Dropout(g); },
      [](RandomPool& g) { Reshape(g); },
      [](RandomPool& g) { Flatten(g); },
      [](RandomPool& g) { Unsqueeze(g); },
      [](RandomPool& g) { Squeeze(g); },
      [](RandomPool& g) { Transpose(g); },
      [](RandomPool& g) { Concat(g); },
      [](RandomPool& g) { Split(g); },
      [](RandomPool& g) { Slice(g); },
      [](RandomPool& g) { Gather(g); },
      [](RandomPool& g) { GatherByElements(g); },
      [](RandomPool& g) { GatherRows(g); },
      [](RandomPool& g) { ScatterByElements(g); },
      [](RandomPool& g) { ScatterRows(g); },
      [](RandomPool& g) { ArgExtreme(g, "ArgMax"); },
      [](RandomPool& g) { ArgExtreme(g, "ArgMin"); },
      [](RandomPool& g) { TopK(g); },
      [](RandomPool& g) { CumSum(g); },
      [](RandomPool& g) { Resize(g); },
      [](RandomPool& g) { Einsum(g); },
      [](RandomPool& g) { Attention(g); },
      [](RandomPool& g) { Recurrent(g, "RNN", 1); },
      [](RandomPool& g) { Recurrent(g, "GRU", 3); },
      [](RandomPool& g) { Recurrent(g, "LSTM", 4); },
      [](RandomPool& g) { ConvTranspose(g); },
      [](RandomPool& g) { Pad(g); },
      [](RandomPool& g) { Tile(g); },
      [](RandomPool& g) { SpaceToDepth(g); },
      [](RandomPool& g) { Trilu(g); },
      [](RandomPool& g) { Expand(g); },
      [](RandomPool& g) { Cast(g); },
  };
  for (const RandomRule rule : MathRules()) rules.push_back(rule);
  return rules;
}

}  // namespace

void AddRandomOp(RandomPool& pool) { pool.OneOf(Rules())(pool); }

}  // namespace reprise
