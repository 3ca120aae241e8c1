// Random cases of operators that read and write what indices name.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/ops/op_cases.h"

namespace reprise {
namespace {

int64_t FromFront(double index, int64_t dim) {
  const int64_t at = static_cast<int64_t>(index);
  return at < 0 ? at + dim : at;
}

int64_t Offset(const Dims& dims, const Dims& index) {
  int64_t offset = 0;
  for (size_t i = 0; i < dims.size(); ++i) offset = offset * dims[i] + index[i];
  return offset;
}

TensorType Data(CaseRandom& random, Dims dims) {
  const DType dtype =
      random.Pick<DType>({DType::kF32, DType::kF32, DType::kI32, DType::kI64});
  return {dtype, std::move(dims)};
}

TensorType Indices(CaseRandom& random, Dims dims) {
  return {random.Pick<DType>({DType::kI32, DType::kI64}), std::move(dims)};
}

// The position in data that an element of the indices stands for.
Dims ElementPosition(const HostTensor& data, const HostTensor& indices, Dims at,
                     int64_t axis) {
  at[axis] = FromFront(At(indices, at), data.type.dims[axis]);
  return at;
}

// The position in data of `at` in the items of a GatherND or ScatterND.
Dims RowPosition(const HostTensor& data, const HostTensor& indices,
                 const Dims& at, int64_t batch_dims) {
  const Dims& dims = indices.type.dims;
  // In parentheses: `at` may be empty, and nothing lies beyond it.
  const auto row_end = at.begin() + (static_cast<int64_t>(dims.size()) - 1);
  Dims position(at.begin(), at.begin() + batch_dims);
  Dims row(at.begin(), row_end);
  for (int64_t k = 0; k < dims.back(); ++k) {
    row.push_back(k);
    position.push_back(
        FromFront(At(indices, row), data.type.dims[batch_dims + k]));
    row.pop_back();
  }
  position.insert(position.end(), row_end, at.end());
  return position;
}

double Meet(const std::string& reduction, double old, double update) {
  if (reduction == "add") return old + update;
  if (reduction == "mul") return old * update;
  if (reduction == "max") return std::max(old, update);
  if (reduction == "min") return std::min(old, update);
  return update;
}

void SetRandomReduction(CaseRandom& random, OpCase& c) {
  const std::string reduction =
      random.Pick<std::string>({"none", "add", "mul", "max", "min"});
  if (reduction != "none" || random.Bool()) {
    c.attrs.Set("reduction", reduction);
  }
  // Slopes of products of up to ten factors are sums of large terms.
  if (reduction == "mul") {
    c.ranges[0] = c.ranges[2] = {-1.5, 1.5};
    c.tolerance = 1e-5;
    c.gradient_tolerance = 2e-4;
  }
  if (c.in[0].dtype != DType::kF32) c.ranges[0] = c.ranges[2] = {-3, 4};
}

int64_t IndexRange(const TensorType& data, int first, int last) {
  int64_t least = 1 << 20;
  for (int i = first; i < last; ++i) least = std::min(least, data.dims[i]);
  return least;
}

}  // namespace

OpCase GatherElementsCase(CaseRandom& random) {
  OpCase c;
  c.op = "GatherElements";
  Dims dims = random.AnyDims(1, 4);
  const int rank = static_cast<int>(dims.size());
  const int64_t axis = random.Int(0, rank - 1);
  dims[axis] = std::max<int64_t>(1, dims[axis]);
  Dims index_dims;
  for (int i = 0; i < rank; ++i) {
    index_dims.push_back(i == axis ? random.Int(0, 6)
                                   : random.Int(dims[i] / 2, dims[i]));
  }
  if (axis > 0 || random.Bool()) {
    c.attrs.Set("axis", random.Bool() ? axis : axis - rank);
  }
  const double range = static_cast<double>(dims[axis]);
  c.in = {Data(random, dims), Indices(random, index_dims)};
  c.ranges = {{0, 100}, {-range, range}};
  c.gradient_tolerance = 2e-4;
  c.definition = [axis](const HostTensors& in, const Attrs&) {
    return HostTensors{
        FromIndex({in[0].type.dtype, in[1].type.dims}, [&](const Dims& at) {
          return At(in[0], ElementPosition(in[0], in[1], at, axis));
        })};
  };
  return c;
}

OpCase GatherNdCase(CaseRandom& random) {
  OpCase c;
  c.op = "GatherND";
  Dims dims = random.AnyDims(1, 4);
  const int rank = static_cast<int>(dims.size());
  for (int64_t& dim : dims) dim = std::max<int64_t>(1, dim);
  const int batch = static_cast<int>(random.Int(0, rank - 1));
  if (batch > 0) c.attrs.Set("batch_dims", int64_t{batch});
  Dims index_dims(dims.begin(), dims.begin() + batch);
  for (int64_t i = random.Int(0, 2); i > 0; --i) {
    index_dims.push_back(random.Int(0, 4));
  }
  const int length = static_cast<int>(random.Int(1, rank - batch));
  index_dims.push_back(length);
  c.in = {Data(random, dims), Indices(random, index_dims)};
  const double range =
      static_cast<double>(IndexRange(c.in[0], batch, batch + length));
  c.ranges = {{0, 100}, {-range, range}};
  c.gradient_tolerance = 2e-4;
  c.definition = [batch, length](const HostTensors& in, const Attrs&) {
    Dims out(in[1].type.dims.begin(), in[1].type.dims.end() - 1);
    out.insert(out.end(), in[0].type.dims.begin() + batch + length,
               in[0].type.dims.end());
    return HostTensors{FromIndex({in[0].type.dtype, out}, [&](const Dims& at) {
      return At(in[0], RowPosition(in[0], in[1], at, batch));
    })};
  };
  return c;
}

OpCase ScatterElementsCase(CaseRandom& random) {
  const OpCase gather = GatherElementsCase(random);
  OpCase c = gather;
  c.op = "ScatterElements";
  c.in.push_back({c.in[0].dtype, c.in[1].dims});
  c.ranges = {{-2, 2}, gather.ranges[1], {-2, 2}};
  SetRandomReduction(random, c);
  c.definition = [](const HostTensors& in, const Attrs& attrs) {
    HostTensor y = in[0];
    const int64_t axis =
        FromFront(static_cast<double>(attrs.Int("axis")), in[0].type.rank());
    ForEachIndex(in[1].type.dims, [&](const Dims& at) {
      double& to =
          y.data[Offset(y.type.dims, ElementPosition(in[0], in[1], at, axis))];
      to = Meet(attrs.String("reduction"), to, At(in[2], at));
    });
    return HostTensors{y};
  };
  return c;
}

OpCase ScatterNdCase(CaseRandom& random) {
  OpCase c = GatherNdCase(random);
  while (c.attrs.Has("batch_dims")) c = GatherNdCase(random);
  c.op = "ScatterND";
  const int64_t length = c.in[1].dims.back();
  Dims updates(c.in[1].dims.begin(), c.in[1].dims.end() - 1);
  updates.insert(updates.end(), c.in[0].dims.begin() + length,
                 c.in[0].dims.end());
  c.in.push_back({c.in[0].dtype, updates});
  c.ranges = {{-2, 2}, c.ranges[1], {-2, 2}};
  SetRandomReduction(random, c);
  c.definition = [](const HostTensors& in, const Attrs& attrs) {
    HostTensor y = in[0];
    ForEachIndex(in[2].type.dims, [&](const Dims& at) {
      double& to =
          y.data[Offset(y.type.dims, RowPosition(in[0], in[1], at, 0))];
      to = Meet(attrs.String("reduction"), to, At(in[2], at));
    });
    return HostTensors{y};
  };
  return c;
}

}  // namespace reprise
