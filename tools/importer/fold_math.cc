#include "tools/importer/fold_math.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

absl::Status Left() { return absl::UnimplementedError("left to kernels"); }

// Operators on two elements. Integers wrap around in 64 bits as they do in
// kernels; the sign of what overflows is not an error of the model's shape.
using Binary = int64_t (*)(int64_t, int64_t);
using BinaryFloat = float (*)(float, float);

int64_t Wrap(absl::int128 x) {
  return static_cast<int64_t>(absl::Int128Low64(x));
}

struct BinaryOp {
  Binary on_ints;
  BinaryFloat on_floats;
  bool is_comparison = false;
};

const std::map<std::string, BinaryOp, std::less<>>& BinaryOps() {
  static const auto* const kOps =
      new std::map<std::string, BinaryOp, std::less<>>{
          {"Add",
           {[](int64_t a, int64_t b) { return Wrap(absl::int128(a) + b); },
            [](float a, float b) { return a + b; }}},
          {"Sub",
           {[](int64_t a, int64_t b) { return Wrap(absl::int128(a) - b); },
            [](float a, float b) { return a - b; }}},
          {"Mul",
           {[](int64_t a, int64_t b) { return Wrap(absl::int128(a) * b); },
            [](float a, float b) { return a * b; }}},
          // Truncates; zero divisors are refused before.
          {"Div",
           {[](int64_t a, int64_t b) { return Wrap(absl::int128(a) / b); },
            [](float a, float b) { return a / b; }}},
          // The result has the sign of the divisor.
          {"Mod",
           {[](int64_t a, int64_t b) {
              const absl::int128 rest = absl::int128(a) % b;
              return Wrap(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
            },
            nullptr}},
          {"Min",
           {[](int64_t a, int64_t b) { return std::min(a, b); },
            [](float a, float b) {
              return a != a ? a : b < a || b != b ? b : a;
            }}},
          {"Max",
           {[](int64_t a, int64_t b) { return std::max(a, b); },
            [](float a, float b) {
              return a != a ? a : b > a || b != b ? b : a;
            }}},
          {"Equal",
           {[](int64_t a, int64_t b) { return int64_t{a == b}; },
            [](float a, float b) { return a == b ? 1.0f : 0.0f; }, true}},
          {"Less",
           {[](int64_t a, int64_t b) { return int64_t{a < b}; },
            [](float a, float b) { return a < b ? 1.0f : 0.0f; }, true}},
          {"LessOrEqual",
           {[](int64_t a, int64_t b) { return int64_t{a <= b}; },
            [](float a, float b) { return a <= b ? 1.0f : 0.0f; }, true}},
          {"Greater",
           {[](int64_t a, int64_t b) { return int64_t{a > b}; },
            [](float a, float b) { return a > b ? 1.0f : 0.0f; }, true}},
          {"GreaterOrEqual",
           {[](int64_t a, int64_t b) { return int64_t{a >= b}; },
            [](float a, float b) { return a >= b ? 1.0f : 0.0f; }, true}},
          {"And",
           {[](int64_t a, int64_t b) { return int64_t{a != 0 && b != 0}; },
            nullptr, true}},
          {"Or",
           {[](int64_t a, int64_t b) { return int64_t{a != 0 || b != 0}; },
            nullptr, true}},
          {"Xor",
           {[](int64_t a, int64_t b) { return int64_t{(a != 0) != (b != 0)}; },
            nullptr, true}},
      };
  return *kOps;
}

struct UnaryOp {
  int64_t (*on_ints)(int64_t);
  float (*on_floats)(float);
};

const std::map<std::string, UnaryOp, std::less<>>& UnaryOps() {
  static const auto* const kOps =
      new std::map<std::string, UnaryOp, std::less<>>{
          {"Abs",
           {[](int64_t a) { return a < 0 ? Wrap(-absl::int128(a)) : a; },
            [](float a) { return std::fabs(a); }}},
          {"Neg",
           {[](int64_t a) { return Wrap(-absl::int128(a)); },
            [](float a) { return -a; }}},
          {"Not", {[](int64_t a) { return int64_t{a == 0}; }, nullptr}},
          {"Floor", {nullptr, [](float a) { return std::floor(a); }}},
          {"Ceil", {nullptr, [](float a) { return std::ceil(a); }}},
          {"Sqrt", {nullptr, [](float a) { return std::sqrt(a); }}},
          {"Reciprocal", {nullptr, [](float a) { return 1.0f / a; }}},
      };
  return *kOps;
}

bool IsReduction(absl::string_view op) {
  return op == "ReduceSum" || op == "ReduceProd" || op == "ReduceMax" ||
         op == "ReduceMin";
}

float ElementAsFloat(const Array& array, int64_t index) {
  return static_cast<float>(ElementAsDouble(array, index));
}

// Stores an integer with the width of the array's type.
void Store(Array& array, int64_t index, int64_t number) {
  const int64_t size = SizeOf(array.type.dtype);
  std::memcpy(&array.data[index * size], &number, size);
}

void StoreFloat(Array& array, int64_t index, float number) {
  std::memcpy(&array.data[index * sizeof(float)], &number, sizeof(float));
}

absl::StatusOr<Array> NewArray(DType dtype, Dims dims, int64_t most_elements) {
  ASSIGN_OR_RETURN(TensorType type, TensorType::Make(dtype, std::move(dims)));
  if (type.num_elements() > most_elements) return Left();
  Array array;
  array.data.assign(type.bytes(), '\0');
  array.type = std::move(type);
  return array;
}

// Returns the index in an operand of `dims` of what meets element `index` of a
// result of `to`.
int64_t Broadcast(const Dims& dims, const Dims& to, int64_t index) {
  int64_t at = 0;
  int64_t stride = 1;
  for (size_t i = 0; i < to.size(); ++i) {
    const int64_t here = to[to.size() - 1 - i];
    if (i < dims.size()) {
      const int64_t dim = dims[dims.size() - 1 - i];
      if (dim != 1) at += stride * (index % here);
      stride *= dim;
    }
    index /= here;
  }
  return at;
}

absl::StatusOr<Array> ComputeBinary(const std::string& name, const BinaryOp& op,
                                    const Array& a, const Array& b,
                                    int64_t most_elements) {
  const bool floats = a.type.dtype == DType::kF32;
  if (a.type.dtype != b.type.dtype) return Left();
  if (floats ? op.on_floats == nullptr : op.on_ints == nullptr) return Left();
  ASSIGN_OR_RETURN(Dims dims, BroadcastDims(a.type.dims, b.type.dims, name));
  ASSIGN_OR_RETURN(Array y,
                   NewArray(op.is_comparison ? DType::kBool : a.type.dtype,
                            std::move(dims), most_elements));
  for (int64_t i = 0; i < y.type.num_elements(); ++i) {
    const int64_t at_a = Broadcast(a.type.dims, y.type.dims, i);
    const int64_t at_b = Broadcast(b.type.dims, y.type.dims, i);
    if (floats) {
      const float result =
          op.on_floats(ElementAsFloat(a, at_a), ElementAsFloat(b, at_b));
      if (op.is_comparison) {
        Store(y, i, result != 0);
      } else {
        StoreFloat(y, i, result);
      }
      continue;
    }
    const int64_t right = ElementAsInt(b, at_b);
    if (right == 0 && (name == "Div" || name == "Mod")) {
      return absl::InvalidArgumentError("integer division by zero");
    }
    Store(y, i, op.on_ints(ElementAsInt(a, at_a), right));
  }
  return y;
}

absl::StatusOr<Array> ComputeUnary(const UnaryOp& op, const Array& x,
                                   int64_t most_elements) {
  const bool floats = x.type.dtype == DType::kF32;
  if (floats ? op.on_floats == nullptr : op.on_ints == nullptr) return Left();
  ASSIGN_OR_RETURN(Array y, NewArray(x.type.dtype, x.type.dims, most_elements));
  for (int64_t i = 0; i < y.type.num_elements(); ++i) {
    if (floats) {
      StoreFloat(y, i, op.on_floats(ElementAsFloat(x, i)));
    } else {
      Store(y, i, op.on_ints(ElementAsInt(x, i)));
    }
  }
  return y;
}

absl::StatusOr<Array> ComputeCast(const Attrs& attrs, const Array& x,
                                  int64_t most_elements) {
  if (!attrs.Has("to")) return Left();
  const DType to = attrs.Type("to");
  ASSIGN_OR_RETURN(Array y, NewArray(to, x.type.dims, most_elements));
  const bool floats = x.type.dtype == DType::kF32;
  for (int64_t i = 0; i < y.type.num_elements(); ++i) {
    if (to == DType::kF32) {
      StoreFloat(y, i,
                 floats ? ElementAsFloat(x, i)
                        : static_cast<float>(ElementAsInt(x, i)));
    } else if (to == DType::kBool) {
      Store(y, i, ElementAsDouble(x, i) != 0);
    } else if (floats) {
      const double number = std::trunc(ElementAsDouble(x, i));
      // Beyond 2^53 and for NaN, kernels decide.
      if (!(std::fabs(number) < 9007199254740992.0)) return Left();
      Store(y, i, static_cast<int64_t>(number));
    } else {
      Store(y, i, ElementAsInt(x, i));
    }
  }
  return y;
}

absl::StatusOr<Array> ComputeWhere(const Array& condition, const Array& a,
                                   const Array& b, int64_t most_elements) {
  if (condition.type.dtype != DType::kBool || a.type.dtype != b.type.dtype) {
    return Left();
  }
  ASSIGN_OR_RETURN(Dims dims, BroadcastDims(a.type.dims, b.type.dims, "Where"));
  ASSIGN_OR_RETURN(dims, BroadcastDims(condition.type.dims, dims, "Where"));
  ASSIGN_OR_RETURN(Array y,
                   NewArray(a.type.dtype, std::move(dims), most_elements));
  const int64_t size = SizeOf(y.type.dtype);
  for (int64_t i = 0; i < y.type.num_elements(); ++i) {
    const bool first = ElementAsInt(condition, Broadcast(condition.type.dims,
                                                         y.type.dims, i)) != 0;
    const Array& from = first ? a : b;
    std::memcpy(&y.data[i * size],
                &from.data[Broadcast(from.type.dims, y.type.dims, i) * size],
                size);
  }
  return y;
}

absl::StatusOr<Array> ComputeReduction(const std::string& name,
                                       const Attrs& attrs, const Array& x,
                                       int64_t most_elements) {
  // Sums of floats round: those are left to kernels.
  if (x.type.dtype != DType::kI64 && x.type.dtype != DType::kI32) return Left();
  std::vector<bool> reduced(x.type.rank(), true);
  if (attrs.Has("axes") && !attrs.IntList("axes").empty()) {
    reduced.assign(x.type.rank(), false);
    for (const int64_t axis : attrs.IntList("axes")) {
      ASSIGN_OR_RETURN(const int a, NormalizeAxis(axis, x.type.rank(), name));
      reduced[a] = true;
    }
  } else if (attrs.Has("noop_with_empty_axes") &&
             attrs.Int("noop_with_empty_axes") != 0) {
    reduced.assign(x.type.rank(), false);
  }
  const bool keep = !attrs.Has("keepdims") || attrs.Int("keepdims") != 0;
  Dims kept = x.type.dims;
  Dims dims;
  for (int i = 0; i < x.type.rank(); ++i) {
    if (reduced[i]) kept[i] = 1;
    if (keep || !reduced[i]) dims.push_back(kept[i]);
  }
  const int64_t n = x.type.num_elements();
  if (n == 0 && name != "ReduceSum" && name != "ReduceProd") return Left();
  ASSIGN_OR_RETURN(Array y,
                   NewArray(x.type.dtype, std::move(dims), most_elements));
  const std::string step = name == "ReduceSum"    ? "Add"
                           : name == "ReduceProd" ? "Mul"
                           : name == "ReduceMax"  ? "Max"
                                                  : "Min";
  const Binary combine = BinaryOps().find(step)->second.on_ints;
  std::vector<bool> started(y.type.num_elements(), false);
  for (int64_t i = 0; i < y.type.num_elements(); ++i) {
    Store(y, i, name == "ReduceProd");
  }
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = Broadcast(kept, x.type.dims, i);
    const int64_t element = ElementAsInt(x, i);
    Store(y, at, started[at] ? combine(ElementAsInt(y, at), element) : element);
    started[at] = true;
  }
  return y;
}

