// Operators y[i] = f(x[i]) on one operand, and their gradients.
//
// An operator with a FLOAT32 gradient is its two loops and what they read:
//
//   UnarySpec spec;
//   spec.name = "Softsign";
//   spec.loop = [](const float* x, float* y, int64_t n, const float*) {...};
//   spec.grad_loop = [](const float* x, const float* dy, float* dx, ...) {...};
//   return UnaryOps(std::move(spec));

#ifndef OPS_LIB_UNARY_H_
#define OPS_LIB_UNARY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/op.h"
#include "core/tensor_type.h"

namespace reprise {

// Computes n elements of the types it was made for; `y` may be `x` where both
// have elements of one type. Called by several threads at once.
using ElementLoop = std::function<void(const void* x, void* y, int64_t n)>;

struct ElementwiseSpec {
  std::string name;
  std::vector<AttrSpec> attrs;
  int64_t flops_per_element = 1;
  // Returns the loop for an element type; null where the operator does not
  // take it.
  std::function<ElementLoop(DType, const Attrs&)> loop;
  // Of the result; kNone: that of the operand.
  DType result = DType::kNone;
  // Refuses attributes, in a message that begins with the operator's name; may
  // be null.
  std::function<absl::Status(const Attrs&)> judge;
};

// Returns the operator, without a gradient, for any order of elements.
OpDef ElementwiseOp(ElementwiseSpec spec);

// Returns the loop y = f(x) from elements of type T to those of type To.
template <class T, class To = T, class F>
ElementLoop LoopOver(F f) {
  return [f](const void* x, void* y, int64_t n) {
    const T* from = static_cast<const T*>(x);
    To* to = static_cast<To*>(y);
    for (int64_t i = 0; i < n; ++i) to[i] = f(from[i]);
  };
}

// Returns the loop for INT32 or INT64, null for others. Arithmetic wraps
// around: `f` is called with unsigned values.
template <class F>
ElementLoop WrappingLoop(DType dtype, F f) {
  if (dtype == DType::kI32) return LoopOver<uint32_t>(f);
  if (dtype == DType::kI64) return LoopOver<uint64_t>(f);
  return nullptr;
}

// `params`: the values of the spec's attributes, in their order.
using UnaryLoop = void (*)(const float* x, float* y, int64_t n,
                           const float* params);
using UnaryGradLoop = void (*)(const float* kept, const float* dy, float* dx,
                               int64_t n, const float* params);

// Attributes of a unary operator, at most.
inline constexpr int kMaxUnaryParams = 2;

struct UnarySpec {
  std::string name;
  std::vector<AttrSpec> attrs;  // floats with defaults
  int64_t flops_per_element = 1;
  UnaryLoop loop = nullptr;
  // Of element types beside FLOAT32, without a gradient; may be null.
  std::function<ElementLoop(DType)> other_loop;

  int64_t grad_flops_per_element = 2;
  // Null: the gradient is 0 everywhere.
  UnaryGradLoop grad_loop = nullptr;
  // Whether the gradient reads y; otherwise, or if null, it reads x.
  std::function<bool(const Attrs&)> keeps_result;

  std::function<absl::Status(const Attrs&)> judge;  // as above
};

// For UnarySpec::keeps_result.
inline bool Always(const Attrs&) { return true; }

// Returns the operator and the operator of its gradient.
std::vector<OpDef> UnaryOps(UnarySpec spec);

}  // namespace reprise

#endif  // OPS_LIB_UNARY_H_
