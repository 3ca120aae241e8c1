// Operators y = f(a, b, ...) with ONNX's (numpy's) broadcasting.
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

#include "absl/status/statusor.h"
#include "core/op.h"
#include "core/tensor_type.h"

namespace reprise {

// Operands of the widest operator that broadcasts.
inline constexpr int kMaxBroadcastInputs = 3;

// Computes a row of n elements; `y` may be a contiguous operand of its element
// type.
//
//   scalars: bit i is set if operand i is one element.
using BroadcastRow = std::function<void(unsigned scalars, const void* const* in,
                                        void* y, int64_t n)>;

struct BroadcastSpec {
  std::string name;
  int num_inputs = 2;
  std::vector<AttrSpec> attrs;
  int64_t flops_per_element = 1;
  // Returns the element type of the result; judges those of the operands.
  std::function<absl::StatusOr<DType>(const OpArgs&)> result;
  // Returns the loop for a node that was judged.
  std::function<BroadcastRow(const Signature&)> row;
};

// Returns the operator, without a gradient.
OpDef BroadcastOp(BroadcastSpec spec);

// What a row's operands are, where there are two.
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
  // Of the result; kNone: that of the operands.
  DType result = DType::kNone;
};

// Returns the operator, without a gradient. Both operands have one element
// type.
OpDef BinaryOp(BinarySpec spec);

// Returns the loop y = f(a, b) from elements of type T to those of type To.
template <class T, class To = T, class F>
RowLoop ScalarRowLoop(F f) {
  return [f](RowKind kind, const void* a, const void* b, void* y, int64_t n) {
    const T* pa = static_cast<const T*>(a);
    const T* pb = static_cast<const T*>(b);
    To* py = static_cast<To*>(y);
    switch (kind) {
      case RowKind::kBoth:
        for (int64_t i = 0; i < n; ++i) py[i] = f(pa[i], pb[i]);
        break;
      case RowKind::kScalarA: {
        const T one = *pa;
        for (int64_t i = 0; i < n; ++i) py[i] = f(one, pb[i]);
        break;
      }
      case RowKind::kScalarB: {
        const T one = *pb;
        for (int64_t i = 0; i < n; ++i) py[i] = f(pa[i], one);
        break;
      }
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
