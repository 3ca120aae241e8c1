// Random cases of operators of several operands that broadcast to each other.

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/ops/op_cases.h"

namespace reprise {
namespace {

OpCase Variadic(CaseRandom& random, std::string op,
                double (*f)(double, double)) {
  OpCase c;
  c.op = std::move(op);
  const Dims dims = random.AnyDims(0, 4);
  const bool broadcast = random.Bool();
  const int64_t count = random.Int(1, 4);
  for (int64_t i = 0; i < count; ++i) {
    const bool narrow = broadcast && i > 0 && random.Bool();
    c.in.push_back(F32(narrow ? random.Narrowed(dims) : dims));
  }
  if (random.Bool()) std::reverse(c.in.begin(), c.in.end());
  c.definition = [f](const HostTensors& in, const Attrs&) {
    HostTensor y = in[0];
    for (size_t i = 1; i < in.size(); ++i) y = BroadcastElements(y, in[i], f);
    return HostTensors{y};
  };
  c.gradient_tolerance = 1e-4;
  return c;
}

OpCase WithIntegers(CaseRandom& random, OpCase c) {
  if (random.Int(0, 3) > 0) return c;
  const DType dtype = random.Pick<DType>({DType::kI32, DType::kI64});
  for (TensorType& type : c.in) type.dtype = dtype;
  c.ranges = {{-9, 9}};
  return c;
}

}  // namespace

OpCase MaxCase(CaseRandom& random) {
  return WithIntegers(random, Variadic(random, "Max", [](double a, double b) {
                        return std::max(a, b);
                      }));
}

OpCase MinCase(CaseRandom& random) {
  return WithIntegers(random, Variadic(random, "Min", [](double a, double b) {
                        return std::min(a, b);
                      }));
}

OpCase SumCase(CaseRandom& random) {
  return Variadic(random, "Sum", [](double a, double b) { return a + b; });
}

OpCase MeanCase(CaseRandom& random) {
  OpCase c = Variadic(random, "Mean", [](double a, double b) { return a + b; });
  const Definition sum = c.definition;
  c.definition = [sum](const HostTensors& in, const Attrs& attrs) {
    HostTensors y = sum(in, attrs);
    for (double& v : y[0].data) v /= static_cast<double>(in.size());
    return y;
  };
  return c;
}

OpCase ModCase(CaseRandom& random) {
  OpCase c;
  c.op = "Mod";
  const Dims dims = random.AnyDims(0, 4);
  const DType dtype =
      random.Pick<DType>({DType::kF32, DType::kI32, DType::kI64});
  c.in = {{dtype, dims}, {dtype, random.Bool() ? random.Narrowed(dims) : dims}};
  const bool sign_of_a = dtype == DType::kF32 || random.Bool();
  if (sign_of_a) c.attrs.Set("fmod", int64_t{1});
  if (dtype == DType::kF32) {
    c.ranges = {{-9, 9}, {1, 3}};
  } else {
    c.ranges = {{-20, 20}, {-5, 6}};
  }
  c.definition = [sign_of_a](const HostTensors& in, const Attrs&) {
    return HostTensors{
        BroadcastElements(in[0], in[1], [sign_of_a](double a, double b) {
          if (b == 0) return 0.0;
          const double rest = std::fmod(a, b);
          return !sign_of_a && rest * b < 0 ? rest + b : rest;
        })};
  };
  c.gradient_tolerance = 2e-4;
  return c;
}

OpCase PReluCase(CaseRandom& random) {
  OpCase c;
  c.op = "PRelu";
  const Dims dims = random.AnyDims(0, 4);
  c.in = {F32(dims), F32(random.Bool() ? random.Narrowed(dims) : dims)};
  c.definition = [](const HostTensors& in, const Attrs&) {
    return HostTensors{BroadcastElements(
        in[0], in[1],
        [](double x, double slope) { return x < 0 ? slope * x : x; })};
  };
  c.gradient_tolerance = 1e-4;
  return c;
}

}  // namespace reprise
