#include "ops/lib/transpose.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/status_macros.h"
#include "ops/lib/parallel.h"

namespace reprise {
namespace {

// Rows and columns of one tile: 32 x 32 floats from both sides stay in the
// first-level cache.
constexpr int64_t kTile = 32;

}  // namespace

Transposition::Transposition(const Dims& dims, const Dims& strides,
                             const std::vector<int>& order,
                             int64_t element_bytes, int threads)
    : element_bytes_(element_bytes), threads_(threads) {
  std::vector<Axis> axes;
  for (const int axis : order) {
    num_elements_ *= dims[axis];
    if (dims[axis] == 1) continue;
    const Axis next{dims[axis], strides[axis], 0};
    if (!axes.empty() && axes.back().from == next.from * next.dim) {
      axes.back() = {axes.back().dim * next.dim, next.from, 0};
    } else {
      axes.push_back(next);
    }
  }
  int64_t stride = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    axes[i].to = stride;
    stride *= axes[i].dim;
  }
  if (axes.empty()) return;
  columns_ = axes.back();
  axes.pop_back();
  if (!axes.empty()) {
    // The row axis is the one along which the source is contiguous, so that a
    // tile reads and writes whole cache lines.
    auto row = axes.end() - 1;
    for (auto it = axes.begin(); it != axes.end(); ++it) {
      if (it->from == 1) row = it;
    }
    rows_ = *row;
    axes.erase(row);
  }
  outer_ = std::move(axes);
}

template <class T>
void Transposition::RunAs(const T* from, T* to) const {
  const int64_t row_tiles = (rows_.dim + kTile - 1) / kTile;
  int64_t planes = 1;
  for (const Axis& axis : outer_) planes *= axis.dim;
  // One item: a plane's strip of kTile rows.
  ParallelFor(
      threads_, planes * row_tiles,
      GrainOf(std::min(kTile, rows_.dim) * columns_.dim),
      [&](int64_t begin, int64_t end) {
        for (int64_t item = begin; item < end; ++item) {
          const T* source = from;
          T* target = to;
          int64_t plane = item / row_tiles;
          for (size_t i = outer_.size(); i-- > 0;) {
            const int64_t at = plane % outer_[i].dim;
            plane /= outer_[i].dim;
            source += at * outer_[i].from;
            target += at * outer_[i].to;
          }
          const int64_t row = item % row_tiles * kTile;
          const int64_t row_end = std::min(rows_.dim, row + kTile);
          if (columns_.from == 1) {
            for (int64_t r = row; r < row_end; ++r) {
              std::memcpy(target + r * rows_.to, source + r * rows_.from,
                          static_cast<size_t>(columns_.dim) * sizeof(T));
            }
            continue;
          }
          for (int64_t column = 0; column < columns_.dim; column += kTile) {
            const int64_t column_end = std::min(columns_.dim, column + kTile);
            for (int64_t c = column; c < column_end; ++c) {
              const T* s = source + c * columns_.from;
              T* t = target + c;
              for (int64_t r = row; r < row_end; ++r) {
                t[r * rows_.to] = s[r * rows_.from];
              }
            }
          }
        }
      });
}

void Transposition::Run(const void* from, void* to) const {
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
