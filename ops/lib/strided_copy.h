// Copies a box of elements between two strided tensors: Expand, Slice, Split,
// Concat and their gradients.

#ifndef OPS_LIB_STRIDED_COPY_H_
#define OPS_LIB_STRIDED_COPY_H_

#include <cstdint>
#include <vector>

#include "core/tensor_type.h"

namespace reprise {

// One side of a copy, in elements. A stride may be 0 on the source's side (an
// element is repeated) or negative.
struct StridedSide {
  Dims strides;
  int64_t offset = 0;
};

class StridedCopy {
 public:
  // dims: of the box; both sides have one stride for each.
  StridedCopy(const Dims& dims, const StridedSide& from, const StridedSide& to,
              int64_t element_bytes, int threads);

  // `from` and `to` must not overlap.
  void Run(const void* from, void* to) const;

 private:
  struct Axis {
    int64_t dim;
    int64_t from;
    int64_t to;
  };

  template <class T>
  void RunAs(const T* from, T* to) const;

  std::vector<Axis> outer_;  // outermost first
  Axis inner_{1, 1, 1};
  int64_t from_offset_;
  int64_t to_offset_;
  int64_t num_elements_ = 1;
  int64_t element_bytes_;
  int threads_;
};

}  // namespace reprise

#endif  // OPS_LIB_STRIDED_COPY_H_
