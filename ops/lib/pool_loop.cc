#include "ops/lib/pool_loop.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/lib/parallel.h"

namespace reprise {
namespace {

// Lanes that one thread takes at a time where threads share lanes.
constexpr int64_t kLaneBlock = 16;

// Windows of more elements have winners of four bytes.
constexpr int64_t kMostForByte = 256;

float PowerOf(float x, int64_t p) {
  if (p == 1) return x;
  if (p == 2) return x * x;
  return std::pow(x, static_cast<float>(p));
}

}  // namespace

PoolLoop::PoolLoop(const Dims& x, const Window& window, bool channels_last,
                   int threads)
    : in_(3, 1),
      out_(3, 1),
      kernel_(3, 1),
      dilations_(3, 1),
      threads_(threads) {
  planes_ = channels_last ? x[0] : x[0] * x[1];
  lanes_ = channels_last ? x[1] : 1;
  const size_t rank = window.kernel.size();
  for (size_t i = 0; i < 3; ++i) {
    if (i < 3 - rank) {
      reach_[i].push_back({0, 1, 0, 1});
      continue;
    }
    const size_t axis = i - (3 - rank);
    in_[i] = x[axis + 2];
    out_[i] = window.out[axis];
    kernel_[i] = window.kernel[axis];
    dilations_[i] = window.dilations[axis];
    const int64_t padded = in_[i] + window.pads_end[axis];
    for (int64_t o = 0; o < out_[i]; ++o) {
      Reach reach{kernel_[i], 0, 0, 0};
      reach.first = o * window.strides[axis] - window.pads_begin[axis];
      for (int64_t k = 0; k < kernel_[i]; ++k) {
        const int64_t at = reach.first + k * dilations_[i];
        if (at < padded) ++reach.counted;
        if (at < 0 || at >= in_[i]) continue;
        reach.begin = std::min(reach.begin, k);
        reach.end = k + 1;
      }
      reach.begin = std::min(reach.begin, reach.end);
      reach_[i].push_back(reach);
    }
  }
  num_in_ = Product(in_);
  num_out_ = Product(out_);
  num_kernel_ = Product(kernel_);
}

int64_t PoolLoop::WinnerBytes(const Window& window) {
  return Product(window.kernel) <= kMostForByte ? 1 : 4;
}

PoolLoop::Place PoolLoop::PlaceOf(int64_t position) const {
  Place place;
  place.y = position * lanes_;
  for (size_t i = 3; i-- > 0;) {
    place.reach[i] = &reach_[i][position % out_[i]];
    position /= out_[i];
  }
  return place;
}

int64_t PoolLoop::Counted(const Place& place, bool with_padding) const {
  int64_t count = 1;
  for (const Reach* reach : place.reach) {
    count *= with_padding ? reach->counted : reach->end - reach->begin;
  }
  return count;
}

template <class F>
void PoolLoop::ForEachPlace(const F& f) const {
  ParallelFor(threads_, planes_ * num_out_, GrainOf(num_kernel_ * lanes_),
              [&](int64_t begin, int64_t end) {
                for (int64_t item = begin; item < end; ++item) {
                  f(item / num_out_, PlaceOf(item % num_out_));
                }
              });
}

template <class F>
void PoolLoop::ForEachPlaceInOrder(const F& f) const {
  const int64_t blocks = (lanes_ + kLaneBlock - 1) / kLaneBlock;
  ParallelFor(threads_, planes_ * blocks,
              GrainOf(num_out_ * num_kernel_ * std::min(lanes_, kLaneBlock)),
              [&](int64_t begin, int64_t end) {
                for (int64_t item = begin; item < end; ++item) {
                  const int64_t lane = item % blocks * kLaneBlock;
                  const int64_t last = std::min(lanes_, lane + kLaneBlock);
                  for (int64_t at = 0; at < num_out_; ++at) {
                    f(item / blocks, PlaceOf(at), lane, last);
                  }
                }
              });
}

template <class F>
void PoolLoop::ForEachCovered(const Place& place, const F& f) const {
  const Reach& a = *place.reach[0];
  const Reach& b = *place.reach[1];
  const Reach& c = *place.reach[2];
  for (int64_t i = a.begin; i < a.end; ++i) {
    const int64_t x0 = (a.first + i * dilations_[0]) * in_[1];
    for (int64_t j = b.begin; j < b.end; ++j) {
      const int64_t x1 = (x0 + b.first + j * dilations_[1]) * in_[2];
      for (int64_t k = c.begin; k < c.end; ++k) {
        f((x1 + c.first + k * dilations_[2]) * lanes_,
          (i * kernel_[1] + j) * kernel_[2] + k);
      }
    }
  }
}

template <class W>
void PoolLoop::MaxAs(const float* x, float* y, W* winners) const {
  ForEachPlace([&](int64_t plane, const Place& place) {
    const float* from = x + plane * num_in_ * lanes_;
    float* best = y + plane * num_out_ * lanes_ + place.y;
    W* winner = winners + plane * num_out_ * lanes_ + place.y;
    std::fill_n(best, lanes_, std::numeric_limits<float>::lowest());
    std::fill_n(winner, lanes_, W{0});
    ForEachCovered(place, [&](int64_t at, int64_t k) {
      for (int64_t lane = 0; lane < lanes_; ++lane) {
        const bool larger = from[at + lane] > best[lane];
        best[lane] = larger ? from[at + lane] : best[lane];
        winner[lane] = larger ? static_cast<W>(k) : winner[lane];
      }
    });
  });
}

void PoolLoop::Max(const float* x, float* y, void* winners) const {
  if (winners != nullptr && num_kernel_ <= kMostForByte) {
    return MaxAs(x, y, static_cast<uint8_t*>(winners));
  }
  if (winners != nullptr) return MaxAs(x, y, static_cast<int32_t*>(winners));
  ForEachPlace([&](int64_t plane, const Place& place) {
    const float* from = x + plane * num_in_ * lanes_;
    float* best = y + plane * num_out_ * lanes_ + place.y;
    std::fill_n(best, lanes_, std::numeric_limits<float>::lowest());
    ForEachCovered(place, [&](int64_t at, int64_t) {
      for (int64_t lane = 0; lane < lanes_; ++lane) {
        const float element = from[at + lane];
        best[lane] = element > best[lane] ? element : best[lane];
      }
    });
  });
}

void PoolLoop::MaxIndices(const float* x, int64_t* indices,
                          bool column_major) const {
  ForEachPlace([&](int64_t plane, const Place& place) {
    const float* from = x + plane * num_in_;
    float best = std::numeric_limits<float>::lowest();
    int64_t winner = -1;
    ForEachCovered(place, [&](int64_t at, int64_t) {
      // The first element stands for windows without numbers.
      if (winner < 0) winner = at;
      if (!(from[at] > best)) return;
      best = from[at];
      winner = at;
    });
    winner = std::max<int64_t>(winner, 0);
    if (column_major) {
      const int64_t c = winner % in_[2];
      const int64_t b = winner / in_[2] % in_[1];
      const int64_t a = winner / in_[2] / in_[1];
      winner = (c * in_[1] + b) * in_[0] + a;
    }
    indices[plane * num_out_ + place.y] = plane * num_in_ + winner;
  });
}

void PoolLoop::MaxGrad(const void* winners, const float* dy, float* dx) const {
  const bool narrow = num_kernel_ <= kMostForByte;
  const uint8_t* const bytes = static_cast<const uint8_t*>(winners);
  const int32_t* const words = static_cast<const int32_t*>(winners);
  ParallelFor(threads_, planes_ * num_in_ * lanes_, kElementsPerThread,
              [dx](int64_t begin, int64_t end) {
                std::fill(dx + begin, dx + end, 0.0f);
              });
  ForEachPlaceInOrder(
      [&](int64_t plane, const Place& place, int64_t lane, int64_t last) {
        float* to = dx + plane * num_in_ * lanes_;
        const int64_t from = plane * num_out_ * lanes_ + place.y;
        for (; lane < last; ++lane) {
          int64_t k = narrow ? bytes[from + lane] : words[from + lane];
          int64_t at[3];
          bool inside = true;
          for (size_t i = 3; i-- > 0;) {
            at[i] = place.reach[i]->first + k % kernel_[i] * dilations_[i];
            inside = inside && at[i] >= 0 && at[i] < in_[i];
            k /= kernel_[i];
          }
          // Nobody has won a window without numbers: its element 0 stands
          // there.
          if (!inside) continue;
          to[((at[0] * in_[1] + at[1]) * in_[2] + at[2]) * lanes_ + lane] +=
              dy[from + lane];
        }
      });
}

void PoolLoop::Average(const float* x, float* y, bool with_padding) const {
  ForEachPlace([&](int64_t plane, const Place& place) {
    const float* from = x + plane * num_in_ * lanes_;
    float* to = y + plane * num_out_ * lanes_ + place.y;
    std::fill_n(to, lanes_, 0.0f);
    ForEachCovered(place, [&](int64_t at, int64_t) {
      for (int64_t lane = 0; lane < lanes_; ++lane) to[lane] += from[at + lane];
    });
    const float count = static_cast<float>(Counted(place, with_padding));
    for (int64_t lane = 0; lane < lanes_; ++lane) to[lane] /= count;
  });
}

void PoolLoop::AverageGrad(const float* dy, float* dx,
                           bool with_padding) const {
  ParallelFor(threads_, planes_ * num_in_ * lanes_, kElementsPerThread,
              [dx](int64_t begin, int64_t end) {
                std::fill(dx + begin, dx + end, 0.0f);
              });
  ForEachPlaceInOrder(
      [&](int64_t plane, const Place& place, int64_t lane, int64_t last) {
        float* to = dx + plane * num_in_ * lanes_;
        const float* from = dy + plane * num_out_ * lanes_ + place.y;
        const float count = static_cast<float>(Counted(place, with_padding));
        ForEachCovered(place, [&](int64_t at, int64_t) {
          for (int64_t i = lane; i < last; ++i) to[at + i] += from[i] / count;
        });
      });
}

void PoolLoop::Norm(const float* x, float* y, int64_t p) const {
  ForEachPlace([&](int64_t plane, const Place& place) {
    const float* from = x + plane * num_in_ * lanes_;
    float* to = y + plane * num_out_ * lanes_ + place.y;
    std::fill_n(to, lanes_, 0.0f);
    ForEachCovered(place, [&](int64_t at, int64_t) {
      for (int64_t lane = 0; lane < lanes_; ++lane) {
        to[lane] += PowerOf(std::abs(from[at + lane]), p);
      }
    });
    if (p == 1) return;
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      to[lane] = p == 2 ? std::sqrt(to[lane])
                        : std::pow(to[lane], 1.0f / static_cast<float>(p));
    }
  });
}

void PoolLoop::NormGrad(const float* x, const float* y, const float* dy,
                        float* dx, int64_t p) const {
  ParallelFor(threads_, planes_ * num_in_ * lanes_, kElementsPerThread,
              [dx](int64_t begin, int64_t end) {
                std::fill(dx + begin, dx + end, 0.0f);
              });
  ForEachPlaceInOrder(
      [&](int64_t plane, const Place& place, int64_t lane, int64_t last) {
        const float* in = x + plane * num_in_ * lanes_;
        float* to = dx + plane * num_in_ * lanes_;
        const int64_t from = plane * num_out_ * lanes_ + place.y;
        ForEachCovered(place, [&](int64_t at, int64_t) {
          for (int64_t i = lane; i < last; ++i) {
            const float norm = y[from + i];
            const float element = in[at + i];
            if (norm == 0 || element == 0) continue;
            const float slope =
                p == 1 ? 1.0f : PowerOf(std::abs(element) / norm, p - 1);
            to[at + i] += dy[from + i] * std::copysign(slope, element);
          }
        });
      });
}

}  // namespace reprise
