#include "ops/lib/axis_map.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "ops/lib/parallel.h"

namespace reprise {
namespace {

bool IsIdentity(const std::vector<int64_t>& map, int64_t dim) {
  if (static_cast<int64_t>(map.size()) != dim) return false;
  for (int64_t i = 0; i < dim; ++i) {
    if (map[i] != i) return false;
  }
  return true;
}

}  // namespace

AxisMap::AxisMap(const Dims& x, std::vector<std::vector<int64_t>> maps,
                 int threads)
    : threads_(threads) {
  size_t rank = x.size();
  while (rank > 0 && IsIdentity(maps[rank - 1], x[rank - 1])) {
    block_ *= x[--rank];
  }
  std::vector<int64_t> inner = {0};
  if (rank > 0) {
    inner = std::move(maps[--rank]);
    x_inner_ = x[rank];
  }
  y_inner_ = static_cast<int64_t>(inner.size());
  for (int64_t i = 0; i < y_inner_;) {
    Piece piece{i, inner[i], 1, 0};
    if (i + 1 < y_inner_ && piece.from >= 0 && inner[i + 1] >= 0 &&
        std::abs(inner[i + 1] - piece.from) <= 1) {
      piece.step = inner[i + 1] - piece.from;
    }
    for (++i; i < y_inner_; ++i) {
      const int64_t next =
          piece.from < 0 ? -1 : piece.from + piece.count * piece.step;
      if (inner[i] != next) break;
      ++piece.count;
    }
    pieces_.push_back(piece);
  }
  for (size_t i = 0; i < rank; ++i) {
    Axis axis;
    axis.x_dim = x[i];
    axis.map = std::move(maps[i]);
    x_rows_ *= axis.x_dim;
    y_rows_ *= static_cast<int64_t>(axis.map.size());
    axis.begins.assign(axis.x_dim + 1, 0);
    for (const int64_t from : axis.map) {
      if (from >= 0) ++axis.begins[from + 1];
    }
    for (int64_t k = 0; k < axis.x_dim; ++k) {
      axis.begins[k + 1] += axis.begins[k];
    }
    axis.positions.resize(axis.begins.back());
    std::vector<int64_t> next(axis.begins.begin(), axis.begins.end() - 1);
    for (size_t to = 0; to < axis.map.size(); ++to) {
      if (axis.map[to] < 0) continue;
      axis.positions[next[axis.map[to]]++] = static_cast<int64_t>(to);
    }
    outer_.push_back(std::move(axis));
  }
}

int64_t AxisMap::SourceRow(int64_t y_row) const {
  int64_t x_row = 0;
  int64_t x_stride = 1;
  for (size_t i = outer_.size(); i-- > 0;) {
    const Axis& axis = outer_[i];
    const int64_t dim = static_cast<int64_t>(axis.map.size());
    const int64_t from = axis.map[y_row % dim];
    if (from < 0) return -1;
    y_row /= dim;
    x_row += from * x_stride;
    x_stride *= axis.x_dim;
  }
  return x_row;
}

template <class T>
void AxisMap::Run(const T* x, T constant, T* y) const {
  if (block_ == 0) return;
  ParallelFor(threads_, y_rows_, GrainOf(y_inner_ * block_),
              [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                  T* to = y + row * y_inner_ * block_;
                  const int64_t x_row = SourceRow(row);
                  if (x_row < 0) {
                    std::fill_n(to, y_inner_ * block_, constant);
                    continue;
                  }
                  const T* from = x + x_row * x_inner_ * block_;
                  for (const Piece& piece : pieces_) {
                    T* t = to + piece.to * block_;
                    if (piece.from < 0) {
                      std::fill_n(t, piece.count * block_, constant);
                      continue;
                    }
                    const T* s = from + piece.from * block_;
                    if (piece.step == 1) {
                      std::memcpy(t, s, sizeof(T) * piece.count * block_);
                    } else if (block_ == 1) {
                      for (int64_t i = 0; i < piece.count; ++i)
                        t[i] = s[i * piece.step];
                    } else {
                      for (int64_t i = 0; i < piece.count; ++i) {
                        std::memcpy(t + i * block_, s + i * piece.step * block_,
                                    sizeof(T) * block_);
                      }
                    }
                  }
                }
              });
}

template void AxisMap::Run(const uint8_t*, uint8_t, uint8_t*) const;
template void AxisMap::Run(const uint32_t*, uint32_t, uint32_t*) const;
template void AxisMap::Run(const uint64_t*, uint64_t, uint64_t*) const;

template <class F>
void AxisMap::ForEachTarget(int64_t x_row, const F& f) const {
  int64_t at[kMaxRank];
  int64_t next[kMaxRank];  // into the axis's positions
  for (size_t i = outer_.size(); i-- > 0;) {
    at[i] = x_row % outer_[i].x_dim;
    x_row /= outer_[i].x_dim;
    next[i] = outer_[i].begins[at[i]];
    if (next[i] == outer_[i].begins[at[i] + 1]) return;
  }
  while (true) {
    int64_t y_row = 0;
    for (size_t i = 0; i < outer_.size(); ++i) {
      y_row = y_row * static_cast<int64_t>(outer_[i].map.size()) +
              outer_[i].positions[next[i]];
    }
    f(y_row);
    size_t i = outer_.size();
    while (i > 0 && ++next[i - 1] == outer_[i - 1].begins[at[i - 1] + 1]) {
      next[i - 1] = outer_[i - 1].begins[at[i - 1]];
      --i;
    }
    if (i == 0) return;
  }
}

void AxisMap::RunGrad(const float* dy, float* dx) const {
  if (block_ == 0) return;
  ParallelFor(threads_, x_rows_, GrainOf(y_inner_ * block_),
              [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                  float* to = dx + row * x_inner_ * block_;
                  std::fill_n(to, x_inner_ * block_, 0.0f);
                  ForEachTarget(row, [&](int64_t y_row) {
                    const float* from = dy + y_row * y_inner_ * block_;
                    for (const Piece& piece : pieces_) {
                      if (piece.from < 0) continue;
                      for (int64_t i = 0; i < piece.count; ++i) {
                        float* t = to + (piece.from + i * piece.step) * block_;
                        const float* s = from + (piece.to + i) * block_;
                        for (int64_t j = 0; j < block_; ++j) t[j] += s[j];
                      }
                    }
                  });
                }
              });
}

}  // namespace reprise
