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
  Dims padded;  // begin and input and end
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
    window.padded.push_back(size + padding);
    int64_t out = 0;
    // A position for every window that begins inside the input or before it
    // and ends inside the padding, or, with ceil_mode, the one that does not.
    for (int64_t at = 0; at < size + begin; at += stride) {
      const bool fits = at + span <= size + padding;
      const bool ceil = attrs.Has("ceil_mode") && attrs.Int("ceil_mode") != 0 &&
                        auto_pad == "NOTSET";
      const bool last = at - stride + span < size + padding;
      if (fits || (ceil && last)) ++out;
    }
    window.out.push_back(out);
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

// The poolings; the global ones have a window of everything. The second result
// is that of MaxPool: where the largest elements are in x.
HostTensors Pool(const std::string& op, const HostTensors& in,
                 const Attrs& attrs) {
  const Dims& x = in[0].type.dims;
  const Dims kernel = attrs.Has("kernel_shape") ? attrs.IntList("kernel_shape")
                                                : Dims(x.begin() + 2, x.end());
  const Window window = WindowOf(x, kernel, attrs);
  const bool counts_padding =
      attrs.Has("count_include_pad") && attrs.Int("count_include_pad") != 0;
  const double p = attrs.Has("p") ? static_cast<double>(attrs.Int("p")) : 1;
  const bool column_major =
      attrs.Has("storage_order") && attrs.Int("storage_order") != 0;
  const Dims y = Joined({x[0], x[1]}, window.out);
  HostTensor indices{I64(y), {}};
  const HostTensor out = FromIndex(F32(y), [&](const Dims& at) {
    double largest = -std::numeric_limits<double>::infinity();
    Dims winner;
    double sum = 0;
    double power_sum = 0;
    double count = 0;
    double in_padding = 0;
    ForEachIndex(kernel, [&](const Dims& k) {
      Dims x_at = {at[0], at[1]};
      if (!AppendCovered(window, x, at, k, x_at)) {
        bool beyond = false;
        for (size_t i = 0; i < k.size(); ++i) {
          beyond =
              beyond || x_at[i + 2] + window.pads_begin[i] >= window.padded[i];
        }
        if (!beyond) in_padding += 1;
        return;
      }
      if (At(in[0], x_at) > largest) {
        largest = At(in[0], x_at);
        winner = x_at;
      }
      sum += At(in[0], x_at);
      power_sum += std::pow(std::abs(At(in[0], x_at)), p);
      count += 1;
    });
    if (column_major) std::reverse(winner.begin() + 2, winner.end());
    Dims order = x;
    if (column_major) std::reverse(order.begin() + 2, order.end());
    int64_t position = 0;
    for (size_t i = 0; i < winner.size(); ++i) {
      position = position * order[i] + winner[i];
    }
    indices.data.push_back(static_cast<double>(position));
    if (op == "MaxPool" || op == "GlobalMaxPool") return largest;
    if (op == "LpPool") return std::pow(power_sum, 1 / p);
    return sum / (counts_padding ? count + in_padding : count);
  });
  return {out, indices};
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

// Whether some window lies in the padding altogether: no maximum, no mean.
bool HasEmptyWindow(const Dims& x, const Attrs& attrs) {
  const Dims kernel = attrs.IntList("kernel_shape");
  const Window window = WindowOf(x, kernel, attrs);
  bool empty = false;
  ForEachIndex(Joined({1, 1}, window.out), [&](const Dims& at) {
    bool covers = false;
    ForEachIndex(kernel, [&](const Dims& k) {
      Dims x_at = {0, 0};
      covers = AppendCovered(window, x, at, k, x_at) || covers;
    });
    empty = empty || !covers;
  });
  return empty;
}

OpCase RandomPool(CaseRandom& random, const std::string& op) {
  const int rank = static_cast<int>(random.Int(1, 3));
  RandomWindow window =
      WindowCase(random, rank, /*most_dilation=*/random.Int(1, 3));
  window.attrs.Set("kernel_shape", window.kernel);
  if (random.Bool()) window.attrs.Set("ceil_mode", int64_t{1});
  if (op == "AveragePool" && random.Bool()) {
    window.attrs.Set("count_include_pad", int64_t{1});
  }
  if (op == "LpPool") window.attrs.Set("p", random.Int(1, 4));
  const Dims x = Joined(
      {random.Pick<int64_t>({1, 1, 2, 0}), random.Pick<int64_t>({1, 3, 5, 17})},
      window.spatial);
  if (HasEmptyWindow(x, window.attrs)) return RandomPool(random, op);
  OpCase c = PoolOf(op, x, window.attrs);
  if (op == "MaxPool" && random.Int(0, 2) == 0) {
    c.num_outputs = 2;
    if (random.Bool()) c.attrs.Set("storage_order", int64_t{1});
  }
  return c;
}

OpCase GlobalPool(CaseRandom& random, const std::string& op) {
  const int rank = static_cast<int>(random.Int(1, 3));
  Dims x = {random.Int(0, 2), random.Pick<int64_t>({1, 3, 5, 17})};
  for (int i = 0; i < rank; ++i) x.push_back(random.Int(1, 4));
  return PoolOf(op, std::move(x), {});
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
  // Roots of sums of up to 27 powers, and their slopes.
  if (op == "LpPool") {
    c.tolerance = 1e-5;
    c.gradient_tolerance = 2e-4;
  }
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

OpCase LpPoolCase(CaseRandom& random) { return RandomPool(random, "LpPool"); }

OpCase GlobalAveragePoolCase(CaseRandom& random) {
  return GlobalPool(random, "GlobalAveragePool");
}

OpCase GlobalMaxPoolCase(CaseRandom& random) {
  return GlobalPool(random, "GlobalMaxPool");
}

}  // namespace reprise
