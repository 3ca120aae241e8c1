// Random cases of operators that move elements and compute nothing.

#include <algorithm>
#include <numeric>
#include <utility>

#include "tests/ops/op_cases.h"

namespace reprise {
namespace {

// The elements of x, in order, under `dims`.
HostTensors Viewed(const HostTensor& x, Dims dims) {
  return {{{x.type.dtype, std::move(dims)}, x.data}};
}

int64_t FromFront(int64_t axis, int rank) {
  return axis < 0 ? axis + rank : axis;
}

// An operand of any element type: these operators take all of them.
TensorType AnyType(CaseRandom& random, Dims dims) {
  const DType dtype =
      random.Int(0, 2) > 0
          ? DType::kF32
          : random.Pick<DType>({DType::kI32, DType::kI64, DType::kU8});
  return {dtype, std::move(dims)};
}

OpCase Shape(std::string op, TensorType x) {
  OpCase c;
  c.op = std::move(op);
  c.in = {std::move(x)};
  c.ranges = {{0, 100}};
  return c;
}

}  // namespace

OpCase ReshapeCase(CaseRandom& random) {
  OpCase c = Shape("Reshape", AnyType(random, random.AnyDims(0, 4)));
  const Dims dims = c.in[0].dims;
  // The prime factors of the elements, dealt out again.
  int64_t n = Product(dims);
  Dims to(random.Int(n == 1 ? 0 : 1, 4), 1);
  if (n == 0) {
    to[0] = 0;
    c.attrs.Set("allowzero", int64_t{1});
  }
  for (int64_t factor = 2; n > 1;) {
    if (n % factor != 0) {
      ++factor;
      continue;
    }
    to[random.Int(0, static_cast<int64_t>(to.size()) - 1)] *= factor;
    n /= factor;
  }
  Ints shape = to;
  if (!shape.empty() && Product(dims) > 0 && random.Bool()) {
    shape[random.Int(0, static_cast<int64_t>(shape.size()) - 1)] = -1;
  }
  c.attrs.Set("shape", shape);
  c.definition = [to](const HostTensors& in, const Attrs&) {
    return Viewed(in[0], to);
  };
  return c;
}

OpCase FlattenCase(CaseRandom& random) {
  OpCase c = Shape("Flatten", AnyType(random, random.AnyDims(0, 4)));
  const int rank = c.in[0].rank();
  if (rank == 0 || random.Bool()) c.attrs.Set("axis", random.Int(-rank, rank));
  c.definition = [](const HostTensors& in, const Attrs& attrs) {
    const Dims& dims = in[0].type.dims;
    const int64_t axis = FromFront(attrs.Int("axis"), in[0].type.rank());
    int64_t rows = 1;
    int64_t columns = 1;
    for (int64_t i = 0; i < in[0].type.rank(); ++i) {
      (i < axis ? rows : columns) *= dims[i];
    }
    return Viewed(in[0], {rows, columns});
  };
  return c;
}

OpCase SqueezeCase(CaseRandom& random) {
  OpCase c = Shape("Squeeze", AnyType(random, random.AnyDims(0, 5)));
  const int rank = c.in[0].rank();
  Ints axes;
  for (int i = 0; i < rank; ++i) {
    if (c.in[0].dims[i] == 1 && random.Bool()) {
      axes.push_back(random.Bool() ? i : i - rank);
    }
  }
  if (random.Bool()) c.attrs.Set("axes", axes);
  c.definition = [](const HostTensors& in, const Attrs& attrs) {
    const int rank = in[0].type.rank();
    Dims dims;
    for (int i = 0; i < rank; ++i) {
      bool dropped = in[0].type.dims[i] == 1;
      if (attrs.Has("axes")) {
        const Ints& axes = attrs.IntList("axes");
        dropped = std::any_of(axes.begin(), axes.end(), [&](int64_t axis) {
          return FromFront(axis, rank) == i;
        });
      }
      if (!dropped) dims.push_back(in[0].type.dims[i]);
    }
    return Viewed(in[0], dims);
  };
  return c;
}

OpCase UnsqueezeCase(CaseRandom& random) {
  OpCase c = Shape("Unsqueeze", AnyType(random, random.AnyDims(0, 4)));
  const int rank = c.in[0].rank() + static_cast<int>(random.Int(0, 2));
  std::vector<int> all(rank);
  std::iota(all.begin(), all.end(), 0);
  Ints axes;
  while (static_cast<int>(axes.size()) < rank - c.in[0].rank()) {
    const size_t at = random.Int(0, static_cast<int64_t>(all.size()) - 1);
    axes.push_back(random.Bool() ? all[at] : all[at] - rank);
    all.erase(all.begin() + at);
  }
  c.attrs.Set("axes", axes);
  c.definition = [rank](const HostTensors& in, const Attrs& attrs) {
    Dims dims(rank, 0);
    for (const int64_t axis : attrs.IntList("axes")) {
      dims[FromFront(axis, rank)] = 1;
    }
    std::vector<bool> added(rank, false);
    for (const int64_t axis : attrs.IntList("axes")) {
      added[FromFront(axis, rank)] = true;
    }
    size_t next = 0;
    for (int i = 0; i < rank; ++i) {
      if (!added[i]) dims[i] = in[0].type.dims[next++];
    }
    return Viewed(in[0], dims);
  };
  return c;
}

OpCase IdentityCase(CaseRandom& random) {
  OpCase c = Shape("Identity", AnyType(random, random.AnyDims(0, 4)));
  c.definition = [](const HostTensors& in, const Attrs&) {
    return HostTensors{in[0]};
  };
  return c;
}

OpCase TransposeCase(CaseRandom& random) {
  OpCase c = Shape("Transpose", AnyType(random, random.AnyDims(0, 5)));
  Ints perm(c.in[0].rank());
  std::iota(perm.begin(), perm.end(), 0);
  for (size_t i = perm.size(); i > 1; --i) {
    std::swap(perm[i - 1], perm[random.Int(0, static_cast<int64_t>(i) - 1)]);
  }
  if (random.Int(0, 3) > 0) {
    c.attrs.Set("perm", perm);
  } else {
    for (size_t i = 0; i < perm.size(); ++i) {
      perm[i] = static_cast<int64_t>(perm.size() - 1 - i);
    }
  }
  c.definition = [perm](const HostTensors& in, const Attrs&) {
    Dims dims;
    for (const int64_t axis : perm) dims.push_back(in[0].type.dims[axis]);
    return HostTensors{
        FromIndex({in[0].type.dtype, dims}, [&](const Dims& index) {
          Dims from(index.size());
          for (size_t i = 0; i < index.size(); ++i) from[perm[i]] = index[i];
          return At(in[0], from);
        })};
  };
  return c;
}

OpCase ConcatCase(CaseRandom& random) {
  OpCase c;
  c.op = "Concat";
  const TensorType first = AnyType(random, random.AnyDims(1, 4));
  const int64_t axis = random.Int(0, first.rank() - 1);
  c.attrs.Set("axis", random.Bool() ? axis : axis - first.rank());
  const int64_t count = random.Int(1, 4);
  for (int64_t i = 0; i < count; ++i) {
    c.in.push_back(first);
    if (i > 0) c.in.back().dims[axis] = random.Int(0, 5);
  }
  c.ranges = {{0, 100}};
  c.definition = [axis](const HostTensors& in, const Attrs&) {
    TensorType type = in[0].type;
    type.dims[axis] = 0;
    for (const HostTensor& x : in) type.dims[axis] += x.type.dims[axis];
    return HostTensors{FromIndex(type, [&](const Dims& index) {
      Dims at = index;
      size_t i = 0;
      while (at[axis] >= in[i].type.dims[axis]) {
        at[axis] -= in[i++].type.dims[axis];
      }
      return At(in[i], at);
    })};
  };
  return c;
}

OpCase SplitCase(CaseRandom& random) {
  OpCase c = Shape("Split", AnyType(random, random.AnyDims(1, 4)));
  const int rank = c.in[0].rank();
  const int64_t axis = random.Int(0, rank - 1);
  if (axis > 0 || random.Bool()) {
    c.attrs.Set("axis", random.Bool() ? axis : axis - rank);
  }
  const int64_t dim = c.in[0].dims[axis];
  Ints sizes;
  if (random.Bool()) {
    int64_t rest = dim;
    while (rest > 0 && sizes.size() < 3) {
      sizes.push_back(random.Int(0, rest));
      rest -= sizes.back();
    }
    sizes.push_back(rest);
    c.attrs.Set("split", sizes);
  } else {
    // dim = 7 in 3: parts of 3, 3 and 1.
    const int64_t size = std::max<int64_t>(1, random.Int(0, dim));
    for (int64_t start = 0; start < dim; start += size) {
      sizes.push_back(std::min(size, dim - start));
    }
    if (sizes.empty()) sizes.push_back(0);
    c.attrs.Set("num_outputs", static_cast<int64_t>(sizes.size()));
    // Equal parts of another size may come out: ceil(dim / count) each.
    const int64_t count = static_cast<int64_t>(sizes.size());
    const int64_t each = (dim + count - 1) / count;
    sizes.assign(sizes.size(), each);
    sizes.back() = dim - each * (count - 1);
    if (sizes.back() < 0) {
      sizes = {dim};
      c.attrs.Set("num_outputs", int64_t{1});
    }
  }
  c.num_outputs = static_cast<int>(sizes.size());
  if (c.in[0].dtype == DType::kF32 && random.Bool()) {
    // A part whose gradient nobody has counts as zeros.
    c.loss_outputs = {static_cast<int>(random.Int(0, c.num_outputs - 1))};
  }
  c.definition = [axis, sizes](const HostTensors& in, const Attrs&) {
    HostTensors out;
    int64_t start = 0;
    for (const int64_t size : sizes) {
      TensorType type = in[0].type;
      type.dims[axis] = size;
      out.push_back(FromIndex(type, [&](const Dims& index) {
        Dims at = index;
        at[axis] += start;
        return At(in[0], at);
      }));
      start += size;
    }
    return out;
  };
  return c;
}

OpCase SliceCase(CaseRandom& random) {
  OpCase c = Shape("Slice", AnyType(random, random.AnyDims(1, 4)));
  const Dims dims = c.in[0].dims;
  const int rank = c.in[0].rank();
  Ints starts, ends, axes, steps;
  // By axis, the positions taken, from the definition of ONNX.
  std::vector<Ints> taken(rank);
  for (int i = 0; i < rank; ++i) {
    for (int64_t k = 0; k < dims[i]; ++k) taken[i].push_back(k);
    if (random.Int(0, 2) == 0) continue;
    const int64_t dim = dims[i];
    const int64_t start = random.Int(-dim - 2, dim + 2);
    const int64_t end = random.Int(-dim - 2, dim + 2);
    const int64_t step = random.Pick<int64_t>({1, 1, 2, 3, -1, -2});
    starts.push_back(start);
    ends.push_back(end);
    axes.push_back(random.Bool() ? i : i - rank);
    steps.push_back(step);
    taken[i].clear();
    const int64_t first = start < 0 ? start + dim : start;
    const int64_t last = end < 0 ? end + dim : end;
    if (step > 0) {
      for (int64_t k = std::clamp<int64_t>(first, 0, dim);
           k < std::clamp<int64_t>(last, 0, dim); k += step) {
        taken[i].push_back(k);
      }
    } else if (dim > 0) {
      for (int64_t k = std::clamp<int64_t>(first, 0, dim - 1);
           k > std::clamp<int64_t>(last, -1, dim - 1); k += step) {
        taken[i].push_back(k);
      }
    }
  }
  c.attrs = Attrs{
      {"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}};
  c.definition = [taken](const HostTensors& in, const Attrs&) {
    TensorType type = in[0].type;
    for (size_t i = 0; i < taken.size(); ++i) {
      type.dims[i] = static_cast<int64_t>(taken[i].size());
    }
    return HostTensors{FromIndex(type, [&](const Dims& index) {
      Dims at = index;
      for (size_t i = 0; i < at.size(); ++i) at[i] = taken[i][index[i]];
      return At(in[0], at);
    })};
  };
  return c;
}

OpCase GatherCase(CaseRandom& random) {
  OpCase c;
  c.op = "Gather";
  Dims dims = random.AnyDims(1, 3);
  const int rank = static_cast<int>(dims.size());
  const int64_t axis = random.Int(0, rank - 1);
  if (dims[axis] == 0) dims[axis] = 1;
  c.attrs.Set("axis", random.Bool() ? axis : axis - rank);
  const DType index = random.Pick<DType>({DType::kI32, DType::kI64});
  Dims index_dims;
  for (int64_t i = random.Int(0, 2); i > 0; --i) {
    index_dims.push_back(random.Int(0, 5));
  }
  const double rows = static_cast<double>(dims[axis]);
  c.in = {AnyType(random, dims), {index, index_dims}};
  c.ranges = {{0, 100}, {-rows, rows}};
  c.definition = [axis](const HostTensors& in, const Attrs&) {
    const Dims& data = in[0].type.dims;
    const size_t num_index = in[1].type.dims.size();
    Dims dims(data.begin(), data.begin() + axis);
    dims.insert(dims.end(), in[1].type.dims.begin(), in[1].type.dims.end());
    dims.insert(dims.end(), data.begin() + axis + 1, data.end());
    return HostTensors{
        FromIndex({in[0].type.dtype, dims}, [&](const Dims& index) {
          const auto middle = index.begin() + axis;
          const double row =
              At(in[1], Dims(middle, middle + static_cast<int64_t>(num_index)));
          Dims at(index.begin(), middle);
          at.push_back(FromFront(static_cast<int64_t>(row),
                                 static_cast<int>(data[axis])));
          at.insert(at.end(), middle + static_cast<int64_t>(num_index),
                    index.end());
          return At(in[0], at);
        })};
  };
  return c;
}

OpCase ExpandCase(CaseRandom& random) {
  const Dims dims = random.AnyDims(0, 4);
  OpCase c = Shape("Expand", AnyType(random, random.Narrowed(dims)));
  // 1 in the shape keeps the operand's dim.
  Ints shape = dims;
  const size_t skip = dims.size() - c.in[0].dims.size();
  for (size_t i = skip; i < dims.size(); ++i) {
    if (c.in[0].dims[i - skip] == dims[i] && random.Bool()) shape[i] = 1;
  }
  c.attrs.Set("shape", shape);
  c.gradient_tolerance = 1e-4;
  c.definition = [dims](const HostTensors& in, const Attrs&) {
    const HostTensor zeros =
        FromIndex({in[0].type.dtype, dims}, [](const Dims&) { return 0.0; });
    return HostTensors{BroadcastElements(
        in[0], zeros, [](double a, double b) { return a + b; })};
  };
  return c;
}

}  // namespace reprise
