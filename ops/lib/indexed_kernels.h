// The loops behind the operators of indexed.h.

#ifndef OPS_LIB_INDEXED_KERNELS_H_
#define OPS_LIB_INDEXED_KERNELS_H_

#include "core/op.h"
#include "ops/lib/indexed.h"

namespace reprise {

enum class ScatterReduction : uint8_t { kNone, kAdd, kMul, kMax, kMin };

// What kernels need to know besides addresses.
struct IndexedCall {
  SliceIndex index;
  DType element = DType::kF32;
  DType indices = DType::kI64;
  ScatterReduction reduction = ScatterReduction::kNone;
  int threads = 1;
};

// (data, indices) -> items; NaN (zeros for integers) where an index is out of
// range.
Kernel GatherSlicesKernel(const IndexedCall& call);

// (indices, items) -> data: the sum of the items that name a slice.
Kernel GatherSlicesGradKernel(const IndexedCall& call);

// (data, indices, updates) -> y, which may be data.
Kernel ScatterSlicesKernel(const IndexedCall& call);

// (dy, indices) -> dupdates for kNone (of several updates for a slice the last
// one counts) and kAdd, and the bytes of scratchpad that this wants.
Kernel ScatterUpdateGradKernel(const IndexedCall& call);
int64_t ScatterUpdateGradScratchpad(const IndexedCall& call);

// (data, indices, updates, y, dy) -> ddata?, dupdates? for kMul (which reads no
// y), kMax and kMin.
Kernel ScatterSlicesGradKernel(const IndexedCall& call);

// Bytes of scratchpad that the last one wants.
int64_t ScatterSlicesGradScratchpad(const IndexedCall& call);

}  // namespace reprise

#endif  // OPS_LIB_INDEXED_KERNELS_H_
