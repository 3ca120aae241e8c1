// Random cases of Attention.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/ops/layer_cases.h"
#include "tests/ops/op_cases.h"

namespace reprise {
namespace {

// Head, position and element of an operand of either rank.
double Element(const HostTensor& x, int64_t batch, int64_t head, int64_t heads,
               int64_t position, int64_t element) {
  if (x.type.rank() == 4) return At(x, {batch, head, position, element});
  const int64_t size = x.type.dims[2] / heads;
  return At(x, {batch, position, head * size + element});
}

HostTensors Defined(const HostTensors& in, const Attrs& attrs) {
  const bool packed = in[0].type.rank() == 3;
  const Dims& q = in[0].type.dims;
  const Dims& k = in[1].type.dims;
  const Dims& v = in[2].type.dims;
  const int64_t heads = packed ? attrs.Int("q_num_heads") : q[1];
  const int64_t kv_heads = packed ? attrs.Int("kv_num_heads") : k[1];
  const int64_t queries = packed ? q[1] : q[2];
  const int64_t keys = packed ? k[1] : k[2];
  const int64_t size = packed ? q[2] / heads : q[3];
  const int64_t v_size = packed ? v[2] / kv_heads : v[3];
  const double scale = attrs.Has("scale")
                           ? attrs.Float("scale")
                           : 1 / std::sqrt(static_cast<double>(size));
  const double cap = attrs.Float("softcap");
  const double none = -std::numeric_limits<double>::infinity();
  const auto weights = [&](int64_t b, int64_t h, int64_t i) {
    const int64_t kv_head = h / (heads / kv_heads);
    std::vector<double> w;
    double most = none;
    for (int64_t j = 0; j < keys; ++j) {
      double score = 0;
      for (int64_t e = 0; e < size; ++e) {
        score += Element(in[0], b, h, heads, i, e) *
                 Element(in[1], b, kv_head, kv_heads, j, e);
      }
      score *= scale;
      if (cap > 0) score = cap * std::tanh(score / cap);
      if (in.size() > 3) {
        const Dims& mask = in[3].type.dims;
        const Dims full = {b, h, i, j};
        Dims at(full.end() - static_cast<int64_t>(mask.size()), full.end());
        for (size_t a = 0; a < mask.size(); ++a) {
          if (mask[a] == 1) at[a] = 0;
        }
        const double m = At(in[3], at);
        if (in[3].type.dtype == DType::kBool) {
          if (m == 0) score = none;
        } else {
          score += m;
        }
      }
      if (attrs.Int("is_causal") != 0 && j > i) score = none;
      w.push_back(score);
      most = std::max(most, score);
    }
    double sum = 0;
    for (double& x : w) {
      x = most == none ? 0 : std::exp(x - most);
      sum += x;
    }
    for (double& x : w) x /= sum > 0 ? sum : 1;
    return w;
  };
  const auto y = [&](int64_t b, int64_t h, int64_t i, int64_t e) {
    const std::vector<double> w = weights(b, h, i);
    double sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      sum += w[j] * Element(in[2], b, h / (heads / kv_heads), kv_heads, j, e);
    }
    return sum;
  };
  if (!packed) {
    return {FromIndex(F32({q[0], heads, queries, v_size}), [&](const Dims& at) {
      return y(at[0], at[1], at[2], at[3]);
    })};
  }
  return {FromIndex(F32({q[0], queries, heads * v_size}), [&](const Dims& at) {
    return y(at[0], at[2] / v_size, at[1], at[2] % v_size);
  })};
}

}  // namespace

OpCase AttentionOf(std::vector<TensorType> in, Attrs attrs) {
  OpCase c;
  c.op = "Attention";
  c.in = std::move(in);
  c.attrs = std::move(attrs);
  c.ranges = {{-2, 2}, {-2, 2}, {-2, 2}, {-2, 2}};
  if (c.in.size() > 3 && c.in[3].dtype == DType::kBool) c.ranges[3] = {0, 2};
  c.tolerance = 1e-5;
  c.gradient_tolerance = 2e-4;
  c.definition = Defined;
  return c;
}

OpCase AttentionCase(CaseRandom& random) {
  const int64_t kv_heads = random.Int(1, 2);
  const int64_t heads = kv_heads * random.Int(1, 2);
  const int64_t batch = random.Int(1, 2);
  const int64_t queries = random.Int(1, 4);
  const int64_t keys = random.Int(1, 4);
  const int64_t size = random.Int(1, 3);
  const int64_t v_size = random.Int(1, 3);
  std::vector<TensorType> in;
  Attrs attrs;
  if (random.Bool()) {
    in = {F32({batch, queries, heads * size}),
          F32({batch, keys, kv_heads * size}),
          F32({batch, keys, kv_heads * v_size})};
    attrs.Set("q_num_heads", heads);
    attrs.Set("kv_num_heads", kv_heads);
  } else {
    in = {F32({batch, heads, queries, size}),
          F32({batch, kv_heads, keys, size}),
          F32({batch, kv_heads, keys, v_size})};
  }
  if (random.Bool()) attrs.Set("is_causal", random.Int(0, 1));
  if (random.Bool()) attrs.Set("scale", 0.7f);
  if (random.Int(0, 2) == 0) attrs.Set("softcap", 1.5f);
  if (random.Bool()) {
    Dims mask = {batch, heads, queries, keys};
    for (int i = 0; i < 3; ++i) {
      if (random.Int(0, 2) == 0) mask[i] = 1;
    }
    mask.erase(mask.begin(), mask.begin() + random.Int(0, 2));
    in.push_back({random.Bool() ? DType::kBool : DType::kF32, mask});
  }
  return AttentionOf(std::move(in), attrs);
}

}  // namespace reprise
