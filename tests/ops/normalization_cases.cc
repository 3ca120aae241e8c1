// Random cases of normalizations, and of dropout where nothing is drawn.

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

struct Moments {
  std::vector<double> mean;
  std::vector<double> variance;  // of the population
};

Moments MomentsOf(const HostTensor& x) {
  const int64_t channels = x.type.dims[1];
  const double count = static_cast<double>(x.type.num_elements() / channels);
  Moments moments = {std::vector<double>(channels),
                     std::vector<double>(channels)};
  ForEachIndex(x.type.dims, [&](const Dims& at) {
    moments.mean[at[1]] += At(x, at) / count;
  });
  ForEachIndex(x.type.dims, [&](const Dims& at) {
    const double centered = At(x, at) - moments.mean[at[1]];
    moments.variance[at[1]] += centered * centered / count;
  });
  return moments;
}

HostTensor Normalized(const HostTensors& in, const Moments& moments,
                      double epsilon) {
  return FromIndex(in[0].type, [&](const Dims& at) {
    const int64_t c = at[1];
    return At(in[1], {c}) * (At(in[0], at) - moments.mean[c]) /
               std::sqrt(moments.variance[c] + epsilon) +
           At(in[2], {c});
  });
}

HostTensors OfBatch(const HostTensors& in, const Attrs& attrs) {
  const Moments moments = MomentsOf(in[0]);
  const TensorType per_channel = in[1].type;
  return {Normalized(in, moments, attrs.Float("epsilon")),
          {per_channel, moments.mean},
          {per_channel, moments.variance}};
}

HostTensors OfGiven(const HostTensors& in, const Attrs& attrs) {
  return {Normalized(in, {in[3].data, in[4].data}, attrs.Float("epsilon"))};
}

// What the graph makes of the node with training_mode set.
HostTensors OfNode(const HostTensors& in, const Attrs& attrs) {
  return {Normalized(in, MomentsOf(in[0]), attrs.Float("epsilon"))};
}

HostTensors LayerNormDefinition(const HostTensors& in, const Attrs& attrs) {
  const HostTensor& x = in[0];
  const int rank = x.type.rank();
  const int axis =
      *NormalizeAxis(attrs.Int("axis"), rank, "LayerNormalization");
  Dims row_dims(x.type.dims.begin() + axis, x.type.dims.end());
  const int64_t n = Product(row_dims);
  TensorType statistics = x.type;
  for (int i = axis; i < rank; ++i) statistics.dims[i] = 1;
  HostTensor y = {x.type, x.data};
  HostTensor mean = {statistics, {}};
  HostTensor inverse = {statistics, {}};
  for (int64_t row = 0; row < statistics.num_elements(); ++row) {
    double sum = 0;
    double squares = 0;
    for (int64_t j = 0; j < n; ++j) sum += x.data[row * n + j];
    const double m = sum / static_cast<double>(n);
    for (int64_t j = 0; j < n; ++j) {
      squares += (x.data[row * n + j] - m) * (x.data[row * n + j] - m);
    }
    const double inv = 1 / std::sqrt(squares / static_cast<double>(n) +
                                     attrs.Float("epsilon"));
    mean.data.push_back(m);
    inverse.data.push_back(inv);
    for (int64_t j = 0; j < n; ++j) {
      const double b =
          in.size() > 2 && in[2].type.present() ? in[2].data[j] : 0.0;
      y.data[row * n + j] = (x.data[row * n + j] - m) * inv * in[1].data[j] + b;
    }
  }
  return {y, mean, inverse};
}

}  // namespace

OpCase BatchNormTrainingOf(Dims x) {
  OpCase c;
  c.op = "BatchNormalizationTraining";
  const TensorType per_channel = F32({x[1]});
  c.in = {F32(std::move(x)), per_channel, per_channel};
  c.num_outputs = 3;
  c.definition = OfBatch;
  c.loss_outputs = {0};
  c.tolerance = 1e-5;
  c.gradient_tolerance = 3e-4;
  return c;
}

OpCase BatchNormInferenceOf(Dims x) {
  OpCase c = BatchNormTrainingOf(std::move(x));
  c.op = "BatchNormalizationInference";
  c.in.push_back(c.in[1]);
  c.in.push_back(c.in[1]);
  c.num_outputs = 1;
  c.definition = OfGiven;
  c.ranges = {
      ContentRange(), ContentRange(), ContentRange(), ContentRange(), {0.5, 2}};
  return c;
}

OpCase BatchNormNodeOf(Dims x, bool training) {
  OpCase c = BatchNormInferenceOf(std::move(x));
  c.op = "BatchNormalization";
  if (training) {
    c.attrs = {{"training_mode", int64_t{1}}};
    c.definition = OfNode;
  }
  return c;
}

OpCase LayerNormOf(Dims x, int64_t axis, bool b) {
  OpCase c;
  c.op = "LayerNormalization";
  const int front = *NormalizeAxis(axis, static_cast<int>(x.size()), "");
  const TensorType row = F32(Dims(x.begin() + front, x.end()));
  c.in = {F32(std::move(x)), row};
  if (b) c.in.push_back(row);
  c.attrs = {{"axis", axis}};
  c.num_outputs = 3;
  c.definition = LayerNormDefinition;
  c.loss_outputs = {0};
  c.tolerance = 1e-5;
  c.gradient_tolerance = 3e-4;
  return c;
}

OpCase BatchNormalizationCase(CaseRandom& random) {
  Dims x = {random.Int(2, 4), random.Pick<int64_t>({1, 2, 3, 17})};
  const int rank = static_cast<int>(random.Int(0, 3));
  for (int i = 0; i < rank; ++i) x.push_back(random.Int(1, 5 - rank));
  return BatchNormNodeOf(std::move(x), random.Bool());
}

OpCase LayerNormalizationCase(CaseRandom& random) {
  Dims x = random.DimsOfRank(static_cast<int>(random.Int(1, 3)));
  // One element has no deviation, and a gradient that is all rounding.
  x.back() = std::max<int64_t>(x.back(), 4);
  const int64_t rank = static_cast<int64_t>(x.size());
  const int64_t axis = random.Int(-rank, rank - 1);
  return LayerNormOf(std::move(x), axis, random.Bool());
}

OpCase DropoutCase(CaseRandom& random) {
  OpCase c;
  c.op = "Dropout";
  c.in = {F32(random.AnyDims(0, 4))};
  if (random.Bool()) {
    c.attrs = {{"ratio", 0.0f}};
  } else {
    c.attrs = {{"training_mode", int64_t{0}}};
  }
  c.definition = [](const HostTensors& in, const Attrs&) {
    return HostTensors{in[0]};
  };
  return c;
}

}  // namespace reprise
