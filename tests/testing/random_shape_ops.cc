#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/random_ops.h"
#include "tests/testing/random_rules.h"

namespace reprise {
namespace {

using Dims = RandomPool::Dims;
using Tensor = RandomPool::Tensor;

// Indices of a parameter's rows, or of its elements.
Tensor IndexInput(RandomPool& g, const Dims& dims) {
  const proto::DType dtype =
      g.OneOf<proto::DType>({proto::INT32, proto::INT64});
  return g.Input(absl::StrCat("index", g.graph().input_size()), dtype, dims);
}

}  // namespace

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

void Expand(RandomPool& g) {
  const Tensor a = g.Parameter({1, g.Draw(1, 4)});
  const Dims dims = {g.batch(), a.dims[1]};
  g.Apply("Expand", {a}, dims).Ints("shape", dims);
}

}  // namespace reprise
