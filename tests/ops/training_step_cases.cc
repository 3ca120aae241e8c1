// Random cases of ONNX's optimizer steps as nodes.

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/ops/op_cases.h"

namespace reprise {
namespace {

// What a step makes of one element: x, g, slots; x' and slots' go in their
// places.
using Rule = std::function<void(double r, double t, const Attrs& attrs,
                                double g, double& x, double* slots)>;

OpCase TrainingStep(CaseRandom& random, std::string op, int num_slots,
                    Rule rule) {
  OpCase c;
  c.op = std::move(op);
  const int count = static_cast<int>(random.Int(1, 3));
  std::vector<TensorType> tensors;
  for (int i = 0; i < count; ++i) {
    tensors.push_back(F32(random.AnyDims(0, 3)));
  }
  c.in = {F32({}), I64({})};
  c.ranges = {{0.01, 0.5}, {0, 4}};
  for (int kind = 0; kind < 2 + num_slots; ++kind) {
    for (const TensorType& type : tensors) {
      c.in.push_back(type);
      // Slots of squares are not negative.
      c.ranges.push_back(kind < 2 ? ContentRange{-2, 2} : ContentRange{0.1, 2});
    }
  }
  c.num_outputs = count * (1 + num_slots);
  c.gradient = false;
  if (random.Bool()) c.attrs.Set("norm_coefficient", 0.125f);
  c.definition = [=](const HostTensors& in, const Attrs& attrs) {
    HostTensors out;
    for (int kind = 0; kind < 1 + num_slots; ++kind) {
      for (int i = 0; i < count; ++i) {
        out.push_back(in[2 + (kind == 0 ? 0 : kind + 1) * count + i]);
      }
    }
    for (int i = 0; i < count; ++i) {
      for (size_t k = 0; k < out[i].data.size(); ++k) {
        double slots[2] = {0, 0};
        for (int s = 0; s < num_slots; ++s) {
          slots[s] = out[(1 + s) * count + i].data[k];
        }
        double& x = out[i].data[k];
        const double g =
            in[2 + count + i].data[k] + attrs.Float("norm_coefficient") * x;
        rule(in[0].data[0], in[1].data[0], attrs, g, x, slots);
        for (int s = 0; s < num_slots; ++s) {
          out[(1 + s) * count + i].data[k] = slots[s];
        }
      }
    }
    return out;
  };
  return c;
}

}  // namespace

OpCase AdamCase(CaseRandom& random) {
  OpCase c = TrainingStep(
      random, "Adam", 2,
      [](double r, double t, const Attrs& attrs, double g, double& x,
         double* slots) {
        const double alpha = attrs.Float("alpha");
        const double beta = attrs.Float("beta");
        slots[0] = alpha * slots[0] + (1 - alpha) * g;
        slots[1] = beta * slots[1] + (1 - beta) * g * g;
        if (t > 0) {
          r *= std::sqrt(1 - std::pow(beta, t)) / (1 - std::pow(alpha, t));
        }
        x -= r * slots[0] / (std::sqrt(slots[1]) + attrs.Float("epsilon"));
        x *= 1 - attrs.Float("norm_coefficient_post");
      });
  if (random.Bool()) c.attrs.Set("alpha", 0.75f);
  if (random.Bool()) c.attrs.Set("beta", 0.875f);
  if (random.Bool()) c.attrs.Set("norm_coefficient_post", 0.25f);
  // 1 - 0.999f, as the definition has it, is off by 1e-5 of itself.
  c.tolerance = 2e-5;
  return c;
}

OpCase AdagradCase(CaseRandom& random) {
  OpCase c = TrainingStep(random, "Adagrad", 1,
                          [](double r, double t, const Attrs& attrs, double g,
                             double& x, double* slots) {
                            slots[0] += g * g;
                            x -= r / (1 + t * attrs.Float("decay_factor")) * g /
                                 (std::sqrt(slots[0]) + attrs.Float("epsilon"));
                          });
  if (random.Bool()) c.attrs.Set("decay_factor", 0.5f);
  return c;
}

OpCase MomentumCase(CaseRandom& random) {
  OpCase c =
      TrainingStep(random, "Momentum", 1,
                   [](double r, double t, const Attrs& attrs, double g,
                      double& x, double* slots) {
                     const double alpha = attrs.Float("alpha");
                     const double beta = t > 0 ? attrs.Float("beta") : 1;
                     slots[0] = alpha * slots[0] + beta * g;
                     const bool nesterov = attrs.String("mode") == "nesterov";
                     x -= r * (nesterov ? g + alpha * slots[0] : slots[0]);
                   });
  c.attrs.Set("alpha", random.Pick<float>({0.9f, 0.5f}));
  c.attrs.Set("beta", random.Pick<float>({1.0f, 0.25f}));
  c.attrs.Set("mode", random.Pick<std::string>({"standard", "nesterov"}));
  return c;
}

}  // namespace reprise
