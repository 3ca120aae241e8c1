// Random cases of convolutions and poolings.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor_type.h"
#include "tests/ops/layer_cases.h"
#include "tests/ops/op_cases.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

// ONNX's Conv, pads resolved.
HostTensors ConvDefinition(const HostTensors& in, const Attrs& attrs) {
  const Dims& x = in[0].type.dims;
  const Dims& w = in[1].type.dims;
  const size_t rank = x.size() - 2;
  const auto list = [&](const char* name, size_t i, int64_t otherwise) {
    return attrs.Has(name) ? attrs.IntList(name)[i] : otherwise;
  };
  const std::string& auto_pad = attrs.String("auto_pad");
  Dims y = {x[0], w[0]};
  Dims pads(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t stride = list("strides", i, 1);
    const int64_t span = (w[i + 2] - 1) * list("dilations", i, 1) + 1;
    int64_t padding = list("pads", i, 0) + list("pads", rank + i, 0);
    pads[i] = list("pads", i, 0);
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      const int64_t out = (x[i + 2] + stride - 1) / stride;
      padding = std::max<int64_t>(0, (out - 1) * stride + span - x[i + 2]);
      pads[i] = auto_pad == "SAME_UPPER" ? padding / 2 : (padding + 1) / 2;
    }
    y.push_back((x[i + 2] + padding - span) / stride + 1);
  }
  const int64_t per_group = w[0] / attrs.Int("group");
  return {FromIndex({DType::kF32, y}, [&](const Dims& at) {
    double sum = in.size() > 2 ? At(in[2], {at[1]}) : 0.0;
    ForEachIndex(Dims(w.begin() + 1, w.end()), [&](const Dims& k) {
      Dims w_at = {at[1]};
      w_at.insert(w_at.end(), k.begin(), k.end());
      Dims x_at = {at[0], at[1] / per_group * w[1] + k[0]};
      for (size_t i = 0; i < rank; ++i) {
        x_at.push_back(at[i + 2] * list("strides", i, 1) - pads[i] +
                       k[i + 1] * list("dilations", i, 1));
        if (x_at.back() < 0 || x_at.back() >= x[i + 2]) return;
      }
      sum += At(in[1], w_at) * At(in[0], x_at);
    });
    return sum;
  })};
}

// The three operators; the global one is a window of everything.
HostTensors Pool(const std::string& op, const HostTensors& in,
                 const Attrs& attrs) {
  const Dims& x = in[0].type.dims;
  const size_t rank = x.size() - 2;
  const auto list = [&](const char* name, size_t i, int64_t otherwise) {
    return attrs.Has(name) ? attrs.IntList(name)[i] : otherwise;
  };
  Dims kernel;
  Dims y = {x[0], x[1]};
  for (size_t i = 0; i < rank; ++i) {
    kernel.push_back(list("kernel_shape", i, x[i + 2]));
    const int64_t span = (kernel[i] - 1) * list("dilations", i, 1) + 1;
    const int64_t padded =
        x[i + 2] + list("pads", i, 0) + list("pads", rank + i, 0);
    y.push_back((padded - span) / list("strides", i, 1) + 1);
  }
  const bool counts_padding =
      attrs.Has("count_include_pad") && attrs.Int("count_include_pad") != 0;
  return {FromIndex({DType::kF32, y}, [&](const Dims& at) {
    double largest = -std::numeric_limits<double>::infinity();
    double sum = 0;
    double count = 0;
    ForEachIndex(kernel, [&](const Dims& k) {
      Dims x_at = {at[0], at[1]};
      bool inside = true;
      for (size_t i = 0; i < rank; ++i) {
        x_at.push_back(at[i + 2] * list("strides", i, 1) - list("pads", i, 0) +
                       k[i] * list("dilations", i, 1));
        inside = inside && x_at.back() >= 0 && x_at.back() < x[i + 2];
      }
      if (!inside) return;
      largest = std::max(largest, At(in[0], x_at));
      sum += At(in[0], x_at);
      count += 1;
    });
    if (op == "MaxPool") return largest;
    return sum /
           (counts_padding ? static_cast<double>(Product(kernel)) : count);
  })};
}

