// Folding many elements into one: the loops of reductions (reduce.h).

#ifndef OPS_LIB_FOLD_H_
#define OPS_LIB_FOLD_H_

#include <cstdint>

namespace reprise {

enum class Fold : uint8_t {
  kSum,
  kSumOfSquares,
  kSumOfMagnitudes,
  kSumOfExponentials,  // of x - shift
  kProduct,
  kMax,  // NaN where there is one; so kMin
  kMin,
};

// Returns the fold of nothing.
double FoldIdentity(Fold fold);

// Returns the fold of two disjoint sets, given theirs.
double CombineFolds(Fold fold, double a, double b);

// Returns the fold of the contiguous run x[0, n). Sums are taken in blocks that
// are added in double, products in double.
double FoldRun(Fold fold, const float* x, int64_t n, float shift);

// Folds x[r * stride + j], r in [0, rows), into total[j], for each j in [0, n).
//
//   shift: one for each j; read by kSumOfExponentials alone.
void FoldRows(Fold fold, const float* x, int64_t rows, int64_t stride,
              int64_t n, const float* shift, float* total);

// Folds the totals of disjoint sets, rows as above, into total[j].
void FoldTotals(Fold fold, const float* totals, int64_t rows, int64_t n,
                float* total);

}  // namespace reprise

#endif  // OPS_LIB_FOLD_H_
