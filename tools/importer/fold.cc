#include "tools/importer/fold.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status_macros.h"
#include "tools/importer/fold_math.h"

namespace reprise {
namespace {

using Operands = std::vector<const Array*>;

// What a node is folded with.
struct FoldArgs {
  const Attrs& attrs;
  const Operands& in;
  int num_outputs;
  int64_t most_elements;
};

using FoldFunction =
    absl::StatusOr<std::vector<Array>> (*)(const FoldArgs& args);

absl::Status Left() { return absl::UnimplementedError("left to kernels"); }

// Returns zeros of a type that is small enough to be folded.
absl::StatusOr<Array> NewArray(const FoldArgs& args, DType dtype, Dims dims) {
  ASSIGN_OR_RETURN(TensorType type, TensorType::Make(dtype, std::move(dims)));
  if (type.num_elements() > args.most_elements) return Left();
  Array array;
  array.data.assign(type.bytes(), '\0');
  array.type = std::move(type);
  return array;
}

Dims StridesOf(const Dims& dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

// Returns the elements of `x` at `base` + the sum of index times stride, for
// every index within `dims`.
absl::StatusOr<std::vector<Array>> Strided(const FoldArgs& args, Dims dims,
                                           const Dims& strides, int64_t base) {
  const Array& x = *args.in[0];
  ASSIGN_OR_RETURN(Array y, NewArray(args, x.type.dtype, std::move(dims)));
  const int64_t size = SizeOf(x.type.dtype);
  const int64_t n = y.type.num_elements();
  Dims index(y.type.dims.size(), 0);
  int64_t at = base;
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(&y.data[i * size], &x.data[at * size], size);
    for (size_t axis = index.size(); axis-- > 0;) {
      at += strides[axis];
      if (++index[axis] < y.type.dims[axis]) break;
      at -= strides[axis] * y.type.dims[axis];
      index[axis] = 0;
    }
  }
  return std::vector<Array>{std::move(y)};
}

// Returns the elements of the first operand under other dims.
absl::StatusOr<std::vector<Array>> Reshaped(const FoldArgs& args, Dims dims) {
  Array y = *args.in[0];
  ASSIGN_OR_RETURN(y.type, TensorType::Make(y.type.dtype, std::move(dims)));
  if (static_cast<int64_t>(y.data.size()) != y.type.bytes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("as many elements as before, got ",
                     ToString(args.in[0]->type), " as ", ToString(y.type)));
  }
  return std::vector<Array>{std::move(y)};
}

absl::StatusOr<std::vector<Array>> FoldIdentity(const FoldArgs& args) {
  return Reshaped(args, args.in[0]->type.dims);
}

absl::StatusOr<std::vector<Array>> FoldReshape(const FoldArgs& args) {
  const Dims& from = args.in[0]->type.dims;
  if (!args.attrs.Has("shape")) return Left();
  Dims dims = args.attrs.IntList("shape");
  const bool keep =
      !args.attrs.Has("allowzero") || args.attrs.Int("allowzero") == 0;
  int open = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && keep) {
      if (i >= from.size()) return Left();
      dims[i] = from[i];
    }
    if (dims[i] != -1) continue;
    // What is wrong, the operator's own rule says.
    if (open >= 0) return Left();
    open = static_cast<int>(i);
  }
  if (open >= 0) {
    dims[open] = 1;
    ASSIGN_OR_RETURN(const TensorType rest, TensorType::Make(DType::kU8, dims));
    const int64_t n = args.in[0]->type.num_elements();
    if (rest.num_elements() == 0 || n % rest.num_elements() != 0) return Left();
    dims[open] = n / rest.num_elements();
  }
  return Reshaped(args, std::move(dims));
}