// A window with random strides, dilations and pads over `rank` axes of sizes
// that it fits.
struct RandomWindow {
  Dims spatial;
  Dims kernel;
  Attrs attrs;
};

RandomWindow WindowCase(CaseRandom& random, int rank, int64_t most_dilation) {
  RandomWindow window;
  Ints strides;
  Ints dilations;
  Ints pads(2 * static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) {
    window.kernel.push_back(random.Int(1, 3));
    strides.push_back(random.Int(1, 2));
    dilations.push_back(random.Int(1, most_dilation));
    const int64_t span = (window.kernel[i] - 1) * dilations[i] + 1;
    pads[i] = random.Int(0, span - 1);
    pads[i + rank] = random.Int(0, span - 1);
    window.spatial.push_back(span + random.Int(0, 4));
  }
  window.attrs = {{"strides", strides}, {"dilations", dilations}};
  const int padding = static_cast<int>(random.Int(0, 4));
  if (padding == 1) window.attrs.Set("auto_pad", std::string("SAME_UPPER"));
  if (padding == 2) window.attrs.Set("auto_pad", std::string("VALID"));
  if (padding > 2) window.attrs.Set("pads", pads);
  return window;
}

Dims Joined(Dims front, const Dims& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

OpCase RandomPool(CaseRandom& random, const std::string& op) {
  const int rank = static_cast<int>(random.Int(1, 3));
  // oneDNN pools with dilation by its reference code only.
  RandomWindow window = WindowCase(random, rank, /*most_dilation=*/1);
  window.attrs.Set("kernel_shape", window.kernel);
  if (op == "AveragePool" && random.Bool()) {
    window.attrs.Set("count_include_pad", int64_t{1});
  }
  return PoolOf(op,
                Joined({random.Int(0, 3), random.Int(1, 20)}, window.spatial),
                window.attrs);
}

}  // namespace

OpCase ConvOf(Dims x, Dims w, Attrs attrs, bool bias) {
  OpCase c;
  c.op = "Conv";
  const int64_t filters = w[0];
  c.in = {F32(std::move(x)), F32(std::move(w))};
  if (bias) c.in.push_back(F32({filters}));
  c.attrs = std::move(attrs);
  c.definition = ConvDefinition;
  // Up to 200 terms below 4, summed in float in another order.
  c.tolerance = 5e-5;
  c.gradient_tolerance = 3e-4;
  return c;
}

OpCase PoolOf(const std::string& op, Dims x, Attrs attrs) {
  OpCase c;
  c.op = op;
  c.in = {F32(std::move(x))};
  c.attrs = std::move(attrs);
  c.definition = [op](const HostTensors& in, const Attrs& a) {
    return Pool(op, in, a);
  };
  return c;
}

OpCase ConvCase(CaseRandom& random) {
  const int rank = static_cast<int>(random.Int(1, 3));
  RandomWindow window = WindowCase(random, rank, /*most_dilation=*/2);
  const int64_t group = random.Pick<int64_t>({1, 1, 2, 5});
  const int64_t channels = random.Int(1, 3);
  const int64_t filters = group * random.Int(1, 3);
  window.attrs.Set("group", group);
  return ConvOf(Joined({random.Int(0, 2), group * channels}, window.spatial),
                Joined({filters, channels}, window.kernel), window.attrs,
                random.Bool());
}

OpCase MaxPoolCase(CaseRandom& random) { return RandomPool(random, "MaxPool"); }

OpCase AveragePoolCase(CaseRandom& random) {
  return RandomPool(random, "AveragePool");
}

OpCase GlobalAveragePoolCase(CaseRandom& random) {
  const int rank = static_cast<int>(random.Int(1, 3));
  Dims x = {random.Int(0, 3), random.Int(1, 20)};
  for (int i = 0; i < rank; ++i) x.push_back(random.Int(1, 5));
  return PoolOf("GlobalAveragePool", std::move(x), {});
}

}  // namespace reprise
