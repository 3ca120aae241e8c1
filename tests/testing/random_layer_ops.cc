#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/testing/random_rules.h"

namespace reprise {
namespace {

using Dims = RandomPool::Dims;
using Tensor = RandomPool::Tensor;

Tensor NewState(RandomPool& g, const std::string& name, int64_t n,
                float content, const std::string& next) {
  proto::State& state = *g.graph().add_state();
  state.set_name(name);
  g.SetType(*state.mutable_type(), proto::FLOAT32, {n});
  state.mutable_initializer()->set_constant(content);
  state.set_next(next);
  return {name, {n}};
}

}  // namespace

void MatMul(RandomPool& g) {
  const Tensor a = g.OfRank(g.OneOf<size_t>({2, 3, 4}));
  const int64_t n = g.Draw(1, 6);
  const std::string name = g.Name();
  Dims dims = a.dims;
  dims.back() = n;
  const Tensor b = a.dims.size() == 3 && g.Chance(0.3)
                       ? g.Parameter({a.dims[0], a.dims.back(), n})
                       : g.Parameter({a.dims.back(), n});
  g.Node("MatMul", {a, b}, {name});
  g.Apply(g.Chance(0.5) ? "Relu" : "Tanh", {{name, dims}}, dims);
}

void Gemm(RandomPool& g) {
  const Tensor a = g.OfRank(2);
  const int64_t n = g.Draw(1, 6);
  const bool transpose = g.Chance(0.5);
  const Tensor b =
      transpose ? g.Parameter({n, a.dims[1]}) : g.Parameter({a.dims[1], n});
  std::vector<Tensor> in = {a, b};
  if (g.Chance(0.7))
    in.push_back(g.Parameter(g.OneOf<Dims>({{n}, {1, n}, {1}})));
  const std::string name = g.Name();
  g.Node("Gemm", in, {name}).Int("transB", transpose ? 1 : 0);
  const Dims dims = {a.dims[0], n};
  g.Apply(g.Chance(0.6) ? "Relu" : "Sigmoid", {{name, dims}}, dims);
}

void Conv(RandomPool& g) {
  const Tensor a = g.OfRank(4);
  const int64_t groups = g.Chance(0.3) ? a.dims[1] : 1;
  const int64_t out = groups * g.Draw(1, 3);
  const int64_t kernel =
      g.Draw(1, std::min<int64_t>(3, std::min(a.dims[2], a.dims[3])));
  const int64_t stride = g.Draw(1, 2);
  const int64_t pad = kernel / 2;
  std::vector<Tensor> in = {
      a, g.Parameter({out, a.dims[1] / groups, kernel, kernel})};
  if (g.Chance(0.5)) in.push_back(g.Parameter({out}));
  const auto size = [&](int64_t d) {
    return (d + 2 * pad - kernel) / stride + 1;
  };
  const Dims dims = {a.dims[0], out, size(a.dims[2]), size(a.dims[3])};
  const std::string name = g.Name();
  g.Node("Conv", in, {name})
      .Ints("strides", {stride, stride})
      .Ints("pads", {pad, pad, pad, pad})
      .Int("group", groups);
  g.Apply(g.Chance(0.5) ? "Relu" : "Tanh", {{name, dims}}, dims);
}

void Pool(RandomPool& g, const std::string& op) {
  const Tensor a = g.OfRank(4);
  const int64_t kernel =
      std::min<int64_t>(g.Draw(1, 3), std::min(a.dims[2], a.dims[3]));
  // With ceil_mode the rest of an axis is a window too.
  const bool ceil = g.Chance(0.3);
  const auto size = [&](int64_t d) {
    return (d - kernel + (ceil ? kernel - 1 : 0)) / kernel + 1;
  };
  g.Apply(op, {a}, {a.dims[0], a.dims[1], size(a.dims[2]), size(a.dims[3])})
      .Ints("kernel_shape", {kernel, kernel})
      .Ints("strides", {kernel, kernel})
      .Int("ceil_mode", ceil ? 1 : 0);
}

void DilatedPool(RandomPool& g, const std::string& op) {
  const Tensor a = g.OfRank(4);
  if (a.dims[2] < 3 || a.dims[3] < 3) return;
  // Two elements, the one between them left out.
  g.Apply(op, {a}, {a.dims[0], a.dims[1], a.dims[2] - 2, a.dims[3] - 2})
      .Ints("kernel_shape", {2, 2})
      .Ints("dilations", {2, 2});
}

void GlobalPool(RandomPool& g, const std::string& op) {
  const Tensor a = g.OfRank(4);
  g.Apply(op, {a}, {a.dims[0], a.dims[1], 1, 1});
}

void BatchNormalization(RandomPool& g) {
  const Tensor a = g.OfRank(g.OneOf<size_t>({2, 4}));
  const int64_t c = a.dims[1];
  const std::string name = g.Name();
  const Tensor mean = NewState(g, name + ".mean", c, 0, name + ".mean_next");
  const Tensor var = NewState(g, name + ".var", c, 1, name + ".var_next");
  // Statistics of few equal elements have a tiny variance: a large epsilon
  // keeps gradients of order one.
  g.Node("BatchNormalization",
         {a, g.Parameter({c}, 0.5f, 1.5f), g.Parameter({c}), mean, var},
         {name, name + ".mean_next", name + ".var_next"})
      .Int("training_mode", 1)
      .Float("epsilon", 0.1f);
  g.Keep({name, a.dims});
}

void LayerNormalization(RandomPool& g) {
  const Tensor a = g.Any();
  if (a.dims.empty()) return;
  std::vector<Tensor> in = {a, g.Parameter({a.dims.back()}, 0.5f, 1.5f)};
  if (g.Chance(0.7)) in.push_back(g.Parameter({a.dims.back()}));
  g.Apply("LayerNormalization", in, a.dims)
      .Int("axis", -1)
      .Float("epsilon", 0.1f);
}

void Softmax(RandomPool& g, const std::string& op) {
  const Tensor a = g.Any();
  if (a.dims.empty()) return;
  const int64_t axis = g.Axis(a);
  if (op == "Softmax") {
    g.Apply(op, {a}, a.dims).Int("axis", axis);
    return;
  }
  const std::string name = g.Name();
  g.Node(op, {a}, {name}).Int("axis", axis);
  g.Apply("Tanh", {{name, a.dims}}, a.dims);
}

void Dropout(RandomPool& g) {
  const Tensor a = g.Any();
  g.Apply("Dropout", {a}, a.dims).Float("ratio", 0.3f);
}

void ConvTranspose(RandomPool& g) {
  const Tensor a = g.OfRank(4);
  const int64_t out = g.Draw(1, 3);
  const int64_t stride = g.Draw(1, 2);
  const int64_t more = g.Draw(0, stride);
  const auto size = [&](int64_t d) { return stride * (d - 1) + 2 + more; };
  const Dims dims = {a.dims[0], out, size(a.dims[2]), size(a.dims[3])};
  if (RandomPool::Count(dims) > 2000) return;
  std::vector<Tensor> in = {a, g.Parameter({a.dims[1], out, 2, 2})};
  if (g.Chance(0.5)) in.push_back(g.Parameter({out}));
  const std::string name = g.Name();
  g.Node("ConvTranspose", in, {name})
      .Ints("strides", {stride, stride})
      .Ints("output_padding", {more, more});
  g.Apply("Tanh", {{name, dims}}, dims);
}

void Resize(RandomPool& g) {
  const Tensor a = g.OfRank(4);
  const Dims dims = {a.dims[0], a.dims[1], g.Draw(1, 8), g.Draw(1, 8)};
  if (RandomPool::Count(dims) > 2000) return;
  g.Apply("Resize", {a}, dims)
      .Ints("sizes", {dims[2], dims[3]})
      .Ints("axes", {2, 3})
      .Int("antialias", g.Draw(0, 1))
      .String("mode", g.OneOf<std::string>({"nearest", "linear", "cubic"}));
}

void Einsum(RandomPool& g) {
  const Tensor a = g.OfRank(3);
  const int64_t n = g.Draw(1, 4);
  const bool sum = g.Chance(0.5);
  g.ApplyBounded("Einsum", {a, g.Parameter({a.dims[1], a.dims[2], n})},
                 sum ? Dims{a.dims[0], n} : Dims{a.dims[0], n, a.dims[1]})
      .String("equation", sum ? "bij,ijn->bn" : "...ij,ijn->...ni");
}

void Attention(RandomPool& g) {
  const Tensor a = g.OfRank(3);
  const int64_t heads = a.dims[2] % 2 == 0 ? 2 : 1;
  g.Apply("Attention", {a, a, a}, a.dims)
      .Int("q_num_heads", heads)
      .Int("kv_num_heads", heads)
      .Int("is_causal", g.Draw(0, 1));
}

void Recurrent(RandomPool& g, const std::string& op, int64_t gates) {
  const Tensor a = g.OfRank(3);  // [batch, time, input]
  const int64_t hidden = g.Draw(1, 3);
  const bool both = g.Chance(0.3);
  const int64_t d = both ? 2 : 1;
  const std::string name = g.Name();
  g.Node(op,
         {a, g.Parameter({d, gates * hidden, a.dims[2]}),
          g.Parameter({d, gates * hidden, hidden}),
          g.Parameter({d, 2 * gates * hidden})},
         {name})
      .Int("hidden_size", hidden)
      .Int("layout", 1)
      .String("direction", both ? "bidirectional" : "reverse");
  const Dims dims = {a.dims[0], a.dims[1], d * hidden};
  g.Apply("Reshape", {{name, {}}}, dims).Ints("shape", dims);
}

}  // namespace reprise
