// Random cases of normalizations of groups of channels, rows and windows.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/ops/op_cases.h"

namespace reprise {
namespace {

// Elements of one group have mean 0 and variance 1; then scale and offset.
HostTensors GroupsNormalized(const HostTensors& in, int64_t groups,
                             double epsilon) {
  const HostTensor& x = in[0];
  const Dims& dims = x.type.dims;
  const int64_t channels = dims[1] / groups;
  const auto group_of = [&](const Dims& at) {
    return at[0] * groups + at[1] / channels;
  };
  std::vector<double> mean(dims[0] * groups);
  std::vector<double> variance(dims[0] * groups);
  const double count = static_cast<double>(channels) *
                       static_cast<double>(Product(dims)) /
                       static_cast<double>(dims[0] * dims[1]);
  ForEachIndex(
      dims, [&](const Dims& at) { mean[group_of(at)] += At(x, at) / count; });
  ForEachIndex(dims, [&](const Dims& at) {
    const double centered = At(x, at) - mean[group_of(at)];
    variance[group_of(at)] += centered * centered / count;
  });
  return {FromIndex(x.type, [&](const Dims& at) {
    const int64_t g = group_of(at);
    return (At(x, at) - mean[g]) / std::sqrt(variance[g] + epsilon) *
               At(in[1], {at[1]}) +
           At(in[2], {at[1]});
  })};
}

Dims ImageDims(CaseRandom& random) {
  Dims dims = {random.Int(1, 3), random.Pick<int64_t>({1, 2, 4, 6})};
  const int64_t rank = random.Int(0, 3);
  for (int64_t i = 0; i < rank; ++i) {
    dims.push_back(random.Pick<int64_t>({1, 2, 3, 5}));
  }
  return dims;
}

OpCase OfGroups(std::string op, Dims dims) {
  OpCase c;
  c.op = std::move(op);
  const TensorType channel = F32({dims[1]});
  c.in = {F32(std::move(dims)), channel, channel};
  // A group of two has next to no variance at times: a large epsilon keeps
  // gradients of order one.
  c.attrs.Set("epsilon", 0.1f);
  c.tolerance = 1e-5;
  c.gradient_tolerance = 2e-4;
  return c;
}

}  // namespace

OpCase InstanceNormalizationCase(CaseRandom& random) {
  OpCase c = OfGroups("InstanceNormalization", ImageDims(random));
  c.definition = [](const HostTensors& in, const Attrs& attrs) {
    return GroupsNormalized(in, in[0].type.dims[1], attrs.Float("epsilon"));
  };
  return c;
}

OpCase GroupNormalizationCase(CaseRandom& random) {
  OpCase c = OfGroups("GroupNormalization", ImageDims(random));
  std::vector<int64_t> divisors;
  for (int64_t g = 1; g <= c.in[0].dims[1]; ++g) {
    if (c.in[0].dims[1] % g == 0) divisors.push_back(g);
  }
  c.attrs.Set("num_groups", random.Pick(divisors));
  c.definition = [](const HostTensors& in, const Attrs& attrs) {
    return GroupsNormalized(in, attrs.Int("num_groups"),
                            attrs.Float("epsilon"));
  };
  return c;
}

OpCase RmsNormalizationCase(CaseRandom& random) {
  OpCase c;
  c.op = "RMSNormalization";
  Dims dims = random.AnyDims(1, 4);
  for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 1);
  const int64_t rank = static_cast<int64_t>(dims.size());
  const int64_t front = random.Int(0, rank - 1);
  c.in = {F32(dims), F32(Dims(dims.begin() + front, dims.end()))};
  c.attrs.Set("axis", random.Bool() ? front : front - rank);
  c.attrs.Set("epsilon", 0.1f);
  c.definition = [](const HostTensors& in, const Attrs& attrs) {
    const int64_t n = in[1].type.num_elements();
    HostTensor y = in[0];
    for (size_t row = 0; row < y.data.size(); row += n) {
      double squares = 0;
      for (int64_t i = 0; i < n; ++i) {
        squares += in[0].data[row + i] * in[0].data[row + i];
      }
      const double root =
          std::sqrt(squares / static_cast<double>(n) + attrs.Float("epsilon"));
      for (int64_t i = 0; i < n; ++i) {
        y.data[row + i] = in[0].data[row + i] / root * in[1].data[i];
      }
    }
    return HostTensors{y};
  };
  c.tolerance = 1e-5;
  c.gradient_tolerance = 2e-4;
  return c;
}

