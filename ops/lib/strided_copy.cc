#include "ops/lib/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "core/status_macros.h"
#include "ops/lib/parallel.h"

namespace reprise {

StridedCopy::StridedCopy(const Dims& dims, const StridedSide& from,
                         const StridedSide& to, int64_t element_bytes,
                         int threads)
    : from_offset_(from.offset),
      to_offset_(to.offset),
      element_bytes_(element_bytes),
      threads_(threads) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < dims.size(); ++i) {
    num_elements_ *= dims[i];
    if (dims[i] == 1) continue;
    const Axis next{dims[i], from.strides[i], to.strides[i]};
    if (!axes.empty() && axes.back().from == next.from * next.dim &&
        axes.back().to == next.to * next.dim) {
      axes.back() = {axes.back().dim * next.dim, next.from, next.to};
    } else {
      axes.push_back(next);
    }
  }
  if (axes.empty()) return;
  inner_ = axes.back();
  axes.pop_back();
  outer_ = std::move(axes);
}

template <class T>
void StridedCopy::RunAs(const T* from, T* to) const {
  int64_t rows = 1;
  for (const Axis& axis : outer_) rows *= axis.dim;
  // One long row is split; many short ones are dealt out.
  const int64_t pieces =
      rows == 1 ? NumChunks(threads_, inner_.dim, kElementsPerThread) : 1;
  ParallelFor(threads_, rows * pieces, GrainOf(inner_.dim / pieces),
              [&](int64_t begin, int64_t end) {
                for (int64_t item = begin; item < end; ++item) {
                  const T* s = from + from_offset_;
                  T* t = to + to_offset_;
                  int64_t row = item / pieces;
                  for (size_t i = outer_.size(); i-- > 0;) {
                    const int64_t at = row % outer_[i].dim;
                    row /= outer_[i].dim;
                    s += at * outer_[i].from;
                    t += at * outer_[i].to;
                  }
                  const int64_t piece = item % pieces;
                  const int64_t first = inner_.dim * piece / pieces;
                  const int64_t count =
                      inner_.dim * (piece + 1) / pieces - first;
                  s += first * inner_.from;
                  t += first * inner_.to;
                  if (inner_.from == 1 && inner_.to == 1) {
                    std::memcpy(t, s, static_cast<size_t>(count) * sizeof(T));
                  } else if (inner_.from == 0 && inner_.to == 1) {
                    std::fill(t, t + count, *s);
                  } else {
                    for (int64_t i = 0; i < count; ++i) {
                      t[i * inner_.to] = s[i * inner_.from];
                    }
                  }
                }
              });
}

void StridedCopy::Run(const void* from, void* to) const {
  if (num_elements_ == 0) return;
  switch (element_bytes_) {
    case 1:
      return RunAs(static_cast<const uint8_t*>(from),
                   static_cast<uint8_t*>(to));
    case 4:
      return RunAs(static_cast<const uint32_t*>(from),
                   static_cast<uint32_t*>(to));
    case 8:
      return RunAs(static_cast<const uint64_t*>(from),
                   static_cast<uint64_t*>(to));
    default:
      REPRISE_CHECK(false);
  }
}

}  // namespace reprise