absl::StatusOr<Array> Compute(const std::string& name, const Attrs& attrs,
                              const std::vector<const Array*>& in,
                              int64_t most_elements) {
  if (name == "Cast" && in.size() == 1) {
    return ComputeCast(attrs, *in[0], most_elements);
  }
  if (name == "Where" && in.size() == 3) {
    return ComputeWhere(*in[0], *in[1], *in[2], most_elements);
  }
  if (IsReduction(name) && in.size() == 1) {
    return ComputeReduction(name, attrs, *in[0], most_elements);
  }
  const auto unary = UnaryOps().find(name);
  if (unary != UnaryOps().end() && in.size() == 1) {
    return ComputeUnary(unary->second, *in[0], most_elements);
  }
  const auto binary = BinaryOps().find(name);
  if (binary == BinaryOps().end() || in.size() != 2) return Left();
  // Of Mod's two meanings, that of C is left to kernels.
  if (attrs.Has("fmod") && attrs.Int("fmod") != 0) return Left();
  return ComputeBinary(name, binary->second, *in[0], *in[1], most_elements);
}

}  // namespace

bool IsElementwise(absl::string_view op) {
  return op == "Cast" || op == "Where" || IsReduction(op) ||
         UnaryOps().find(op) != UnaryOps().end() ||
         BinaryOps().find(op) != BinaryOps().end();
}

