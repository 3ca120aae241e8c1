// One axis of a tensor sampled on another grid, as ONNX's Resize does: a sparse
// matrix that each line of elements along the axis is multiplied with.

#ifndef OPS_LIB_RESAMPLE_H_
#define OPS_LIB_RESAMPLE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "core/op.h"

namespace reprise {

// A sparse matrix [rows, columns]: row i has the entries from begins[i] to
// begins[i + 1].
struct SparseRows {
  struct Entry {
    int64_t column;
    float weight;
  };
  int64_t columns = 0;
  std::vector<int64_t> begins = {0};
  std::vector<Entry> entries;
  std::vector<float> constants;  // one for each row, added

  int64_t rows() const { return static_cast<int64_t>(begins.size()) - 1; }

  // Returns the matrix with rows and columns exchanged, without constants.
  SparseRows Transposed() const;
};

// One axis as ONNX's Resize sees it.
struct Resampling {
  int64_t from = 0;  // elements
  int64_t to = 0;
  double scale = 1;  // near to / from
  double roi_start = 0;
  double roi_end = 1;
};

// The attributes that say how: mode, coordinate_transformation_mode,
// nearest_mode, antialias, cubic_coeff_a, exclude_outside and
// extrapolation_value.
std::vector<AttrSpec> ResampleAttrs();

// Checks the three modes among them.
//
//   errors: InvalidArgument for one that is none of ONNX's.
absl::Status CheckResampleAttrs(const Attrs& attrs);

// Returns the matrix [to, from] that makes the `to` elements of the `from`
// ones, all of it computed in double. `from` is at least 1.
SparseRows ResampleRows(const Resampling& axis, const Attrs& attrs);

}  // namespace reprise

#endif  // OPS_LIB_RESAMPLE_H_