absl::StatusOr<std::vector<Array>> FoldSqueeze(const FoldArgs& args) {
  const Dims& from = args.in[0]->type.dims;
  std::vector<bool> drop(from.size(), false);
  if (args.attrs.Has("axes")) {
    for (const int64_t axis : args.attrs.IntList("axes")) {
      ASSIGN_OR_RETURN(const int a,
                       NormalizeAxis(axis, args.in[0]->type.rank(), "Squeeze"));
      if (from[a] != 1) return Left();
      drop[a] = true;
    }
  } else {
    for (size_t i = 0; i < from.size(); ++i) drop[i] = from[i] == 1;
  }
  Dims dims;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!drop[i]) dims.push_back(from[i]);
  }
  return Reshaped(args, std::move(dims));
}

absl::StatusOr<std::vector<Array>> FoldUnsqueeze(const FoldArgs& args) {
  if (!args.attrs.Has("axes")) return Left();
  const Ints& axes = args.attrs.IntList("axes");
  const int rank = args.in[0]->type.rank() + static_cast<int>(axes.size());
  if (rank > kMaxRank) return Left();
  std::vector<bool> added(rank, false);
  for (const int64_t axis : axes) {
    ASSIGN_OR_RETURN(const int a, NormalizeAxis(axis, rank, "Unsqueeze"));
    if (added[a]) return Left();
    added[a] = true;
  }
  Dims dims;
  size_t next = 0;
  for (int i = 0; i < rank; ++i) {
    dims.push_back(added[i] ? 1 : args.in[0]->type.dims[next++]);
  }
  return Reshaped(args, std::move(dims));
}

absl::StatusOr<std::vector<Array>> FoldTranspose(const FoldArgs& args) {
  const Dims& from = args.in[0]->type.dims;
  Ints perm(from.size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  if (args.attrs.Has("perm")) perm = args.attrs.IntList("perm");
  if (perm.size() != from.size() ||
      !std::is_permutation(perm.begin(), perm.end(),
                           [&from] {
                             Ints all(from.size());
                             std::iota(all.begin(), all.end(), 0);
                             return all;
                           }()
                               .begin())) {
    return Left();
  }
  const Dims strides = StridesOf(from);
  Dims dims;
  Dims steps;
  for (const int64_t axis : perm) {
    dims.push_back(from[axis]);
    steps.push_back(strides[axis]);
  }
  return Strided(args, std::move(dims), steps, 0);
}

absl::StatusOr<std::vector<Array>> FoldExpand(const FoldArgs& args) {
  if (!args.attrs.Has("shape")) return Left();
  const Dims& from = args.in[0]->type.dims;
  ASSIGN_OR_RETURN(Dims dims,
                   BroadcastDims(from, args.attrs.IntList("shape"), "Expand"));
  const Dims strides = StridesOf(from);
  Dims steps(dims.size(), 0);
  const size_t shift = dims.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1) steps[shift + i] = strides[i];
  }
  return Strided(args, std::move(dims), steps, 0);
}

absl::StatusOr<std::vector<Array>> FoldSlice(const FoldArgs& args) {
  const Attrs& attrs = args.attrs;
  if (!attrs.Has("starts") || !attrs.Has("ends")) return Left();
  const Ints& starts = attrs.IntList("starts");
  const Ints& ends = attrs.IntList("ends");
  Ints axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (attrs.Has("axes")) axes = attrs.IntList("axes");
  Ints steps(starts.size(), 1);
  if (attrs.Has("steps")) steps = attrs.IntList("steps");
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return Left();
  }
  Dims dims = args.in[0]->type.dims;
  Dims strides = StridesOf(dims);
  int64_t base = 0;
  std::vector<bool> sliced(dims.size(), false);
  for (size_t i = 0; i < axes.size(); ++i) {
    ASSIGN_OR_RETURN(const int a,
                     NormalizeAxis(axes[i], args.in[0]->type.rank(), "Slice"));
    // An axis that is named twice would leave the operand.
    if (sliced[a]) return Left();
    sliced[a] = true;
    const int64_t n = args.in[0]->type.dims[a];
    const int64_t step = steps[i];
    if (step == 0 || step == INT64_MIN) return Left();
    // Forward from 0 to n, backward from n - 1 to -1.
    const int64_t low = step > 0 ? 0 : -1;
    const int64_t high = step > 0 ? n : n - 1;
    const auto clamp = [n, low, high](int64_t x) {
      return std::min(std::max(x < 0 ? std::max(x, -n - 1) + n : x, low), high);
    };
    const int64_t start = clamp(starts[i]);
    const int64_t end = clamp(ends[i]);
    const int64_t span = step > 0 ? end - start : start - end;
    const int64_t stride = std::abs(step);
    dims[a] = span <= 0 ? 0 : 1 + (span - 1) / stride;
    if (dims[a] > 0) base += start * strides[a];
    strides[a] *= dims[a] > 1 ? step : 1;
  }
  return Strided(args, std::move(dims), strides, base);
}

