// Copies elements into another order of axes: Transpose, and reorders between
// dense layouts.

#ifndef OPS_LIB_TRANSPOSE_H_
#define OPS_LIB_TRANSPOSE_H_

#include <cstdint>
#include <vector>

#include "core/tensor_type.h"

namespace reprise {

// A copy from a strided source to a dense destination, reduced to as few axes
// as describe it:
//
//   [8,3,5,7] from "abcd" to "acdb"  ->  8 transposes of [3,35] to [35,3]
class Transposition {
 public:
  // dims, strides: of the source, by axis, in elements.
  // order:         axes of the destination from the outermost to the innermost.
  Transposition(const Dims& dims, const Dims& strides,
                const std::vector<int>& order, int64_t element_bytes,
                int threads);

  // `from` and `to` must not overlap.
  void Run(const void* from, void* to) const;

 private:
  struct Axis {
    int64_t dim;
    int64_t from;  // stride in elements
    int64_t to;
  };

  template <class T>
  void RunAs(const T* from, T* to) const;

  std::vector<Axis> outer_;  // repeats of the plane
  // The plane: `rows_` runs along the destination's second axis, `columns_`
  // along its innermost one.
  Axis rows_{1, 0, 0};
  Axis columns_{1, 1, 1};
  int64_t num_elements_ = 1;
  int64_t element_bytes_;
  int threads_;
};

}  // namespace reprise

#endif  // OPS_LIB_TRANSPOSE_H_
