// Poolings by loops of our own, for what oneDNN only has reference code for
// (dilated windows) or does not have: indices of maxima, averages that count a
// part of their padding, p-norms.
//
// The elements are taken as [planes, d1, d2, d3, lanes]: row-major tensors have
// a plane for each channel of an image and one lane, channels-last ones have
// the channels as lanes.

#ifndef OPS_LIB_POOL_LOOP_H_
#define OPS_LIB_POOL_LOOP_H_

#include <cstdint>
#include <vector>

#include "core/tensor_type.h"
#include "ops/lib/window.h"

namespace reprise {

class PoolLoop {
 public:
  // x: dims [n, c, ..] with one to three spatial axes.
  PoolLoop(const Dims& x, const Window& window, bool channels_last,
           int threads);

  // Bytes for each element of y of what `Max` notes in `winners`.
  static int64_t WinnerBytes(const Window& window);

  // y = the largest number in each window, the first one of several; the
  // lowest finite float where there is none.
  //
  //   winners: which element of its window won; nullptr if nobody asks.
  void Max(const float* x, float* y, void* winners) const;

  // The positions of the winners in row-major x. With `column_major` the first
  // spatial axis is the innermost one.
  void MaxIndices(const float* x, int64_t* indices, bool column_major) const;

  // dx = the dy of the windows that each element won.
  void MaxGrad(const void* winners, const float* dy, float* dx) const;

  // y = sum over the window / number of its elements, those in the padding
  // (but not those beyond it) counted if `with_padding`.
  void Average(const float* x, float* y, bool with_padding) const;
  void AverageGrad(const float* dy, float* dx, bool with_padding) const;

  // y = (sum over the window of |x|^p)^(1/p), p >= 1.
  void Norm(const float* x, float* y, int64_t p) const;

  // dx = dy sign(x) (|x| / y)^(p - 1); 0 where y is 0.
  void NormGrad(const float* x, const float* y, const float* dy, float* dx,
                int64_t p) const;

 private:
  // What one position of the window covers along one axis.
  struct Reach {
    int64_t begin;  // elements of the window inside the input: half-open
    int64_t end;
    int64_t first;    // input position of element 0, maybe negative
    int64_t counted;  // elements inside the input or its padding
  };

  // One position of the window.
  struct Place {
    int64_t y;  // offset of lane 0 in the plane of y
    const Reach* reach[3];
  };

  template <class W>
  void MaxAs(const float* x, float* y, W* winners) const;

  // Calls f(plane, place) for the positions, in parallel.
  template <class F>
  void ForEachPlace(const F& f) const;

  // Calls f(plane, place, first lane, end lane) for all positions of a plane
  // in order; planes and ranges of lanes in parallel.
  template <class F>
  void ForEachPlaceInOrder(const F& f) const;

  // Calls f(offset in the plane of x of lane 0, element of the window) for the
  // elements of the window inside the input.
  template <class F>
  void ForEachCovered(const Place& place, const F& f) const;

  Place PlaceOf(int64_t position) const;
  int64_t Counted(const Place& place, bool with_padding) const;

  int64_t planes_ = 1;
  int64_t lanes_ = 1;
  Dims in_;  // three spatial sizes, leading ones 1
  Dims out_;
  Dims kernel_;
  Dims dilations_;
  std::vector<Reach> reach_[3];
  int64_t num_in_;
  int64_t num_out_;
  int64_t num_kernel_;
  int threads_;
};

}  // namespace reprise

#endif  // OPS_LIB_POOL_LOOP_H_
