// Random cases of operators that order, count and sum along an axis.

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/ops/op_cases.h"

namespace reprise {
namespace {

// A case along a random axis, the one that the definition gets.
OpCase AlongAxis(std::string op, CaseRandom& random, int64_t& axis) {
  OpCase c;
  c.op = std::move(op);
  c.in = {F32(random.AnyDims(1, 4))};
  c.in[0].dtype =
      random.Pick<DType>({DType::kF32, DType::kF32, DType::kI32, DType::kI64});
  const int rank = c.in[0].rank();
  axis = random.Int(0, rank - 1);
  c.attrs.Set("axis", random.Bool() ? axis : axis - rank);
  // Integers have ties.
  c.ranges = {{-3, 4}};
  return c;
}

// The elements along `axis` through `at`.
std::vector<double> Lane(const HostTensor& x, Dims at, int64_t axis) {
  std::vector<double> lane;
  for (at[axis] = 0; at[axis] < x.type.dims[axis]; ++at[axis]) {
    lane.push_back(At(x, at));
  }
  return lane;
}

OpCase ArgCase(CaseRandom& random, const std::string& op) {
  int64_t axis = 0;
  OpCase c = AlongAxis(op, random, axis);
  c.in[0].dims[axis] = std::max<int64_t>(1, c.in[0].dims[axis]);
  if (random.Bool()) c.attrs.Set("keepdims", random.Int(0, 1));
  if (random.Bool()) c.attrs.Set("select_last_index", random.Int(0, 1));
  c.gradient = false;
  c.definition = [axis, op](const HostTensors& in, const Attrs& attrs) {
    Dims dims = in[0].type.dims;
    dims[axis] = 1;
    HostTensor y = FromIndex(I64(dims), [&](const Dims& at) {
      std::vector<double> lane = Lane(in[0], at, axis);
      const bool last = attrs.Int("select_last_index") != 0;
      if (last) std::reverse(lane.begin(), lane.end());
      const auto best = op == "ArgMax"
                            ? std::max_element(lane.begin(), lane.end())
                            : std::min_element(lane.begin(), lane.end());
      const auto k = best - lane.begin();
      return static_cast<double>(
          last ? static_cast<int64_t>(lane.size()) - 1 - k : k);
    });
    if (attrs.Int("keepdims") == 0) {
      y.type.dims.erase(y.type.dims.begin() + axis);
    }
    return HostTensors{y};
  };
  return c;
}

}  // namespace

OpCase CumSumCase(CaseRandom& random) {
  int64_t axis = 0;
  OpCase c = AlongAxis("CumSum", random, axis);
  if (random.Bool()) c.attrs.Set("exclusive", random.Int(0, 1));
  if (random.Bool()) c.attrs.Set("reverse", random.Int(0, 1));
  c.gradient_tolerance = 1e-4;
  c.definition = [axis](const HostTensors& in, const Attrs& attrs) {
    return HostTensors{FromIndex(in[0].type, [&](const Dims& at) {
      const std::vector<double> lane = Lane(in[0], at, axis);
      double sum = 0;
      for (size_t k = 0; k < lane.size(); ++k) {
        const int64_t ahead = attrs.Int("reverse") == 0
                                  ? at[axis] - static_cast<int64_t>(k)
                                  : static_cast<int64_t>(k) - at[axis];
        if (ahead > 0 || (ahead == 0 && attrs.Int("exclusive") == 0)) {
          sum += lane[k];
        }
      }
      return sum;
    })};
  };
  return c;
}

OpCase ArgMaxCase(CaseRandom& random) { return ArgCase(random, "ArgMax"); }
OpCase ArgMinCase(CaseRandom& random) { return ArgCase(random, "ArgMin"); }

OpCase TopKCase(CaseRandom& random) {
  int64_t axis = 0;
  OpCase c = AlongAxis("TopK", random, axis);
  const int64_t k = random.Int(0, c.in[0].dims[axis]);
  c.attrs.Set("k", k);
  if (random.Bool()) c.attrs.Set("largest", random.Int(0, 1));
  if (random.Bool()) c.attrs.Set("sorted", random.Int(0, 1));
  c.num_outputs = static_cast<int>(random.Int(1, 2));
  c.definition = [axis, k](const HostTensors& in, const Attrs& attrs) {
    Dims dims = in[0].type.dims;
    dims[axis] = k;
    const auto place = [&](const Dims& at) {
      const std::vector<double> lane = Lane(in[0], at, axis);
      std::vector<int64_t> order(lane.size());
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        return attrs.Int("largest") != 0 ? lane[i] > lane[j]
                                         : lane[i] < lane[j];
      });
      return order[at[axis]];
    };
    return HostTensors{FromIndex({in[0].type.dtype, dims},
                                 [&](const Dims& at) {
                                   Dims from = at;
                                   from[axis] = place(at);
                                   return At(in[0], from);
                                 }),
                       FromIndex(I64(dims), [&](const Dims& at) {
                         return static_cast<double>(place(at));
                       })};
  };
  return c;
}

OpCase OneHotCase(CaseRandom& random) {
  OpCase c;
  c.op = "OneHot";
  const Dims dims = random.AnyDims(0, 3);
  const int64_t depth = random.Int(0, 5);
  c.in = {{random.Pick<DType>({DType::kI32, DType::kI64}), dims},
          {random.Pick<DType>({DType::kF32, DType::kF32, DType::kI32,
                               DType::kI64, DType::kU8}),
           {2}}};
  // Some are out of range.
  c.ranges = {{static_cast<double>(-depth - 1), static_cast<double>(depth + 1)},
              {0, 10}};
  c.attrs.Set("depth", depth);
  const int rank = static_cast<int>(dims.size());
  int64_t axis = rank;
  if (random.Bool()) {
    axis = random.Int(0, rank);
    c.attrs.Set("axis", random.Bool() ? axis : axis - rank - 1);
  }
  c.gradient_tolerance = 2e-4;
  c.definition = [axis, depth](const HostTensors& in, const Attrs&) {
    Dims out = in[0].type.dims;
    out.insert(out.begin() + axis, depth);
    return HostTensors{FromIndex({in[1].type.dtype, out}, [&](const Dims& at) {
      Dims index_at = at;
      index_at.erase(index_at.begin() + axis);
      const int64_t index = static_cast<int64_t>(At(in[0], index_at));
      const bool hot = index == at[axis] || index + depth == at[axis];
      return in[1].data[hot ? 1 : 0];
    })};
  };
  return c;
}

}  // namespace reprise
