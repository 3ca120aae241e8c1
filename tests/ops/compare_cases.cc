// Random cases of comparisons, logic and choice.

#include <utility>
#include <vector>

#include "tests/ops/op_cases.h"

namespace reprise {
namespace {

// Dims that broadcast to `dims`, by their own or only together.
std::vector<Dims> BroadcastingDims(CaseRandom& random, const Dims& dims,
                                   int count) {
  std::vector<Dims> all(count, dims);
  for (Dims& own : all) {
    if (random.Int(0, 2) == 0) own = random.Narrowed(dims);
  }
  if (random.Int(0, 3) == 0) all[random.Int(0, count - 1)] = {};
  return all;
}

OpCase Binary(CaseRandom& random, std::string op, DType dtype,
              double (*f)(double, double)) {
  OpCase c;
  c.op = std::move(op);
  for (Dims& dims : BroadcastingDims(random, random.AnyDims(0, 4), 2)) {
    c.in.push_back({dtype, std::move(dims)});
  }
  // Whole numbers too: equal ones must occur.
  c.ranges = {dtype == DType::kBool ? ContentRange{0, 2}
              : dtype == DType::kU8 ? ContentRange{0, 5}
                                    : ContentRange{-3, 3}};
  c.definition = [f](const HostTensors& in, const Attrs&) {
    HostTensor y = BroadcastElements(in[0], in[1], f);
    y.type.dtype = DType::kBool;
    return HostTensors{y};
  };
  return c;
}

OpCase Compare(CaseRandom& random, std::string op,
               double (*f)(double, double)) {
  const DType dtype = random.Pick<DType>(
      {DType::kF32, DType::kF32, DType::kI32, DType::kI64, DType::kU8});
  return Binary(random, std::move(op), dtype, f);
}

}  // namespace

OpCase EqualCase(CaseRandom& random) {
  OpCase c = Compare(random, "Equal",
                     [](double a, double b) { return a == b ? 1.0 : 0.0; });
  if (random.Int(0, 3) > 0) return c;
  for (TensorType& type : c.in) type.dtype = DType::kBool;
  c.ranges = {{0, 2}};
  return c;
}

OpCase LessCase(CaseRandom& random) {
  return Compare(random, "Less",
                 [](double a, double b) { return a < b ? 1.0 : 0.0; });
}

OpCase LessOrEqualCase(CaseRandom& random) {
  return Compare(random, "LessOrEqual",
                 [](double a, double b) { return a <= b ? 1.0 : 0.0; });
}

OpCase GreaterCase(CaseRandom& random) {
  return Compare(random, "Greater",
                 [](double a, double b) { return a > b ? 1.0 : 0.0; });
}

OpCase GreaterOrEqualCase(CaseRandom& random) {
  return Compare(random, "GreaterOrEqual",
                 [](double a, double b) { return a >= b ? 1.0 : 0.0; });
}

OpCase AndCase(CaseRandom& random) {
  return Binary(random, "And", DType::kBool,
                [](double a, double b) { return a * b; });
}

OpCase OrCase(CaseRandom& random) {
  return Binary(random, "Or", DType::kBool,
                [](double a, double b) { return a + b > 0 ? 1.0 : 0.0; });
}

OpCase XorCase(CaseRandom& random) {
  return Binary(random, "Xor", DType::kBool,
                [](double a, double b) { return a != b ? 1.0 : 0.0; });
}

OpCase WhereCase(CaseRandom& random) {
  const DType dtype = random.Pick<DType>(
      {DType::kF32, DType::kF32, DType::kI32, DType::kI64, DType::kBool});
  const std::vector<Dims> dims =
      BroadcastingDims(random, random.AnyDims(0, 4), 3);
  OpCase c;
  c.op = "Where";
  c.in = {{DType::kBool, dims[0]}, {dtype, dims[1]}, {dtype, dims[2]}};
  c.ranges = {{0, 2},
              dtype == DType::kBool ? ContentRange{0, 2} : ContentRange{-9, 9}};
  c.definition = [](const HostTensors& in, const Attrs&) {
    const auto first = [](double a, double) { return a; };
    const auto second = [](double, double b) { return b; };
    const HostTensor ab = BroadcastElements(in[1], in[2], first);
    const HostTensor condition = BroadcastElements(in[0], ab, first);
    HostTensor y = BroadcastElements(condition, in[1], second);
    const HostTensor b = BroadcastElements(condition, in[2], second);
    for (size_t i = 0; i < y.data.size(); ++i) {
      if (condition.data[i] == 0) y.data[i] = b.data[i];
    }
    y.type.dtype = in[1].type.dtype;
    return HostTensors{y};
  };
  c.gradient_tolerance = 1e-4;
  return c;
}

}  // namespace reprise
