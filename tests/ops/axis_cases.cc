// Random cases of operators that work along axes.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/status_macros.h"
#include "tests/ops/op_cases.h"

namespace reprise {
namespace {

// x's maximum and sum of exponentials along `axis`, at `index`.
double LogSumExp(const HostTensor& x, Dims index, int axis) {
  double largest = -std::numeric_limits<double>::infinity();
  for (index[axis] = 0; index[axis] < x.type.dims[axis]; ++index[axis]) {
    largest = std::max(largest, At(x, index));
  }
  double sum = 0;
  for (index[axis] = 0; index[axis] < x.type.dims[axis]; ++index[axis]) {
    sum += std::exp(At(x, index) - largest);
  }
  return largest + std::log(sum);
}

OpCase SoftmaxLike(CaseRandom& random, std::string op, bool log) {
  OpCase c;
  c.op = std::move(op);
  c.in = {F32(random.AnyDims(1, 4))};
  const int rank = c.in[0].rank();
  if (random.Int(0, 2) > 0) c.attrs.Set("axis", random.Int(-rank, rank - 1));
  c.ranges = {random.Pick<ContentRange>({{-2, 2}, {-30, 30}})};
  c.definition = [log](const HostTensors& in, const Attrs& attrs) {
    const HostTensor& x = in[0];
    int64_t axis = attrs.Int("axis");
    if (axis < 0) axis += x.type.rank();
    return HostTensors{FromIndex(x.type, [&](const Dims& index) {
      const double y =
          At(x, index) - LogSumExp(x, index, static_cast<int>(axis));
      return log ? y : std::exp(y);
    })};
  };
  return c;
}

// The definition of a reduction, given that of a list of numbers.
HostTensors Reduced(const HostTensor& x, const Attrs& attrs,
                    double (*f)(const std::vector<double>&)) {
  const int rank = x.type.rank();
  std::vector<bool> reduced(rank, false);
  const bool some = attrs.Has("axes") && !attrs.IntList("axes").empty();
  if (some) {
    for (const int64_t axis : attrs.IntList("axes")) {
      reduced[axis < 0 ? axis + rank : axis] = true;
    }
  } else if (attrs.Int("noop_with_empty_axes") == 0) {
    reduced.assign(rank, true);
  }
  Dims kept = x.type.dims;
  Dims out;
  Dims inner = x.type.dims;
  for (int i = 0; i < rank; ++i) {
    if (reduced[i]) {
      kept[i] = 1;
    } else {
      inner[i] = 1;
    }
    if (!reduced[i] || attrs.Int("keepdims") != 0) out.push_back(kept[i]);
  }
  HostTensor y = FromIndex({x.type.dtype, kept}, [&](const Dims& at) {
    std::vector<double> list;
    ForEachIndex(inner, [&](const Dims& along) {
      Dims index = at;
      for (int i = 0; i < rank; ++i) index[i] += along[i];
      list.push_back(At(x, index));
    });
    return f(list);
  });
  y.type.dims = out;
  return {y};
}

OpCase Reduce(CaseRandom& random, std::string op,
              double (*f)(const std::vector<double>&)) {
  OpCase c;
  c.op = std::move(op);
  c.in = {F32(random.AnyDims(0, 5))};
  const int rank = c.in[0].rank();
  if (random.Int(0, 4) > 0) {
    Ints axes;
    for (int i = 0; i < rank; ++i) {
      if (random.Bool()) axes.push_back(random.Bool() ? i : i - rank);
    }
    if (random.Bool()) std::reverse(axes.begin(), axes.end());
    c.attrs.Set("axes", axes);
  }
  if (random.Bool()) c.attrs.Set("keepdims", random.Int(0, 1));
  if (random.Bool()) c.attrs.Set("noop_with_empty_axes", random.Int(0, 1));
  c.definition = [f](const HostTensors& in, const Attrs& attrs) {
    return Reduced(in[0], attrs, f);
  };
  // Up to a thousand terms of size up to 2, added in f32.
  c.tolerance = 1e-5;
  return c;
}

// Of integers too, one time in four; but for the extremes of nothing, which no
// double holds.
OpCase WithIntegers(CaseRandom& random, OpCase c) {
  if (random.Int(0, 3) > 0 || c.in[0].num_elements() == 0) return c;
  c.in[0].dtype = random.Pick<DType>({DType::kI32, DType::kI64});
  c.ranges = {{-20, 20}};
  return c;
}

}  // namespace

OpCase SoftmaxCase(CaseRandom& random) {
  return SoftmaxLike(random, "Softmax", /*log=*/false);
}

OpCase LogSoftmaxCase(CaseRandom& random) {
  return SoftmaxLike(random, "LogSoftmax", /*log=*/true);
}

OpCase ReduceSumCase(CaseRandom& random) {
  return WithIntegers(
      random, Reduce(random, "ReduceSum", [](const std::vector<double>& list) {
        double sum = 0;
        for (const double x : list) sum += x;
        return sum;
      }));
}

OpCase ReduceMeanCase(CaseRandom& random) {
  return Reduce(random, "ReduceMean", [](const std::vector<double>& list) {
    double sum = 0;
    for (const double x : list) sum += x;
    return sum / static_cast<double>(list.size());
  });
}

OpCase ReduceMaxCase(CaseRandom& random) {
  return WithIntegers(
      random, Reduce(random, "ReduceMax", [](const std::vector<double>& list) {
        double largest = -std::numeric_limits<double>::infinity();
        for (const double x : list) largest = std::max(largest, x);
        return largest;
      }));
}

OpCase ReduceMinCase(CaseRandom& random) {
  return WithIntegers(
      random, Reduce(random, "ReduceMin", [](const std::vector<double>& list) {
        double smallest = std::numeric_limits<double>::infinity();
        for (const double x : list) smallest = std::min(smallest, x);
        return smallest;
      }));
}

OpCase ReduceProdCase(CaseRandom& random) {
  OpCase c = Reduce(random, "ReduceProd", [](const std::vector<double>& list) {
    double product = 1;
    for (const double x : list) product *= x;
    return product;
  });
  // A product of a thousand of these is still of order one.
  c.ranges = {{0.98, 1.02}};
  c.tolerance = 2e-5;
  c.gradient_tolerance = 1e-4;
  return c;
}

OpCase ReduceL1Case(CaseRandom& random) {
  return Reduce(random, "ReduceL1", [](const std::vector<double>& list) {
    double sum = 0;
    for (const double x : list) sum += std::abs(x);
    return sum;
  });
}

OpCase ReduceL2Case(CaseRandom& random) {
  OpCase c = Reduce(random, "ReduceL2", [](const std::vector<double>& list) {
    double sum = 0;
    for (const double x : list) sum += x * x;
    return std::sqrt(sum);
  });
  c.ranges = {{0.25, 2}};  // the norm of one element has a kink at 0
  return c;
}

OpCase ReduceSumSquareCase(CaseRandom& random) {
  return Reduce(random, "ReduceSumSquare", [](const std::vector<double>& list) {
    double sum = 0;
    for (const double x : list) sum += x * x;
    return sum;
  });
}

OpCase ReduceLogSumCase(CaseRandom& random) {
  OpCase c =
      Reduce(random, "ReduceLogSum", [](const std::vector<double>& list) {
        double sum = 0;
        for (const double x : list) sum += x;
        return std::log(sum);
      });
  c.ranges = {{0.25, 2}};
  return c;
}

OpCase ReduceLogSumExpCase(CaseRandom& random) {
  OpCase c =
      Reduce(random, "ReduceLogSumExp", [](const std::vector<double>& list) {
        double largest = -std::numeric_limits<double>::infinity();
        for (const double x : list) largest = std::max(largest, x);
        if (list.empty()) return largest;
        double sum = 0;
        for (const double x : list) sum += std::exp(x - largest);
        return largest + std::log(sum);
      });
  c.ranges = {random.Pick<ContentRange>({{-2, 2}, {-100, 100}})};
  return c;
}

}  // namespace reprise
