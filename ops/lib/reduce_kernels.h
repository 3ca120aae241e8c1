// The loops behind the operators of reduce.h: how threads share a reduction.

#ifndef OPS_LIB_REDUCE_KERNELS_H_
#define OPS_LIB_REDUCE_KERNELS_H_

#include <cstdint>

#include "core/op.h"
#include "ops/lib/reduce.h"

namespace reprise {

// Bytes of scratchpad that a reduction of floats wants; integers want none.
int64_t ReduceScratchpadBytes(const Signature& s, Reducing reduction,
                              int threads);

// x -> y, of f32, i32 or i64.
Kernel ReduceKernel(const Signature& s, Reducing reduction, int threads);

}  // namespace reprise

#endif  // OPS_LIB_REDUCE_KERNELS_H_
