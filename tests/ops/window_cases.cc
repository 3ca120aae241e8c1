// Random cases of convolutions and poolings.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/tensor_type.h"
#include "tests/ops/layer_cases.h"
#include "tests/ops/op_cases.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

// The window of a node, its padding worked out.
struct Window {
  Dims kernel;
  Dims strides;
  Dims dilations;
  Dims pads_begin;
  Dims out;
};

Window WindowOf(const Dims& x, const Dims& kernel, const Attrs& attrs) {
  const size_t rank = kernel.size();
  const auto list = [&](const char* name, size_t i, int64_t otherwise) {
    return attrs.Has(name) ? attrs.IntList(name)[i] : otherwise;
  };
  const std::string auto_pad =
      attrs.Has("auto_pad") ? attrs.String("auto_pad") : "NOTSET";
  Window window;
  window.kernel = kernel;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = x[i + 2];
    const int64_t stride = list("strides", i, 1);
    const int64_t dilation = list("dilations", i, 1);
    const int64_t span = (kernel[i] - 1) * dilation + 1;
    int64_t begin = list("pads", i, 0);
    int64_t padding = begin + list("pads", rank + i, 0);
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      const int64_t out = (size + stride - 1) / stride;
      padding = std::max<int64_t>(0, (out - 1) * stride + span - size);
      begin = auto_pad == "SAME_UPPER" ? padding / 2 : (padding + 1) / 2;
    }
    window.strides.push_back(stride);
    window.dilations.push_back(dilation);
    window.pads_begin.push_back(begin);
    window.out.push_back((size + padding - span) / stride + 1);
  }
  return window;
}

// Appends to `x_at` the element of x that the window at `y_at` covers with its
// element `k`; false if that lies in the padding.
bool AppendCovered(const Window& window, const Dims& x, const Dims& y_at,
                   absl::Span<const int64_t> k, Dims& x_at) {
  bool inside = true;
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    x_at.push_back(y_at[i + 2] * window.strides[i] - window.pads_begin[i] +
                   k[i] * window.dilations[i]);
    inside = inside && x_at.back() >= 0 && x_at.back() < x[i + 2];
  }
  return inside;
}

Dims Joined(Dims front, const Dims& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

HostTensors ConvDefinition(const HostTensors& in, const Attrs& attrs) {
  const Dims& x = in[0].type.dims;
  const Dims& w = in[1].type.dims;
  const Window window = WindowOf(x, Dims(w.begin() + 2, w.end()), attrs);
  const int64_t per_group = w[0] / attrs.Int("group");
  const Dims y = Joined({x[0], w[0]}, window.out);
  return {FromIndex(F32(y), [&](const Dims& at) {
    double sum = in.size() > 2 ? At(in[2], {at[1]}) : 0.0;
    ForEachIndex(Dims(w.begin() + 1, w.end()), [&](const Dims& k) {
      Dims x_at = {at[0], at[1] / per_group * w[1] + k[0]};
      if (AppendCovered(window, x, at, absl::MakeConstSpan(k).subspan(1),
                        x_at)) {
        sum += At(in[1], Joined({at[1]}, k)) * At(in[0], x_at);
      }
    });
    return sum;
  })};
}

// The three poolings; the global one has a window of everything.
HostTensors Pool(const std::string& op, const HostTensors& in,
                 const Attrs& attrs) {
  const Dims& x = in[0].type.dims;
  const Dims kernel = attrs.Has("kernel_shape") ? attrs.IntList("kernel_shape")
                                                : Dims(x.begin() + 2, x.end());
  const Window window = WindowOf(x, kernel, attrs);
  const bool counts_padding =
      attrs.Has("count_include_pad") && attrs.Int("count_include_pad") != 0;
  const Dims y = Joined({x[0], x[1]}, window.out);
  return {FromIndex(F32(y), [&](const Dims& at) {
    double largest = -std::numeric_limits<double>::infinity();
    double sum = 0;
    double count = 0;
    ForEachIndex(kernel, [&](const Dims& k) {
      Dims x_at = {at[0], at[1]};
      if (!AppendCovered(window, x, at, k, x_at)) return;
      largest = std::max(largest, At(in[0], x_at));
      sum += At(in[0], x_at);
      count += 1;
    });
    if (op == "MaxPool") return largest;
    if (counts_padding) count = static_cast<double>(Product(kernel));
    return sum / count;
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
  // Few elements: central differences run the definition twice for each.
  const int64_t most_kernel = rank == 3 ? 2 : 3;
  for (int i = 0; i < rank; ++i) {
    window.kernel.push_back(random.Int(1, most_kernel));
    strides.push_back(random.Int(1, 2));
    dilations.push_back(random.Int(1, most_dilation));
    const int64_t span = (window.kernel[i] - 1) * dilations[i] + 1;
    pads[i] = random.Int(0, span - 1);
    pads[i + rank] = random.Int(0, span - 1);
    window.spatial.push_back(span + random.Int(0, 4 - rank));
  }
  window.attrs = {{"strides", strides}, {"dilations", dilations}};
  const int padding = static_cast<int>(random.Int(0, 4));
  if (padding == 1) window.attrs.Set("auto_pad", std::string("SAME_UPPER"));
  if (padding == 2) window.attrs.Set("auto_pad", std::string("VALID"));
  if (padding > 2) window.attrs.Set("pads", pads);
  return window;
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
                Joined({random.Pick<int64_t>({1, 1, 2, 0}),
                        random.Pick<int64_t>({1, 3, 5, 17})},
                       window.spatial),
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
  const int64_t group = random.Pick<int64_t>({1, 1, 2, 3});
  const int64_t channels = random.Int(1, 2);
  const int64_t filters = group * random.Int(1, 2);
  window.attrs.Set("group", group);
  const int64_t batch = random.Pick<int64_t>({1, 1, 2, 0});
  return ConvOf(Joined({batch, group * channels}, window.spatial),
                Joined({filters, channels}, window.kernel), window.attrs,
                random.Bool());
}

OpCase MaxPoolCase(CaseRandom& random) { return RandomPool(random, "MaxPool"); }

OpCase AveragePoolCase(CaseRandom& random) {
  return RandomPool(random, "AveragePool");
}

OpCase GlobalAveragePoolCase(CaseRandom& random) {
  const int rank = static_cast<int>(random.Int(1, 3));
  Dims x = {random.Int(0, 2), random.Pick<int64_t>({1, 3, 5, 17})};
  for (int i = 0; i < rank; ++i) x.push_back(random.Int(1, 4));
  return PoolOf("GlobalAveragePool", std::move(x), {});
}

}  // namespace reprise
