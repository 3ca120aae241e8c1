// Random cases of operators y[i] = f(x[i]) beyond the first few.

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "tests/ops/op_cases.h"

namespace reprise {
namespace {

using Function = std::function<double(double x, const Attrs& attrs)>;

OpCase Unary(CaseRandom& random, std::string op, Function f,
             std::vector<ContentRange> ranges = {{-2, 2}, {-8, 8}}) {
  OpCase c;
  c.op = std::move(op);
  c.in = {F32(random.AnyDims(0, 4))};
  c.ranges = {random.Pick(ranges)};
  c.definition = [f = std::move(f)](const HostTensors& in, const Attrs& attrs) {
    HostTensor y = in[0];
    for (double& element : y.data) element = f(element, attrs);
    return HostTensors{y};
  };
  return c;
}

// Of integers too, one time in three.
OpCase WithIntegers(CaseRandom& random, OpCase c) {
  if (random.Int(0, 2) > 0) return c;
  c.in[0].dtype = random.Pick<DType>({DType::kI32, DType::kI64});
  c.ranges = {{-20, 20}};
  return c;
}

// Gives the attribute one of the values, or leaves it at its default.
void Vary(CaseRandom& random, OpCase& c, const std::string& attribute,
          const std::vector<float>& values) {
  if (random.Bool()) c.attrs.Set(attribute, random.Pick(values));
}

double SoftplusOf(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

double Cut(double x, double low, double high) {
  return std::min(std::max(x, low), high);
}

}  // namespace

OpCase AbsCase(CaseRandom& random) {
  return WithIntegers(random, Unary(random, "Abs", [](double x, const Attrs&) {
                        return std::abs(x);
                      }));
}

OpCase SignCase(CaseRandom& random) {
  return WithIntegers(random, Unary(random, "Sign", [](double x, const Attrs&) {
                        return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0;
                      }));
}

OpCase FloorCase(CaseRandom& random) {
  return Unary(random, "Floor",
               [](double x, const Attrs&) { return std::floor(x); });
}

OpCase CeilCase(CaseRandom& random) {
  return Unary(random, "Ceil",
               [](double x, const Attrs&) { return std::ceil(x); });
}

OpCase RoundCase(CaseRandom& random) {
  return Unary(random, "Round",
               [](double x, const Attrs&) { return std::nearbyint(x); });
}

OpCase ReciprocalCase(CaseRandom& random) {
  return Unary(random, "Reciprocal",
               [](double x, const Attrs&) { return 1 / x; },
               {{0.5, 3}, {-9, -1}});
}

OpCase ErfCase(CaseRandom& random) {
  return Unary(random, "Erf",
               [](double x, const Attrs&) { return std::erf(x); });
}

OpCase SinCase(CaseRandom& random) {
  return Unary(random, "Sin",
               [](double x, const Attrs&) { return std::sin(x); },
               {{-4, 4}, {-100, 100}});
}

OpCase CosCase(CaseRandom& random) {
  return Unary(random, "Cos",
               [](double x, const Attrs&) { return std::cos(x); },
               {{-4, 4}, {-100, 100}});
}

OpCase TanCase(CaseRandom& random) {
  return Unary(random, "Tan",
               [](double x, const Attrs&) { return std::tan(x); },
               {{-1, 1}, {2, 4}});
}

OpCase AsinCase(CaseRandom& random) {
  return Unary(random, "Asin",
               [](double x, const Attrs&) { return std::asin(x); },
               {{-0.9, 0.9}});
}

OpCase AcosCase(CaseRandom& random) {
  return Unary(random, "Acos",
               [](double x, const Attrs&) { return std::acos(x); },
               {{-0.9, 0.9}});
}

OpCase AtanCase(CaseRandom& random) {
  return Unary(random, "Atan",
               [](double x, const Attrs&) { return std::atan(x); },
               {{-2, 2}, {-50, 50}});
}

OpCase SinhCase(CaseRandom& random) {
  return Unary(random, "Sinh",
               [](double x, const Attrs&) { return std::sinh(x); },
               {{-2, 2}, {-10, 10}});
}

OpCase CoshCase(CaseRandom& random) {
  return Unary(random, "Cosh",
               [](double x, const Attrs&) { return std::cosh(x); },
               {{-2, 2}, {-10, 10}});
}

OpCase AsinhCase(CaseRandom& random) {
  return Unary(random, "Asinh",
               [](double x, const Attrs&) { return std::asinh(x); },
               {{-2, 2}, {-1e6, 1e6}});
}

OpCase AcoshCase(CaseRandom& random) {
  return Unary(random, "Acosh",
               [](double x, const Attrs&) { return std::acosh(x); },
               {{1.1, 3}, {2, 1e6}});
}

OpCase AtanhCase(CaseRandom& random) {
  return Unary(random, "Atanh",
               [](double x, const Attrs&) { return std::atanh(x); },
               {{-0.9, 0.9}});
}

OpCase SoftplusCase(CaseRandom& random) {
  return Unary(random, "Softplus",
               [](double x, const Attrs&) { return SoftplusOf(x); },
               {{-2, 2}, {-30, 30}});
}

OpCase SoftsignCase(CaseRandom& random) {
  return Unary(random, "Softsign",
               [](double x, const Attrs&) { return x / (1 + std::abs(x)); },
               {{-2, 2}, {-100, 100}});
}

OpCase SwishCase(CaseRandom& random) {
  OpCase c = Unary(random, "Swish",
                   [](double x, const Attrs& attrs) {
                     return x / (1 + std::exp(-attrs.Float("alpha") * x));
                   },
                   {{-2, 2}, {-30, 30}});
  Vary(random, c, "alpha", {1.702f, 0.0f, -0.5f});
  return c;
}

OpCase HardSigmoidCase(CaseRandom& random) {
  OpCase c = Unary(random, "HardSigmoid", [](double x, const Attrs& attrs) {
    return Cut(attrs.Float("alpha") * x + attrs.Float("beta"), 0, 1);
  });
  Vary(random, c, "alpha", {0.375f, -0.25f});
  Vary(random, c, "beta", {0.25f, 0.75f});
  return c;
}

OpCase HardSwishCase(CaseRandom& random) {
  return Unary(random, "HardSwish", [](double x, const Attrs&) {
    return x * Cut(x / 6 + 0.5, 0, 1);
  });
}

OpCase MishCase(CaseRandom& random) {
  return Unary(
      random, "Mish",
      [](double x, const Attrs&) { return x * std::tanh(SoftplusOf(x)); },
      {{-2, 2}, {-30, 30}});
}

OpCase SeluCase(CaseRandom& random) {
  OpCase c = Unary(random, "Selu", [](double x, const Attrs& attrs) {
    const double gamma = attrs.Float("gamma");
    return x > 0 ? gamma * x : gamma * attrs.Float("alpha") * std::expm1(x);
  });
  Vary(random, c, "alpha", {0.5f, 0.0f, -0.75f});
  Vary(random, c, "gamma", {2.0f, -0.5f});
  return c;
}

OpCase CeluCase(CaseRandom& random) {
  OpCase c = Unary(random, "Celu",
                   [](double x, const Attrs& attrs) {
                     const double alpha = attrs.Float("alpha");
                     return x > 0 ? x : alpha * std::expm1(x / alpha);
                   },
                   {{-2, 2}});
  Vary(random, c, "alpha", {0.5f, 2.0f, -1.0f});
  return c;
}

OpCase ThresholdedReluCase(CaseRandom& random) {
  OpCase c = Unary(random, "ThresholdedRelu", [](double x, const Attrs& attrs) {
    return x > attrs.Float("alpha") ? x : 0;
  });
  Vary(random, c, "alpha", {0.5f, 0.0f, -0.75f});
  return c;
}

OpCase ClipCase(CaseRandom& random) {
  OpCase c = Unary(random, "Clip", [](double x, const Attrs& attrs) {
    return Cut(x, attrs.Float("min"), attrs.Float("max"));
  });
  Vary(random, c, "min", {-1.0625f, 0.5f});
  Vary(random, c, "max", {1.0f, 0.25f});
  return c;
}

OpCase NotCase(CaseRandom& random) {
  OpCase c = Unary(random, "Not",
                   [](double x, const Attrs&) { return x == 0 ? 1.0 : 0.0; });
  c.in[0].dtype = DType::kBool;
  c.ranges = {{0, 2}};
  return c;
}

namespace {

// The definition of a test of an element; random contents are finite: special
// ones are in compare_test.cc.
OpCase Test(CaseRandom& random, const std::string& op, Function f) {
  OpCase c = Unary(random, op, std::move(f));
  const Definition elements = c.definition;
  c.definition = [elements](const HostTensors& in, const Attrs& attrs) {
    HostTensors out = elements(in, attrs);
    out[0].type.dtype = DType::kBool;
    return out;
  };
  return c;
}

}  // namespace

OpCase IsNanCase(CaseRandom& random) {
  return Test(random, "IsNaN",
              [](double x, const Attrs&) { return std::isnan(x) ? 1.0 : 0.0; });
}

OpCase IsInfCase(CaseRandom& random) {
  OpCase c = Test(random, "IsInf", [](double x, const Attrs& attrs) {
    return std::isinf(x) &&
                   attrs.Int(x < 0 ? "detect_negative" : "detect_positive") != 0
               ? 1.0
               : 0.0;
  });
  if (random.Bool()) c.attrs.Set("detect_negative", random.Int(0, 1));
  return c;
}

}  // namespace reprise
