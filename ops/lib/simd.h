// How an operator with Highway loops stands in one file.
//
// The file includes itself once per instruction set. Above HWY_ONCE stand the
// loops, compiled each time; below it everything else, compiled once, which
// reaches the loops of the CPU at hand by HWY_DYNAMIC_DISPATCH. In ops/neg.cc:
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "ops/neg.cc"
//   #include "ops/lib/simd.h"
//   #include "hwy/foreach_target.h"  // after simd.h
//   #include "ops/lib/simd-inl.h"
//
//   HWY_BEFORE_NAMESPACE();
//   namespace reprise {
//   namespace HWY_NAMESPACE {
//   void NegLoop(const float* x, float* y, int64_t n) {
//     Map(n, y, [](auto, auto x) HWY_ATTR { return hn::Neg(x); }, x);
//   }
//   }  // namespace HWY_NAMESPACE
//   }  // namespace reprise
//   HWY_AFTER_NAMESPACE();
//
//   #if HWY_ONCE
//   namespace reprise {
//   HWY_EXPORT(NegLoop);
//   ...
//   }  // namespace reprise
//   #endif  // HWY_ONCE
//
// Includes between simd.h and the loops must not be reached for the first time
// inside a namespace of one instruction set, so standard headers and ours come
// before them.
//
// Results must not depend on where an element lies: a loop does the same
// operations on it in a full vector and in the remainder, whatever the address.

#ifndef OPS_LIB_SIMD_H_
#define OPS_LIB_SIMD_H_

// The baseline of x86-64, AVX2 and AVX-512 are worth code of their own.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)

#endif  // OPS_LIB_SIMD_H_
