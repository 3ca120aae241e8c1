// Random cases of losses.

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

// Losses against labels, given that of one position without its weight.
HostTensors LabelLoss(const HostTensors& in, const Attrs& attrs,
                      double (*loss_of)(const HostTensor& x, const Dims& at)) {
  const HostTensor& labels = in[1];
  HostTensor losses = {F32(labels.type.dims), {}};
  double weights = 0;
  double sum = 0;
  ForEachIndex(labels.type.dims, [&](const Dims& at) {
    const auto label = static_cast<int64_t>(At(labels, at));
    Dims score_at = at;
    score_at.insert(score_at.begin() + 1, label);
    if (attrs.Has("ignore_index") && label == attrs.Int("ignore_index")) {
      losses.data.push_back(0);
      return;
    }
    const double weight = in.size() > 2 ? At(in[2], {label}) : 1.0;
    losses.data.push_back(weight * loss_of(in[0], score_at));
    weights += weight;
    sum += losses.data.back();
  });
  const std::string& reduction = attrs.String("reduction");
  if (reduction == "none") return {losses};
  return {{F32({}), {reduction == "sum" ? sum : sum / weights}}};
}

double CrossEntropy(const HostTensor& x, const Dims& at) {
  double sum = 0;
  Dims other = at;
  for (other[1] = 0; other[1] < x.type.dims[1]; ++other[1]) {
    sum += std::exp(At(x, other));
  }
  return std::log(sum) - At(x, at);
}

double NegativeScore(const HostTensor& x, const Dims& at) { return -At(x, at); }

OpCase RandomLabelLoss(CaseRandom& random, const std::string& op) {
  Dims scores = {random.Int(3, 5), random.Pick<int64_t>({2, 3, 10, 40})};
  const int rank = static_cast<int>(random.Int(0, 2));
  for (int i = 0; i < rank; ++i) scores.push_back(random.Int(1, 3));
  Attrs attrs;
  attrs.Set("reduction", random.Pick<std::string>({"none", "sum", "mean"}));
  if (random.Bool()) attrs.Set("ignore_index", scores[1] - 1);
  return LabelLossOf(op, std::move(scores),
                     random.Bool() ? DType::kI64 : DType::kI32, random.Bool(),
                     std::move(attrs));
}

}  // namespace

OpCase LabelLossOf(const std::string& op, Dims scores, DType labels,
                   bool weights, Attrs attrs) {
  OpCase c;
  c.op = op;
  const int64_t classes = scores[1];
  TensorType label_type = {labels, scores};
  label_type.dims.erase(label_type.dims.begin() + 1);
  c.in = {F32(std::move(scores)), label_type};
  if (weights) c.in.push_back(F32({classes}));
  c.attrs = std::move(attrs);
  c.ranges = {{-3, 3}, {0, static_cast<double>(classes)}, {0.5, 2}};
  const bool softmax = op == "SoftmaxCrossEntropyLoss";
  c.definition = [softmax](const HostTensors& in, const Attrs& a) {
    return LabelLoss(in, a, softmax ? CrossEntropy : NegativeScore);
  };
  // Weights are constants to these losses.
  c.gradient_tolerance = 5e-5;
  return c;
}

OpCase SquaredErrorOf(Dims dims, const std::string& reduction) {
  OpCase c;
  c.op = "MeanSquaredError";
  c.in = {F32(dims), F32(dims)};
  c.attrs = {{"reduction", reduction}};
  c.definition = [](const HostTensors& in, const Attrs& attrs) {
    const HostTensor squares = BroadcastElements(
        in[0], in[1], [](double a, double b) { return (a - b) * (a - b); });
    double sum = 0;
    for (const double square : squares.data) sum += square;
    const std::string& how = attrs.String("reduction");
    if (how == "none") return HostTensors{squares};
    const double n = static_cast<double>(squares.data.size());
    return HostTensors{{F32({}), {how == "sum" ? sum : sum / n}}};
  };
  c.gradient_tolerance = 1e-4;
  return c;
}

OpCase SoftmaxCrossEntropyLossCase(CaseRandom& random) {
  return RandomLabelLoss(random, "SoftmaxCrossEntropyLoss");
}

OpCase NegativeLogLikelihoodLossCase(CaseRandom& random) {
  return RandomLabelLoss(random, "NegativeLogLikelihoodLoss");
}

OpCase MeanSquaredErrorCase(CaseRandom& random) {
  Dims dims = random.AnyDims(0, 3);
  for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 1);
  return SquaredErrorOf(std::move(dims),
                        random.Pick<std::string>({"none", "sum", "mean"}));
}

}  // namespace reprise