absl::StatusOr<std::vector<Array>> ComputeElements(
    const std::string& op, const Attrs& attrs,
    const std::vector<const Array*>& in, int64_t most_elements) {
  ASSIGN_OR_RETURN(Array y, Compute(op, attrs, in, most_elements));
  return std::vector<Array>{std::move(y)};
}

absl::StatusOr<std::vector<Array>> RangeOf(const Array& start,
                                           const Array& limit,
                                           const Array& delta,
                                           int64_t most_elements) {
  const bool floats = start.type.dtype == DType::kF32;
  const double step = ElementAsDouble(delta, 0);
  if (step == 0 || step != step) {
    return absl::InvalidArgumentError("delta must not be 0");
  }
  const double count =
      std::ceil((ElementAsDouble(limit, 0) - ElementAsDouble(start, 0)) / step);
  if (!(count <= static_cast<double>(most_elements))) return Left();
  // Compared as it is: no integer may hold what is far below 0.
  const int64_t n = count > 0 ? static_cast<int64_t>(count) : 0;
  ASSIGN_OR_RETURN(Array y, NewArray(start.type.dtype, {n}, most_elements));
  for (int64_t i = 0; i < n; ++i) {
    if (floats) {
      StoreFloat(y, i,
                 static_cast<float>(ElementAsDouble(start, 0) +
                                    static_cast<double>(i) * step));
    } else {
      Store(y, i,
            Wrap(absl::int128(ElementAsInt(start, 0)) +
                 absl::int128(i) * ElementAsInt(delta, 0)));
    }
  }
  return std::vector<Array>{std::move(y)};
}

}  // namespace reprise
