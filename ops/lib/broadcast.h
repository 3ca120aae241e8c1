// Operators y = f(a, b) with ONNX's (numpy's) broadcasting.
//
// The walk over the output is reduced, once per kernel, to rows in which each
// operand is either contiguous or one element:
//
//   a f32[8,3,5,5], b f32[3,1,1]  ->  24 rows of 25, b one element in each
//   a f32[8,3,5,5], b f32[3,5,5]  ->  8 rows of 75, both contiguous
//
// An operand of the output's dims may lie in any order of axes; the output
// follows the first one that does.

#ifndef OPS_LIB_BROADCAST_H_
#define OPS_LIB_BROADCAST_H_

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/op.h"
#include "core/tensor_type.h"

namespace reprise {

// What a row's operands are.
enum class RowKind : uint8_t {
  kBoth,     // a and b contiguous
  kScalarA,  // a one element, b contiguous
  kScalarB,  // a contiguous, b one element
};

// Computes a row of n elements of the types it was made for; `y` may be a
// contiguous operand.
using RowLoop = std::function<void(RowKind kind, const void* a, const void* b,
                                   void* y, int64_t n)>;

struct BinarySpec {
  std::string name;
  int64_t flops_per_element = 1;
  // Returns the loop for an element type; null where the operator does not
  // take it.
  std::function<RowLoop(DType)> loop;
};

// Returns the operator, without a gradient. Both operands and the result have
// one element type.
OpDef BinaryOp(BinarySpec spec);

// Returns the loop y = f(a, b) over elements of type T.
template <class T, class F>
RowLoop ScalarRowLoop(F f) {
  return [f](RowKind kind, const void* a, const void* b, void* y, int64_t n) {
    const T* pa = static_cast<const T*>(a);
    const T* pb = static_cast<const T*>(b);
    T* py = static_cast<T*>(y);
    switch (kind) {
      case RowKind::kBoth:
        for (int64_t i = 0; i < n; ++i) py[i] = f(pa[i], pb[i]);
        break;
      case RowKind::kScalarA:
        for (int64_t i = 0; i < n; ++i) py[i] = f(*pa, pb[i]);
        break;
      case RowKind::kScalarB:
        for (int64_t i = 0; i < n; ++i) py[i] = f(pa[i], *pb);
        break;
    }
  };
}

// Returns the loop for INT32 or INT64, null for others. Arithmetic wraps
// around: `f` is called with unsigned values.
template <class F>
RowLoop WrappingRowLoop(DType dtype, F f) {
  if (dtype == DType::kI32) return ScalarRowLoop<uint32_t>(f);
  if (dtype == DType::kI64) return ScalarRowLoop<uint64_t>(f);
  return nullptr;
}

}  // namespace reprise

#endif  // OPS_LIB_BROADCAST_H_
