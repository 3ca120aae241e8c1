// Where, y = condition ? a : b, all three broadcasting to each other.
//
//   da = condition ? dy : 0, db = condition ? 0 : dy, each summed over the axes
//   that were broadcast
//
// The gradient reads the condition alone, one byte for each of its elements.
// What was not chosen may be NaN: it does not touch the result or a gradient.
// Tested by tests/ops/compare_test.cc.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/broadcast.h"
#include "ops/lib/grad.h"
#include "ops/lib/infer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/where.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

template <class A, class B>
HWY_INLINE void Choose(const uint8_t* condition, A a, B b, float* y,
                       int64_t n) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::IfThenElse(LoadMask(d, condition + i, lanes),
                              LoadAt(d, a, i), LoadAt(d, b, i)),
               d, y + i);
  }
  if (i < n) {
    StorePart(
        hn::IfThenElse(LoadMask(d, condition + i, n - i),
                       LoadPartAt(d, a, i, n - i), LoadPartAt(d, b, i, n - i)),
        d, y + i, n - i);
  }
}

// Elements of 4 bytes, whatever they are.
void WhereLoop(bool one_a, bool one_b, const uint8_t* condition, const float* a,
               const float* b, float* y, int64_t n) {
  const DF d;
  if (one_a && one_b) {
    Choose(condition, hn::Set(d, *a), hn::Set(d, *b), y, n);
  } else if (one_a) {
    Choose(condition, hn::Set(d, *a), b, y, n);
  } else if (one_b) {
    Choose(condition, a, hn::Set(d, *b), y, n);
  } else {
    Choose(condition, a, b, y, n);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(WhereLoop);

// Bits of the row loop's `scalars`.
constexpr unsigned kOneCondition = 1;
constexpr unsigned kOneA = 2;
constexpr unsigned kOneB = 4;

// A row whose condition is one for all.
template <class T>
void CopyRow(bool one, const T* from, T* y, int64_t n) {
  if (one) {
    std::fill_n(y, n, *from);
  } else if (from != y) {
    std::copy_n(from, n, y);
  }
}

template <class T>
void ChooseRow(unsigned scalars, const uint8_t* condition, const T* a,
               const T* b, T* y, int64_t n) {
  const int64_t step_a = (scalars & kOneA) != 0 ? 0 : 1;
  const int64_t step_b = (scalars & kOneB) != 0 ? 0 : 1;
  for (int64_t i = 0; i < n; ++i) {
    y[i] = condition[i] != 0 ? a[i * step_a] : b[i * step_b];
  }
}

template <>
void ChooseRow(unsigned scalars, const uint8_t* condition, const float* a,
               const float* b, float* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(WhereLoop)
  ((scalars & kOneA) != 0, (scalars & kOneB) != 0, condition, a, b, y, n);
}

template <class T>
BroadcastRow RowOf() {
  return [](unsigned scalars, const void* const* in, void* y, int64_t n) {
    const uint8_t* condition = static_cast<const uint8_t*>(in[0]);
    const T* a = static_cast<const T*>(in[1]);
    const T* b = static_cast<const T*>(in[2]);
    T* to = static_cast<T*>(y);
    if ((scalars & kOneCondition) == 0) {
      ChooseRow<T>(scalars, condition, a, b, to, n);
    } else if (*condition != 0) {
      CopyRow((scalars & kOneA) != 0, a, to, n);
    } else {
      CopyRow((scalars & kOneB) != 0, b, to, n);
    }
  };
}

BroadcastRow Row(const Signature& s) {
  // Elements are moved, not looked at: their size alone matters.
  switch (SizeOf(s.out[0].dtype)) {
    case 1:
      return RowOf<uint8_t>();
    case 8:
      return RowOf<int64_t>();
    default:
      return RowOf<float>();
  }
}

absl::StatusOr<DType> Result(const OpArgs& args) {
  const TensorType& a = args.in[1];
  const TensorType& b = args.in[2];
  if (args.in[0].dtype != DType::kBool) {
    return Invalid("Where: the condition must be bool, got ",
                   ToString(args.in[0]));
  }
  if (a.dtype != b.dtype || SizeOf(a.dtype) == 0) {
    return Invalid("Where: both choices must have one element type, got ",
                   ToString(a), " and ", ToString(b));
  }
  return a.dtype;
}

std::vector<ValueId> Grad(GradBuilder& b) {
  std::vector<ValueId> grads(3, kNoValue);
  const ValueId dy = b.out_grad(0);
  const ValueId condition = b.in(0);
  const ValueId zero = b.Fill(TensorType{DType::kF32, {}}, 0);
  if (b.needs_grad(1)) {
    grads[1] = SumToInput(b, b.Add("Where", {condition, dy, zero}), 1);
  }
  if (b.needs_grad(2)) {
    grads[2] = SumToInput(b, b.Add("Where", {condition, zero, dy}), 2);
  }
  return grads;
}

}  // namespace

std::vector<OpDef> WhereOps() {
  BroadcastSpec spec;
  spec.name = "Where";
  spec.num_inputs = 3;
  spec.result = Result;
  spec.row = Row;
  OpDef op = BroadcastOp(std::move(spec));
  op.grad = Grad;
  op.no_grad_inputs = {0};
  return {op};
}

}  // namespace reprise
#endif  // HWY_ONCE
