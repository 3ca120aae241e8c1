// Tensors whose elements are those of another one, found axis by axis:
//
//   y[i0, i1, ..] = x[map0[i0], map1[i1], ..],   a constant where a map has -1
//
// Padding by reflection of [a, b, c] with 1 before and 2 after is the map
// [1, 0, 1, 2, 1, 0]. Trailing axes that are mapped to themselves are copied as
// blocks; the axis before them in runs of neighbours.

#ifndef OPS_LIB_AXIS_MAP_H_
#define OPS_LIB_AXIS_MAP_H_

#include <cstdint>
#include <vector>

#include "core/tensor_type.h"

namespace reprise {

class AxisMap {
 public:
  // x:    dims, outermost first; as many as maps.
  // maps: for each axis the position in x of each position in y, or -1.
  AxisMap(const Dims& x, std::vector<std::vector<int64_t>> maps, int threads);

  // constant: one element.
  template <class T>
  void Run(const T* x, T constant, T* y) const;

  // dx = for each element of x the sum of dy over the elements of y that it
  // went to, in their order.
  void RunGrad(const float* dy, float* dx) const;

 private:
  // Positions [to, to + count) of y's inner axis, from positions of x that
  // begin at `from` and move by `step` (-1, 0 or 1); from < 0: the constant.
  struct Piece {
    int64_t to;
    int64_t from;
    int64_t count;
    int64_t step;
  };
  struct Axis {
    int64_t x_dim;
    std::vector<int64_t> map;
    // Positions of y that each position of x went to: `positions` from
    // begins[i] to begins[i + 1].
    std::vector<int64_t> begins;
    std::vector<int64_t> positions;
  };

  // The row of x that a row of y comes from; -1 if it is all constant.
  int64_t SourceRow(int64_t y_row) const;

  // Calls f(row of y) for every row that a row of x went to, in order.
  template <class F>
  void ForEachTarget(int64_t x_row, const F& f) const;

  std::vector<Axis> outer_;
  std::vector<Piece> pieces_;
  int64_t x_inner_ = 1;  // in blocks
  int64_t y_inner_ = 1;
  int64_t block_ = 1;  // elements
  int64_t x_rows_ = 1;
  int64_t y_rows_ = 1;
  int threads_;
};

}  // namespace reprise

#endif  // OPS_LIB_AXIS_MAP_H_
