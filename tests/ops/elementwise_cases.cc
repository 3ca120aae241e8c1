// Random cases of operators that work element by element.

#include <cmath>
#include <functional>
#include <utility>

#include "tests/ops/op_cases.h"

namespace reprise {
namespace {

OpCase Unary(CaseRandom& random, std::string op, double (*f)(double)) {
  OpCase c;
  c.op = std::move(op);
  c.in = {F32(random.AnyDims(0, 4))};
  c.definition = [f](const HostTensors& in, const Attrs&) {
    return HostTensors{MapElements(in[0], f)};
  };
  return c;
}

// The definition has a parameter by the name of a float attribute.
OpCase UnaryWithAlpha(CaseRandom& random, std::string op, float alpha,
                      double (*f)(double x, double alpha)) {
  OpCase c;
  c.op = std::move(op);
  c.in = {F32(random.AnyDims(0, 4))};
  if (random.Bool()) c.attrs.Set("alpha", alpha);
  c.definition = [f](const HostTensors& in, const Attrs& attrs) {
    HostTensor y = in[0];
    const double alpha = attrs.Float("alpha");
    for (double& element : y.data) element = f(element, alpha);
    return HostTensors{y};
  };
  return c;
}

OpCase Binary(CaseRandom& random, std::string op, double (*f)(double, double)) {
  OpCase c;
  c.op = std::move(op);
  const Dims dims = random.AnyDims(0, 4);
  Dims a = dims;
  Dims b = dims;
  switch (random.Int(0, 3)) {
    case 0:
      a = random.Narrowed(dims);
      break;
    case 1:
      b = random.Narrowed(dims);
      break;
    case 2:  // both are broadcast
      for (size_t i = 0; i < dims.size(); ++i) {
        if (random.Bool()) (random.Bool() ? a : b)[i] = 1;
      }
      break;
    default:
      break;
  }
  const DType dtype = random.Int(0, 3) > 0
                          ? DType::kF32
                          : random.Pick<DType>({DType::kI32, DType::kI64});
  c.in = {{dtype, a}, {dtype, b}};
  c.definition = [f](const HostTensors& in, const Attrs&) {
    return HostTensors{BroadcastElements(in[0], in[1], f)};
  };
  // Gradients are sums of up to a thousand terms.
  c.gradient_tolerance = 1e-4;
  return c;
}

double NormalDistribution(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2));
}

}  // namespace

OpCase AddCase(CaseRandom& random) {
  return Binary(random, "Add", [](double a, double b) { return a + b; });
}

OpCase SubCase(CaseRandom& random) {
  return Binary(random, "Sub", [](double a, double b) { return a - b; });
}

OpCase MulCase(CaseRandom& random) {
  return Binary(random, "Mul", [](double a, double b) { return a * b; });
}

OpCase DivCase(CaseRandom& random) {
  OpCase c = Binary(random, "Div", [](double a, double b) { return a / b; });
  c.ranges = {{-2, 2}, {0.5, 2}};
  if (c.in[0].dtype != DType::kF32) {
    c.ranges = {{-20, 20}, {-5, 5}};
    c.definition = [](const HostTensors& in, const Attrs&) {
      return HostTensors{BroadcastElements(
          in[0], in[1],
          [](double a, double b) { return b == 0 ? 0.0 : std::trunc(a / b); })};
    };
  }
  return c;
}

OpCase PowCase(CaseRandom& random) {
  OpCase c =
      Binary(random, "Pow", [](double a, double b) { return std::pow(a, b); });
  for (TensorType& type : c.in) type.dtype = DType::kF32;
  c.ranges = {{0.25, 3}, {-2, 3}};
  return c;
}

OpCase NegCase(CaseRandom& random) {
  return Unary(random, "Neg", [](double x) { return -x; });
}

OpCase ExpCase(CaseRandom& random) {
  OpCase c = Unary(random, "Exp", [](double x) { return std::exp(x); });
  c.ranges = {random.Pick<ContentRange>({{-2, 2}, {-20, 2}})};
  return c;
}

OpCase LogCase(CaseRandom& random) {
  OpCase c = Unary(random, "Log", [](double x) { return std::log(x); });
  c.ranges = {random.Pick<ContentRange>({{0.1, 3}, {1, 1e6}})};
  return c;
}

OpCase SqrtCase(CaseRandom& random) {
  OpCase c = Unary(random, "Sqrt", [](double x) { return std::sqrt(x); });
  c.ranges = {random.Pick<ContentRange>({{0.1, 3}, {1, 1e6}})};
  return c;
}

OpCase SquareCase(CaseRandom& random) {
  return Unary(random, "Square", [](double x) { return x * x; });
}

OpCase ReluCase(CaseRandom& random) {
  return Unary(random, "Relu", [](double x) { return x > 0 ? x : 0; });
}

OpCase LeakyReluCase(CaseRandom& random) {
  return UnaryWithAlpha(
      random, "LeakyRelu", random.Pick<float>({0.25f, 0.0f, -0.5f}),
      [](double x, double alpha) { return x > 0 ? x : alpha * x; });
}

OpCase EluCase(CaseRandom& random) {
  return UnaryWithAlpha(
      random, "Elu", random.Pick<float>({0.5f, 0.0f, -0.75f}),
      [](double x, double alpha) { return x > 0 ? x : alpha * std::expm1(x); });
}

OpCase SigmoidCase(CaseRandom& random) {
  OpCase c =
      Unary(random, "Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); });
  c.ranges = {random.Pick<ContentRange>({{-2, 2}, {-30, 30}})};
  return c;
}

OpCase TanhCase(CaseRandom& random) {
  OpCase c = Unary(random, "Tanh", [](double x) { return std::tanh(x); });
  c.ranges = {random.Pick<ContentRange>({{-1, 1}, {-12, 12}})};
  return c;
}

OpCase GeluCase(CaseRandom& random) {
  OpCase c =
      Unary(random, "Gelu", [](double x) { return x * NormalDistribution(x); });
  c.ranges = {random.Pick<ContentRange>({{-2, 2}, {-8, 8}})};
  if (random.Bool()) {
    c.attrs.Set("approximate", std::string("tanh"));
    c.definition = [](const HostTensors& in, const Attrs&) {
      return HostTensors{MapElements(in[0], [](double x) {
        const double u =
            std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
        return 0.5 * x * (1 + std::tanh(u));
      })};
    };
  }
  return c;
}

OpCase CastCase(CaseRandom& random) {
  const std::vector<DType> dtypes = {DType::kF32, DType::kI32, DType::kI64,
                                     DType::kBool, DType::kU8};
  OpCase c;
  c.op = "Cast";
  c.in = {{random.Pick(dtypes), random.AnyDims(0, 4)}};
  const DType to = random.Pick(dtypes);
  c.attrs.Set("to", to);
  const DType from = c.in[0].dtype;
  c.ranges = {from == DType::kBool                     ? ContentRange{0, 2}
              : from == DType::kU8 || to == DType::kU8 ? ContentRange{0, 200}
                                                       : ContentRange{-9, 9}};
  c.gradient = from == DType::kF32 && to == DType::kF32;
  c.definition = [to](const HostTensors& in, const Attrs&) {
    HostTensor y = in[0];
    y.type.dtype = to;
    for (double& x : y.data) {
      if (to == DType::kBool) {
        x = x != 0 ? 1 : 0;
      } else if (to != DType::kF32) {
        x = std::trunc(x);
      }
    }
    return HostTensors{y};
  };
  return c;
}

}  // namespace reprise