absl::StatusOr<std::vector<Array>> FoldConcat(const FoldArgs& args) {
  if (!args.attrs.Has("axis") || args.in.empty()) return Left();
  const TensorType& first = args.in[0]->type;
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(args.attrs.Int("axis"),
                                                 first.rank(), "Concat"));
  Dims dims = first.dims;
  dims[axis] = 0;
  for (const Array* const x : args.in) {
    Dims rest = x->type.dims;
    if (x->type.dtype != first.dtype || rest.size() != dims.size()) {
      return Left();
    }
    dims[axis] += rest[axis];
    rest[axis] = first.dims[axis];
    if (rest != first.dims) return Left();
  }
  ASSIGN_OR_RETURN(Array y, NewArray(args, first.dtype, dims));
  const int64_t rows = Product(absl::MakeConstSpan(dims).subspan(0, axis));
  char* to = y.data.empty() ? nullptr : &y.data[0];
  for (int64_t row = 0; row < rows; ++row) {
    for (const Array* const x : args.in) {
      const int64_t bytes = x->data.size() / rows;
      if (bytes > 0) std::memcpy(to, &x->data[row * bytes], bytes);
      to += bytes;
    }
  }
  return std::vector<Array>{std::move(y)};
}

absl::StatusOr<std::vector<Array>> FoldSplit(const FoldArgs& args) {
  const TensorType& type = args.in[0]->type;
  if (!args.attrs.Has("split")) return Left();
  const int64_t given = args.attrs.Has("axis") ? args.attrs.Int("axis") : 0;
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(given, type.rank(), "Split"));
  const Ints& sizes = args.attrs.IntList("split");
  if (static_cast<int>(sizes.size()) != args.num_outputs) return Left();
  const Dims strides = StridesOf(type.dims);
  std::vector<Array> results;
  int64_t begin = 0;
  for (const int64_t size : sizes) {
    if (size < 0 || size > type.dims[axis] - begin) return Left();
    Dims dims = type.dims;
    dims[axis] = size;
    ASSIGN_OR_RETURN(std::vector<Array> part,
                     Strided(args, dims, strides, begin * strides[axis]));
    results.push_back(std::move(part[0]));
    begin += size;
  }
  return results;
}