OpCase LrnCase(CaseRandom& random) {
  OpCase c;
  c.op = "LRN";
  Dims dims = ImageDims(random);
  dims[1] = random.Int(1, 9);
  c.in = {F32(std::move(dims))};
  c.attrs.Set("size", random.Int(1, 6));
  if (random.Bool()) c.attrs.Set("alpha", 0.5f);
  if (random.Bool()) c.attrs.Set("beta", random.Pick<float>({0.5f, 1.25f}));
  if (random.Bool()) c.attrs.Set("bias", 2.0f);
  c.definition = [](const HostTensors& in, const Attrs& attrs) {
    const HostTensor& x = in[0];
    const int64_t size = attrs.Int("size");
    return HostTensors{FromIndex(x.type, [&](const Dims& at) {
      const int64_t first = std::max<int64_t>(0, at[1] - (size - 1) / 2);
      const int64_t last =
          std::min(x.type.dims[1] - 1, at[1] + size / 2);  // ceil of the half
      double squares = 0;
      for (int64_t c = first; c <= last; ++c) {
        Dims index = at;
        index[1] = c;
        squares += At(x, index) * At(x, index);
      }
      const double base = attrs.Float("bias") + attrs.Float("alpha") /
                                                    static_cast<double>(size) *
                                                    squares;
      return At(x, at) / std::pow(base, attrs.Float("beta"));
    })};
  };
  c.gradient_tolerance = 5e-5;
  return c;
}

OpCase LpNormalizationCase(CaseRandom& random) {
  OpCase c;
  c.op = "LpNormalization";
  c.in = {F32(random.AnyDims(1, 4))};
  const int rank = c.in[0].rank();
  if (random.Bool()) c.attrs.Set("axis", random.Int(-rank, rank - 1));
  if (random.Bool()) c.attrs.Set("p", random.Int(1, 2));
  c.ranges = {random.Pick<ContentRange>({{0.25, 2}, {-2, -0.25}})};
  c.definition = [](const HostTensors& in, const Attrs& attrs) {
    const HostTensor& x = in[0];
    int64_t axis = attrs.Int("axis");
    if (axis < 0) axis += x.type.rank();
    const bool magnitudes = attrs.Int("p") == 1;
    return HostTensors{FromIndex(x.type, [&](const Dims& at) {
      double norm = 0;
      Dims index = at;
      for (index[axis] = 0; index[axis] < x.type.dims[axis]; ++index[axis]) {
        const double v = At(x, index);
        norm += magnitudes ? std::abs(v) : v * v;
      }
      return At(x, at) / (magnitudes ? norm : std::sqrt(norm));
    })};
  };
  c.tolerance = 1e-5;
  c.gradient_tolerance = 1e-4;
  return c;
}

OpCase MeanVarianceNormalizationCase(CaseRandom& random) {
  OpCase c;
  c.op = "MeanVarianceNormalization";
  c.in = {F32({random.Int(2, 3), random.Int(1, 3), random.Int(2, 4),
               random.Int(1, 3)})};
  if (random.Bool()) {
    c.attrs.Set("axes", random.Pick<Ints>({{0}, {0, 2}, {-2, 0}, {}}));
  }
  c.definition = [](const HostTensors& in, const Attrs& attrs) {
    const HostTensor& x = in[0];
    std::vector<bool> reduced(4, attrs.IntList("axes").empty());
    for (const int64_t axis : attrs.IntList("axes")) {
      reduced[axis < 0 ? axis + 4 : axis] = true;
    }
    Dims inner = x.type.dims;
    for (int i = 0; i < 4; ++i) {
      if (!reduced[i]) inner[i] = 1;
    }
    return HostTensors{FromIndex(x.type, [&](const Dims& at) {
      double sum = 0;
      double squares = 0;
      ForEachIndex(inner, [&](const Dims& along) {
        Dims index = at;
        for (int i = 0; i < 4; ++i) {
          if (reduced[i]) index[i] = along[i];
        }
        sum += At(x, index);
        squares += At(x, index) * At(x, index);
      });
      const double n = static_cast<double>(Product(inner));
      const double mean = sum / n;
      return (At(x, at) - mean) / (std::sqrt(squares / n - mean * mean) + 1e-9);
    })};
  };
  c.tolerance = 2e-4;
  // Of a few elements that nearly agree there is no variance to divide by.
  const Ints axes =
      c.attrs.Has("axes") ? c.attrs.IntList("axes") : Ints{0, 2, 3};
  int64_t reduced = axes.empty() ? Product(c.in[0].dims) : 1;
  for (const int64_t axis : axes) {
    reduced *= c.in[0].dims[axis < 0 ? axis + 4 : axis];
  }
  c.gradient = reduced >= 6;
  c.gradient_tolerance = 1e-3;
  return c;
}

}  // namespace reprise
