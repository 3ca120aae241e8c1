#include "tests/testing/random_ops.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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

Tensor NewState(RandomPool& g, const std::string& name, int64_t n,
                float content, const std::string& next) {
  proto::State& state = *g.graph().add_state();
  state.set_name(name);
  g.SetType(*state.mutable_type(), proto::FLOAT32, {n});
  state.mutable_initializer()->set_constant(content);
  state.set_next(next);
  return {name, {n}};
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

void Reshape(RandomPool& g) {
  const Tensor a = g.Any();
  if (a.dims.empty()) return;
  const Dims dims = {a.dims[0], RandomPool::Count(a.dims) / a.dims[0]};
  g.Apply("Reshape", {a}, dims).Ints("shape", dims);
}

void Flatten(RandomPool& g) {
  const Tensor a = g.OfRank(4);
  g.Apply("Flatten", {a}, {a.dims[0], RandomPool::Count(a.dims) / a.dims[0]})
      .Int("axis", 1);
}

void Unsqueeze(RandomPool& g) {
  const Tensor a = g.Any();
  if (a.dims.size() > 3) return;
  Dims dims = a.dims;
  const int64_t axis = g.Draw(0, static_cast<int64_t>(a.dims.size()));
  dims.insert(dims.begin() + axis, 1);
  g.Apply("Unsqueeze", {a}, dims).Ints("axes", {axis});
}

void Squeeze(RandomPool& g) {
  for (const Tensor& a : std::vector<Tensor>(g.values())) {
    for (size_t i = 1; i < a.dims.size(); ++i) {
      if (a.dims[i] != 1) continue;
      Dims dims = a.dims;
      dims.erase(dims.begin() + i);
      g.Apply("Squeeze", {a}, dims).Ints("axes", {static_cast<int64_t>(i)});
      return;
    }
  }
}

void Transpose(RandomPool& g) {
  const Tensor a = g.Any();
  if (a.dims.size() < 2) return;
  Dims perm(a.dims.size());
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
  std::shuffle(perm.begin() + 1, perm.end(), g.random());
  Dims dims;
  for (const int64_t p : perm) dims.push_back(a.dims[p]);
  g.Apply("Transpose", {a}, dims).Ints("perm", perm);
}

void Concat(RandomPool& g) {
  const Tensor a = g.Any();
  if (a.dims.size() < 2) return;
  const size_t axis = g.Draw(1, static_cast<int64_t>(a.dims.size()) - 1);
  Dims extra = a.dims;
  extra[axis] = g.Draw(1, 3);
  Dims dims = a.dims;
  dims[axis] = 2 * a.dims[axis] + extra[axis];
  if (RandomPool::Count(dims) > 2000) return;
  g.Apply("Concat", {a, g.Parameter(extra), a}, dims)
      .Int("axis", static_cast<int64_t>(axis));
}

void Split(RandomPool& g) {
  const Tensor a = g.Any();
  for (size_t axis = 1; axis < a.dims.size(); ++axis) {
    if (a.dims[axis] < 2) continue;
    const int64_t first = g.Draw(1, a.dims[axis] - 1);
    const std::string one = g.Name();
    const std::string two = g.Name();
    g.Node("Split", {a}, {one, two})
        .Int("axis", static_cast<int64_t>(axis))
        .Ints("split", {first, a.dims[axis] - first});
    Dims dims = a.dims;
    dims[axis] = first;
    g.Keep({one, dims});
    dims[axis] = a.dims[axis] - first;
    g.Keep({two, dims});
    return;
  }
}

void Slice(RandomPool& g) {
  const Tensor a = g.Any();
  for (size_t axis = 1; axis < a.dims.size(); ++axis) {
    if (a.dims[axis] < 2) continue;
    const int64_t start = g.Draw(0, a.dims[axis] - 2);
    const int64_t step = g.Draw(1, 2);
    Dims dims = a.dims;
    dims[axis] = (a.dims[axis] - start + step - 1) / step;
    g.Apply("Slice", {a}, dims)
        .Ints("starts", {start})
        .Ints("ends", {a.dims[axis]})
        .Ints("axes", {static_cast<int64_t>(axis)})
        .Ints("steps", {step});
    return;
  }
}

void Gather(RandomPool& g) {
  const proto::DType dtype =
      g.OneOf<proto::DType>({proto::INT32, proto::INT64});
  const Tensor indices = g.Input(absl::StrCat("index", g.graph().input_size()),
                                 dtype, {g.batch(), 2});
  const int64_t n = g.Draw(1, 4);
  g.Apply("Gather", {g.Parameter({kIndexLimit, n}), indices}, {g.batch(), 2, n})
      .Int("axis", 0);
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

void Pad(RandomPool& g) {
  const Tensor a = g.Any();
  Dims pads(2 * a.dims.size(), 0);
  Dims dims = a.dims;
  for (size_t i = 1; i < dims.size(); ++i) {
    pads[i] = g.Draw(dims[i] > 1 ? -1 : 0, 2);
    pads[i + dims.size()] = g.Draw(0, 2);
    dims[i] += pads[i] + pads[i + dims.size()];
  }
  if (dims.empty() || RandomPool::Count(dims) > 2000) return;
  g.Apply("Pad", {a}, dims)
      .Ints("pads", pads)
      .String("mode",
              g.OneOf<std::string>({"constant", "reflect", "edge", "wrap"}));
}

void Tile(RandomPool& g) {
  const Tensor a = g.Any();
  Dims repeats(a.dims.size(), 1);
  Dims dims = a.dims;
  for (size_t i = 1; i < dims.size(); ++i) {
    repeats[i] = g.Draw(1, 2);
    dims[i] *= repeats[i];
  }
  if (dims.empty() || RandomPool::Count(dims) > 2000) return;
  g.Apply("Tile", {a}, dims).Ints("repeats", repeats);
}

// Pixels into channels, and back.
void SpaceToDepth(RandomPool& g) {
  const Tensor a = g.OfRank(4);
  Dims dims = a.dims;
  if (dims[2] % 2 == 0 && dims[3] % 2 == 0) {
    dims = {dims[0], dims[1] * 4, dims[2] / 2, dims[3] / 2};
    g.Apply("SpaceToDepth", {a}, dims).Int("blocksize", 2);
  }
  if (dims[1] % 4 != 0) return;
  const Tensor deep = dims == a.dims ? a : g.values().back();
  dims = {dims[0], dims[1] / 4, dims[2] * 2, dims[3] * 2};
  g.Apply("DepthToSpace", {deep}, dims)
      .Int("blocksize", 2)
      .String("mode", g.Chance(0.5) ? "DCR" : "CRD");
}

void Trilu(RandomPool& g) {
  const Tensor a = g.Any();
  if (a.dims.size() < 2) return;
  g.Apply("Trilu", {a}, a.dims)
      .Int("upper", g.Draw(0, 1))
      .Int("k", g.Draw(-1, 1));
}

// Indices of a parameter's rows, or of its elements.
Tensor IndexInput(RandomPool& g, const Dims& dims) {
  const proto::DType dtype =
      g.OneOf<proto::DType>({proto::INT32, proto::INT64});
  return g.Input(absl::StrCat("index", g.graph().input_size()), dtype, dims);
}

void GatherByElements(RandomPool& g) {
  const int64_t n = g.Draw(1, 4);
  const Tensor indices = IndexInput(g, {g.batch(), n});
  g.Apply("GatherElements", {g.Parameter({g.batch(), kIndexLimit}), indices},
          {g.batch(), n})
      .Int("axis", 1);
}

void GatherRows(RandomPool& g) {
  const int64_t n = g.Draw(1, 4);
  const Tensor indices = IndexInput(g, {g.batch(), 1});
  g.Apply("GatherND", {g.Parameter({kIndexLimit, n}), indices}, {g.batch(), n});
}

void ScatterByElements(RandomPool& g) {
  const Tensor indices = IndexInput(g, {g.batch(), 3});
  g.ApplyBounded("ScatterElements",
                 {g.Parameter({g.batch(), kIndexLimit}), indices,
                  g.Parameter({g.batch(), 3})},
                 {g.batch(), kIndexLimit})
      .Int("axis", 1)
      .String("reduction", g.OneOf<std::string>({"none", "add", "mul", "max"}));
}

void ScatterRows(RandomPool& g) {
  const int64_t n = g.Draw(1, 4);
  const Tensor indices = IndexInput(g, {g.batch(), 1});
  g.ApplyBounded(
       "ScatterND",
       {g.Parameter({kIndexLimit, n}), indices, g.Parameter({g.batch(), n})},
       {kIndexLimit, n})
      .String("reduction", g.OneOf<std::string>({"none", "add", "mul", "min"}));
}

// Positions, which only an index takes.
void ArgExtreme(RandomPool& g, const std::string& op) {
  const Tensor a = g.OfRank(2);
  const std::string name = g.Name();
  g.Node(op, {a}, {name}).Int("axis", 1).Int("keepdims", 0);
  g.Apply("OneHot", {{name, {a.dims[0]}}, g.Parameter({2})}, a.dims)
      .Int("depth", a.dims[1]);
}

void TopK(RandomPool& g) {
  const Tensor a = g.Any();
  if (a.dims.size() < 2) return;
  const size_t axis = g.Draw(1, static_cast<int64_t>(a.dims.size()) - 1);
  Dims dims = a.dims;
  dims[axis] = g.Draw(1, a.dims[axis]);
  g.Apply("TopK", {a}, dims)
      .Int("axis", static_cast<int64_t>(axis))
      .Int("k", dims[axis])
      .Int("largest", g.Draw(0, 1));
}

void CumSum(RandomPool& g) {
  const Tensor a = g.Any();
  if (a.dims.empty()) return;
  g.ApplyBounded("CumSum", {a}, a.dims)
      .Int("axis", g.Axis(a))
      .Int("exclusive", g.Draw(0, 1))
      .Int("reverse", g.Draw(0, 1));
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

void Expand(RandomPool& g) {
  const Tensor a = g.Parameter({1, g.Draw(1, 4)});
  const Dims dims = {g.batch(), a.dims[1]};
  g.Apply("Expand", {a}, dims).Ints("shape", dims);
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