absl::StatusOr<std::vector<Array>> FoldGather(const FoldArgs& args) {
  const Array& x = *args.in[0];
  const Array& indices = *args.in[1];
  if (indices.type.dtype != DType::kI32 && indices.type.dtype != DType::kI64) {
    return Left();
  }
  const int64_t given = args.attrs.Has("axis") ? args.attrs.Int("axis") : 0;
  ASSIGN_OR_RETURN(const int axis,
                   NormalizeAxis(given, x.type.rank(), "Gather"));
  const absl::Span<const int64_t> from = x.type.dims;
  Dims dims(from.begin(), from.begin() + axis);
  dims.insert(dims.end(), indices.type.dims.begin(), indices.type.dims.end());
  dims.insert(dims.end(), from.begin() + axis + 1, from.end());
  ASSIGN_OR_RETURN(Array y, NewArray(args, x.type.dtype, dims));
  const int64_t rows = Product(from.subspan(0, axis));
  const int64_t bytes = Product(from.subspan(axis + 1)) * SizeOf(x.type.dtype);
  const int64_t n = indices.type.num_elements();
  char* to = y.data.empty() ? nullptr : &y.data[0];
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < n; ++i) {
      int64_t index = ElementAsInt(indices, i);
      if (index < 0) index += from[axis];
      if (index < 0 || index >= from[axis]) {
        return absl::InvalidArgumentError(
            absl::StrCat("index ", ElementAsInt(indices, i), " of axis ", axis,
                         ", which has ", from[axis], " entries"));
      }
      if (bytes == 0) continue;
      std::memcpy(to, &x.data[(row * from[axis] + index) * bytes], bytes);
      to += bytes;
    }
  }
  return std::vector<Array>{std::move(y)};
}

absl::StatusOr<std::vector<Array>> FoldRange(const FoldArgs& args) {
  if (args.in.size() != 3) return Left();
  for (const Array* const x : args.in) {
    if (x == nullptr || x->type.num_elements() != 1 ||
        x->type.dtype != args.in[0]->type.dtype) {
      return absl::InvalidArgumentError(
          "start, limit and delta are scalars of "
          "one type");
    }
  }
  return RangeOf(*args.in[0], *args.in[1], *args.in[2], args.most_elements);
}

absl::StatusOr<std::vector<Array>> FoldMath(const std::string& op,
                                            const FoldArgs& args) {
  return ComputeElements(op, args.attrs, args.in, args.most_elements);
}

const std::map<std::string, FoldFunction, std::less<>>& Movements() {
  static const auto* const kMovements =
      new std::map<std::string, FoldFunction, std::less<>>{
          {"Concat", FoldConcat},       {"Expand", FoldExpand},
          {"Gather", FoldGather},       {"Identity", FoldIdentity},
          {"Range", FoldRange},         {"Reshape", FoldReshape},
          {"Slice", FoldSlice},         {"Split", FoldSplit},
          {"Squeeze", FoldSqueeze},     {"Transpose", FoldTranspose},
          {"Unsqueeze", FoldUnsqueeze},
      };
  return *kMovements;
}

}  // namespace

bool CanFold(absl::string_view op) {
  return Movements().find(op) != Movements().end() || IsElementwise(op);
}

absl::StatusOr<std::vector<Array>> Fold(const std::string& op,
                                        const Attrs& attrs,
                                        const std::vector<const Array*>& in,
                                        int num_outputs,
                                        int64_t most_elements) {
  if (in.empty() || std::find(in.begin(), in.end(), nullptr) != in.end() ||
      (op == "Gather" && in.size() != 2)) {
    return Left();
  }
  const FoldArgs args = {attrs, in, num_outputs, most_elements};
  const auto movement = Movements().find(op);
  absl::StatusOr<std::vector<Array>> results = movement != Movements().end()
                                                   ? movement->second(args)
                                                   : FoldMath(op, args);
  if (results.ok() && static_cast<int>(results->size()) < num_outputs) {
    return Left();
  }
  return results;
}

Array VectorOfInts(const std::vector<int64_t>& numbers) {
  Array array;
  array.type = {DType::kI64, {static_cast<int64_t>(numbers.size())}};
  array.data.assign(reinterpret_cast<const char*>(numbers.data()),
                    numbers.size() * sizeof(int64_t));
  return array;
}

Array ScalarOfInt(int64_t number) {
  Array array;
  array.type = {DType::kI64, {}};
  array.data.assign(reinterpret_cast<const char*>(&number), sizeof(number));
  return array;
}

Array ScalarOfFloat(float number) {
  Array array;
  array.type = {DType::kF32, {}};
  array.data.assign(reinterpret_cast<const char*>(&number), sizeof(number));
  return array;
}

}  // namespace reprise
