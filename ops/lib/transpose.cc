#include "ops/lib/transpose.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/status_macros.h"
#include "ops/lib/broadcast.h"
#include "ops/lib/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/lib/transpose.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

constexpr int64_t kQuad = 1;

int64_t TransposeQuads(const float*, int64_t, float*, int64_t, int64_t) {
  return 0;
}

#else

constexpr int64_t kQuad = 4;

// Transposes [columns][4] at `from` to [4][columns] at `to`, four columns at a
// time; returns the columns done. Moves bits: they need not be floats.
int64_t TransposeQuads(const float* from, int64_t from_stride, float* to,
                       int64_t to_stride, int64_t columns) {
  int64_t c = 0;
  const hn::FixedTag<float, 4> d;
  for (; c + 4 <= columns; c += 4) {
    const float* p = from + c * from_stride;
    const auto a0 = hn::LoadU(d, p);
    const auto a1 = hn::LoadU(d, p + from_stride);
    const auto a2 = hn::LoadU(d, p + 2 * from_stride);
    const auto a3 = hn::LoadU(d, p + 3 * from_stride);
    const auto b0 = hn::InterleaveLower(d, a0, a2);  // 00 20 01 21
    const auto b1 = hn::InterleaveLower(d, a1, a3);  // 10 30 11 31
    const auto b2 = hn::InterleaveUpper(d, a0, a2);  // 02 22 03 23
    const auto b3 = hn::InterleaveUpper(d, a1, a3);  // 12 32 13 33
    float* q = to + c;
    hn::StoreU(hn::InterleaveLower(d, b0, b1), d, q);
    hn::StoreU(hn::InterleaveUpper(d, b0, b1), d, q + to_stride);
    hn::StoreU(hn::InterleaveLower(d, b2, b3), d, q + 2 * to_stride);
    hn::StoreU(hn::InterleaveUpper(d, b2, b3), d, q + 3 * to_stride);
  }
  return c;
}

#endif  // HWY_SCALAR

// Transposes the tile [columns][rows] at `from` to [rows][columns] at `to`.
void TransposeTile(const float* from, int64_t from_stride, float* to,
                   int64_t to_stride, int64_t rows, int64_t columns) {
  int64_t r = 0;
  for (; r + kQuad <= rows; r += kQuad) {
    const int64_t done = TransposeQuads(from + r, from_stride,
                                        to + r * to_stride, to_stride, columns);
    for (int64_t c = done; c < columns; ++c) {
      for (int64_t i = r; i < r + kQuad; ++i) {
        to[i * to_stride + c] = from[c * from_stride + i];
      }
    }
  }
  for (; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      to[r * to_stride + c] = from[c * from_stride + r];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(TransposeTile);

// Rows and columns of one tile: a cache line of floats.
constexpr int64_t kTile = 16;

// Transposes [columns, rows] to [rows, columns]; tiles of one cache line each
// way, as lines whose addresses are multiples of 4 KiB apart, as in square
// matrices, evict each other.
template <class T>
void CopyTile(const T* from, int64_t from_stride, T* to, int64_t to_stride,
              int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      to[r * to_stride + c] = from[c * from_stride + r];
    }
  }
}

void CopyTile(const float* from, int64_t from_stride, float* to,
              int64_t to_stride, int64_t rows, int64_t columns) {
  HWY_DYNAMIC_DISPATCH(TransposeTile)
  (from, from_stride, to, to_stride, rows, columns);
}

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
            const int64_t columns = std::min(columns_.dim - column, kTile);
            const T* s = source + column * columns_.from;
            T* t = target + column;
            if (rows_.from == 1) {
              CopyTile(s + row, columns_.from, t + row * rows_.to, rows_.to,
                       row_end - row, columns);
              continue;
            }
            for (int64_t r = row; r < row_end; ++r) {
              for (int64_t c = 0; c < columns; ++c) {
                t[r * rows_.to + c] = s[r * rows_.from + c * columns_.from];
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
      return RunAs(static_cast<const float*>(from), static_cast<float*>(to));
    case 8:
      return RunAs(static_cast<const uint64_t*>(from),
                   static_cast<uint64_t*>(to));
    default:
      REPRISE_CHECK(false);
  }
}

}  // namespace reprise
#endif  // HWY_ONCE
