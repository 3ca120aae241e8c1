// Random cases of losses of a prediction and a target of one type.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "tests/ops/op_cases.h"

namespace reprise {
namespace {

using PairFunction = double (*)(double a, double b, const Attrs& attrs);

HostTensor Reduced(HostTensor losses, const std::string& reduction) {
  if (reduction == "none") return losses;
  double sum = 0;
  for (const double loss : losses.data) sum += loss;
  if (reduction == "mean") sum /= static_cast<double>(losses.data.size());
  if (reduction == "batchmean") {
    sum /= static_cast<double>(losses.type.dims[0]);
  }
  return {F32({}), {sum}};
}

OpCase PairLoss(CaseRandom& random, std::string op, PairFunction f,
                int min_rank = 0) {
  OpCase c;
  c.op = std::move(op);
  Dims dims = random.AnyDims(min_rank, 3);
  for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 1);
  c.in = {F32(dims), F32(dims)};
  c.attrs.Set("reduction", random.Pick<std::string>({"none", "sum", "mean"}));
  c.definition = [f](const HostTensors& in, const Attrs& attrs) {
    HostTensor losses = in[0];
    for (size_t i = 0; i < losses.data.size(); ++i) {
      losses.data[i] = f(in[0].data[i], in[1].data[i], attrs);
    }
    return HostTensors{Reduced(std::move(losses), attrs.String("reduction"))};
  };
  c.gradient_tolerance = 1e-4;
  return c;
}

double Softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

}  // namespace

OpCase L1LossCase(CaseRandom& random) {
  return PairLoss(random, "L1Loss", [](double a, double b, const Attrs&) {
    return std::abs(a - b);
  });
}

OpCase HuberLossCase(CaseRandom& random) {
  OpCase c =
      PairLoss(random, "HuberLoss", [](double a, double b, const Attrs& attrs) {
        const double delta = attrs.Float("delta");
        const double e = std::abs(a - b);
        return e <= delta ? e * e / 2 : delta * (e - delta / 2);
      });
  if (random.Bool()) c.attrs.Set("delta", random.Pick<float>({0.25f, 3.0f}));
  return c;
}

OpCase KlDivLossCase(CaseRandom& random) {
  OpCase c = PairLoss(
      random, "KLDivLoss",
      [](double a, double b, const Attrs& attrs) {
        return attrs.Int("log_target") != 0 ? std::exp(b) * (b - a)
                                            : b * (std::log(b) - a);
      },
      /*min_rank=*/1);
  if (random.Int(0, 2) == 0) c.attrs.Set("reduction", std::string("batchmean"));
  const bool log_target = random.Bool();
  if (log_target) c.attrs.Set("log_target", int64_t{1});
  c.ranges = {{-3, 0},
              log_target ? ContentRange{-3, 0} : ContentRange{0.05, 1}};
  return c;
}

OpCase BinaryCrossEntropyWithLogitsCase(CaseRandom& random) {
  OpCase c = PairLoss(random, "BinaryCrossEntropyWithLogits",
                      [](double x, double t, const Attrs&) {
                        return (1 - t) * x + Softplus(-x);
                      });
  c.ranges = {{-4, 4}, {0, 1}, {0.5, 3}};
  if (random.Bool()) return c;
  c.in.push_back(F32(random.Narrowed(c.in[0].dims)));
  c.definition = [](const HostTensors& in, const Attrs& attrs) {
    const HostTensor weight =
        BroadcastElements(in[0], in[2], [](double, double w) { return w; });
    HostTensor losses = in[0];
    for (size_t i = 0; i < losses.data.size(); ++i) {
      const double x = in[0].data[i];
      const double t = in[1].data[i];
      losses.data[i] =
          (1 - t) * x + (1 + (weight.data[i] - 1) * t) * Softplus(-x);
    }
    return HostTensors{Reduced(std::move(losses), attrs.String("reduction"))};
  };
  return c;
}

}  // namespace reprise
