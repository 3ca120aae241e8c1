// Moments in one walk through memory: rows are taken in blocks that stay in the
// second-level cache, where the mean of each channel and then the squares
// around it are summed; blocks are merged by
//
//   mean' = mean + d w,  m2' = m2 + m2_block + d^2 n w,
//   d = mean_block - mean,  w = n_block / (n + n_block)
//
// in double. Source: Chan, Golub and LeVeque (1979), "Updating formulae and a
// pairwise algorithm for computing sample variances". The rounding of a block's
// float mean is taken out by the sum of the differences from it.
//
// oneDNN's kernels read the tensor once more and reach about 8 GB/s where these
// reach the memory's.
//
// Each thread has a range of rows and sums of its own, merged in the order of
// the threads: the same bits on every run with the same thread count.
// Tested by tests/ops/batch_normalization_test.cc.

#include "ops/lib/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "core/plan.h"
#include "ops/lib/parallel.h"
#include "ops/lib/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/lib/batch_norm.cc"
#include "hwy/foreach_target.h"  // after simd.h
#include "ops/lib/update-inl.h"

#ifndef OPS_LIB_BATCH_NORM_SUMS_
#define OPS_LIB_BATCH_NORM_SUMS_
namespace reprise {
namespace {

// Sums of one thread; each array has an element for each channel.
struct ThreadSums {
  int64_t rows = 0;
  double* first = nullptr;   // the mean; of the gradient: sum of dy
  double* second = nullptr;  // squares around it; sum of dy (x - mean)
  float* block_first = nullptr;
  float* block_second = nullptr;
  float* shift = nullptr;
};

// What an element is mapped with; each array has an element for each channel.
struct ChannelFactors {
  float* factor = nullptr;
  float* first = nullptr;   // of the gradient: mean of dy
  float* second = nullptr;  // mean of dy (x - mean), over the variance
};

}  // namespace
}  // namespace reprise
#endif  // OPS_LIB_BATCH_NORM_SUMS_

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

HWY_INLINE FullVector Moved(FullVector at, int64_t by) {
  return FullVector{at.i + by};
}
HWY_INLINE PartVector Moved(PartVector at, int64_t by) {
  return PartVector{at.i + by, at.n};
}

// sum[c] = the sum over rows r of f(position of [r, c], position of c).
template <class F>
HWY_INLINE void SumRows(int64_t rows, int64_t channels, float* sum,
                        const F& f) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + 4 * lanes <= channels; c += 4 * lanes) {
    const FullVector c0{c};
    const FullVector c1{c + lanes};
    const FullVector c2{c + 2 * lanes};
    const FullVector c3{c + 3 * lanes};
    VF s0 = hn::Zero(d);
    VF s1 = hn::Zero(d);
    VF s2 = hn::Zero(d);
    VF s3 = hn::Zero(d);
    for (int64_t r = 0; r < rows; ++r) {
      s0 = hn::Add(s0, f(Moved(c0, r * channels), c0));
      s1 = hn::Add(s1, f(Moved(c1, r * channels), c1));
      s2 = hn::Add(s2, f(Moved(c2, r * channels), c2));
      s3 = hn::Add(s3, f(Moved(c3, r * channels), c3));
    }
    c0.Store(s0, sum);
    c1.Store(s1, sum);
    c2.Store(s2, sum);
    c3.Store(s3, sum);
  }
  ForEachVector(c, channels, [&](auto at) HWY_ATTR {
    VF s = hn::Zero(d);
    for (int64_t r = 0; r < rows; ++r) {
      s = hn::Add(s, f(Moved(at, r * channels), at));
    }
    at.Store(s, sum);
  });
}

// Likewise for two sums; f returns the first and sets the second.
template <class F>
HWY_INLINE void SumRowsTwice(int64_t rows, int64_t channels, float* first,
                             float* second, const F& f) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + 2 * lanes <= channels; c += 2 * lanes) {
    const FullVector c0{c};
    const FullVector c1{c + lanes};
    VF s0 = hn::Zero(d);
    VF s1 = hn::Zero(d);
    VF t0 = hn::Zero(d);
    VF t1 = hn::Zero(d);
    VF t = hn::Zero(d);
    for (int64_t r = 0; r < rows; ++r) {
      s0 = hn::Add(s0, f(Moved(c0, r * channels), c0, t));
      t0 = hn::Add(t0, t);
      s1 = hn::Add(s1, f(Moved(c1, r * channels), c1, t));
      t1 = hn::Add(t1, t);
    }
    c0.Store(s0, first);
    c1.Store(s1, first);
    c0.Store(t0, second);
    c1.Store(t1, second);
  }
  ForEachVector(c, channels, [&](auto at) HWY_ATTR {
    VF s = hn::Zero(d);
    VF sum = hn::Zero(d);
    VF t = hn::Zero(d);
    for (int64_t r = 0; r < rows; ++r) {
      s = hn::Add(s, f(Moved(at, r * channels), at, t));
      sum = hn::Add(sum, t);
    }
    at.Store(s, first);
    at.Store(sum, second);
  });
}

// The sums of one block of rows for MergeMoments: block_first is its mean as a
// float, block_second the squares around that, shift the differences from it.
void BlockMoments(const float* x, int64_t rows, int64_t channels,
                  const ThreadSums& sums) {
  SumRows(rows, channels, sums.block_first,
          [&](auto at, auto) HWY_ATTR { return at.Load(x); });
  const VF share = hn::Set(DF(), 1.0f / static_cast<float>(rows));
  ForEachVector(0, channels, [&](auto at) HWY_ATTR {
    at.Store(hn::Mul(at.Load(sums.block_first), share), sums.block_first);
  });
  SumRowsTwice(rows, channels, sums.shift, sums.block_second,
               [&](auto at, auto c, VF& square) HWY_ATTR {
                 const VF centered =
                     hn::Sub(at.Load(x), c.Load(sums.block_first));
                 square = hn::Mul(centered, centered);
                 return centered;
               });
}

// dy, or dy where y > 0.
template <class At>
HWY_INLINE VF GradAt(At at, const float* dy, const float* y) {
  const VF g = at.Load(dy);
  if (y == nullptr) return g;
  return hn::IfThenElseZero(hn::Gt(at.Load(y), hn::Zero(DF())), g);
}

// The sums of dy and dy (x - mean) over a block of rows from `row` on.
void BlockGradSums(const BatchNormGradOperands& o, int64_t row, int64_t rows,
                   int64_t channels, const ThreadSums& sums) {
  const int64_t begin = row * channels;
  SumRowsTwice(rows, channels, sums.block_first, sums.block_second,
               [&](auto at, auto c, VF& product) HWY_ATTR {
                 const auto here = Moved(at, begin);
                 const VF g = GradAt(here, o.dy, o.y);
                 product = hn::Mul(g, hn::Sub(here.Load(o.x), c.Load(o.mean)));
                 return g;
               });
}

HWY_INLINE VF Activated(VF y, bool relu) {
  const VF zero = hn::Zero(DF());
  return relu ? hn::IfThenElse(hn::Lt(y, zero), zero, y) : y;
}

// Maps rows of channels.
void MapRows(const BatchNormOperands& o, const ChannelFactors& k,
             int64_t channels, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    ForEachVector(0, channels, [&](auto c) HWY_ATTR {
      const auto at = Moved(c, r * channels);
      const VF y = hn::MulAdd(hn::Sub(at.Load(o.x), c.Load(o.mean)),
                              c.Load(k.factor), c.Load(o.b));
      at.Store(Activated(y, o.relu), o.y);
    });
  }
}

void MapGradRows(const BatchNormGradOperands& o, const ChannelFactors& k,
                 int64_t channels, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    ForEachVector(0, channels, [&](auto c) HWY_ATTR {
      const auto at = Moved(c, r * channels);
      VF g = GradAt(at, o.dy, o.y);
      if (o.of_batch) {
        g = hn::NegMulAdd(hn::Sub(at.Load(o.x), c.Load(o.mean)),
                          c.Load(k.second), hn::Sub(g, c.Load(k.first)));
      }
      at.Store(hn::Mul(g, c.Load(k.factor)), o.dx);
    });
  }
}

// Planar: one channel at a time, its planes `stride` elements apart.

double PlaneSum(const ChannelTensor& t, const float* x) {
  const int64_t stride = t.channels * t.pixels;
  double sum = 0;
  for (int64_t n = 0; n < t.n; ++n) {
    sum += SumOf(
        t.pixels, [](auto, auto v) HWY_ATTR { return v; }, x + n * stride);
  }
  return sum;
}

double PlaneSquares(const ChannelTensor& t, const float* x, float mean) {
  const int64_t stride = t.channels * t.pixels;
  const VF shift = hn::Set(DF(), mean);
  double sum = 0;
  for (int64_t n = 0; n < t.n; ++n) {
    sum += SumOf(
        t.pixels,
        [&](auto, auto v) HWY_ATTR {
          const VF centered = hn::Sub(v, shift);
          return hn::Mul(centered, centered);
        },
        x + n * stride);
  }
  return sum;
}

void MapPlanes(const ChannelTensor& t, const BatchNormOperands& o, float factor,
               int64_t channel) {
  const DF d;
  const VF mean = hn::Set(d, o.mean[channel]);
  const VF k = hn::Set(d, factor);
  const VF b = hn::Set(d, o.b[channel]);
  for (int64_t n = 0; n < t.n; ++n) {
    const int64_t begin = (n * t.channels + channel) * t.pixels;
    ForEachVector(begin, begin + t.pixels, [&](auto at) HWY_ATTR {
      at.Store(Activated(hn::MulAdd(hn::Sub(at.Load(o.x), mean), k, b), o.relu),
               o.y);
    });
  }
}

// Adds dy and dy (x - mean) to the two sums.
void PlaneGradSums(const ChannelTensor& t, const BatchNormGradOperands& o,
                   int64_t channel, double* first, double* second) {
  const DF d;
  const VF mean = hn::Set(d, o.mean[channel]);
  for (int64_t n = 0; n < t.n; ++n) {
    const int64_t begin = (n * t.channels + channel) * t.pixels;
    VF s = hn::Zero(d);
    VF p = hn::Zero(d);
    ForEachVector(begin, begin + t.pixels, [&](auto at) HWY_ATTR {
      // Beyond the last element g is 0.
      const VF g = GradAt(at, o.dy, o.y);
      s = hn::Add(s, g);
      p = hn::MulAdd(g, hn::Sub(at.Load(o.x), mean), p);
    });
    *first += hn::GetLane(hn::SumOfLanes(d, s));
    *second += hn::GetLane(hn::SumOfLanes(d, p));
  }
}

void MapGradPlanes(const ChannelTensor& t, const BatchNormGradOperands& o,
                   const ChannelFactors& k, int64_t channel) {
  const DF d;
  const VF mean = hn::Set(d, o.mean[channel]);
  const VF factor = hn::Set(d, k.factor[channel]);
  const VF first = hn::Set(d, k.first[channel]);
  const VF second = hn::Set(d, k.second[channel]);
  for (int64_t n = 0; n < t.n; ++n) {
    const int64_t begin = (n * t.channels + channel) * t.pixels;
    ForEachVector(begin, begin + t.pixels, [&](auto at) HWY_ATTR {
      VF g = GradAt(at, o.dy, o.y);
      if (o.of_batch) {
        g = hn::NegMulAdd(hn::Sub(at.Load(o.x), mean), second,
                          hn::Sub(g, first));
      }
      at.Store(hn::Mul(g, factor), o.dx);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(BlockMoments);
HWY_EXPORT(BlockGradSums);
HWY_EXPORT(MapRows);
HWY_EXPORT(MapGradRows);
HWY_EXPORT(PlaneSum);
HWY_EXPORT(PlaneSquares);
HWY_EXPORT(MapPlanes);
HWY_EXPORT(PlaneGradSums);
HWY_EXPORT(MapGradPlanes);

// 128 KiB of x, so that it and dy and y stay in a second-level cache.
constexpr int64_t kBlockElements = int64_t{1} << 15;

int64_t RowsOfBlock(int64_t channels) {
  return std::max<int64_t>(1, kBlockElements / channels);
}

// Takes arrays from the scratchpad, one after the other; without one it only
// counts.
class Scratch {
 public:
  explicit Scratch(void* base) : base_(static_cast<char*>(base)) {}

  template <typename T>
  T* Take(int64_t count) {
    char* const begin = base_ == nullptr ? nullptr : base_ + bytes_;
    bytes_ += AlignUp(count * static_cast<int64_t>(sizeof(T)));
    return reinterpret_cast<T*>(begin);
  }

  ChannelFactors TakeFactors(int64_t channels) {
    ChannelFactors factors;
    factors.factor = Take<float>(channels);
    factors.first = Take<float>(channels);
    factors.second = Take<float>(channels);
    return factors;
  }

  ThreadSums TakeSums(int64_t channels) {
    ThreadSums sums;
    sums.first = Take<double>(channels);
    sums.second = Take<double>(channels);
    sums.block_first = Take<float>(channels);
    sums.block_second = Take<float>(channels);
    sums.shift = Take<float>(channels);
    return sums;
  }

  int64_t bytes() const { return bytes_; }

 private:
  char* base_;
  int64_t bytes_ = 0;
};

// Maps the rows of each thread by f(begin, end), the last block first: that is
// what the sums have left in the caches.
template <class F>
void MapBackwards(const ChannelTensor& t, int threads, const F& f) {
  ParallelFor(threads, t.per_channel(), GrainOf(t.channels),
              [&](int64_t begin, int64_t end) {
                const int64_t rows = RowsOfBlock(t.channels);
                for (int64_t to = end; to > begin;) {
                  const int64_t from = std::max(begin, to - rows);
                  f(from, to);
                  to = from;
                }
              });
}

int ChunksOf(const ChannelTensor& t, int threads) {
  return NumChunks(threads, t.per_channel(), GrainOf(t.channels));
}

// Calls f(chunk, begin, end) for the rows of each thread.
template <class F>
void ForEachThread(const ChannelTensor& t, int threads, const F& f) {
  const int64_t rows = t.per_channel();
  const int chunks = ChunksOf(t, threads);
  ParallelFor(chunks, chunks, /*grain=*/1, [&](int64_t from, int64_t to) {
    for (int64_t c = from; c < to; ++c) {
      f(static_cast<int>(c), rows * c / chunks, rows * (c + 1) / chunks);
    }
  });
}

// The sums of each thread stand in one block of the scratchpad after another.
ThreadSums SumsOf(Scratch scratch, int64_t channels, int chunk) {
  ThreadSums sums;
  for (int c = 0; c <= chunk; ++c) sums = scratch.TakeSums(channels);
  return sums;
}

// Merges the moments of `rows` more elements a channel into `sums`.
//
//   mean_at: the mean of a channel's elements.
//   squares_at: the sum of the squares of the differences from it.
template <class MeanAt, class SquaresAt>
void MergeMoments(int64_t rows, int64_t channels, const MeanAt& mean_at,
                  const SquaresAt& squares_at, ThreadSums& sums) {
  const double before = static_cast<double>(sums.rows);
  const double weight =
      static_cast<double>(rows) / (before + static_cast<double>(rows));
  for (int64_t c = 0; c < channels; ++c) {
    const double difference = mean_at(c) - sums.first[c];
    sums.first[c] += difference * weight;
    sums.second[c] += squares_at(c) + difference * difference * before * weight;
  }
  sums.rows += rows;
}

void ThreadMoments(const ChannelTensor& t, const float* x, int64_t begin,
                   int64_t end, ThreadSums& sums) {
  const int64_t channels = t.channels;
  std::fill_n(sums.first, channels, 0.0);
  std::fill_n(sums.second, channels, 0.0);
  for (int64_t row = begin; row < end;) {
    const int64_t rows = std::min(RowsOfBlock(channels), end - row);
    HWY_DYNAMIC_DISPATCH(BlockMoments)
    (x + row * channels, rows, channels, sums);
    const double share = 1.0 / static_cast<double>(rows);
    MergeMoments(
        rows, channels,
        [&](int64_t c) { return sums.block_first[c] + sums.shift[c] * share; },
        [&](int64_t c) {
          const double shift = sums.shift[c];
          return std::max(0.0, sums.block_second[c] - shift * shift * share);
        },
        sums);
    row += rows;
  }
}

// Mean and variance of each channel.
void MomentsOfRows(const ChannelTensor& t, const BatchNormOperands& o,
                   int threads, const Scratch& scratch) {
  const int64_t rows = t.per_channel();
  const int chunks = ChunksOf(t, threads);
  ForEachThread(t, threads, [&](int chunk, int64_t begin, int64_t end) {
    ThreadSums sums = SumsOf(scratch, t.channels, chunk);
    ThreadMoments(t, o.x, begin, end, sums);
  });
  ThreadSums all = SumsOf(scratch, t.channels, 0);
  all.rows = rows / chunks;
  for (int chunk = 1; chunk < chunks; ++chunk) {
    const ThreadSums more = SumsOf(scratch, t.channels, chunk);
    MergeMoments(
        rows * (chunk + 1) / chunks - rows * chunk / chunks, t.channels,
        [&](int64_t c) { return more.first[c]; },
        [&](int64_t c) { return more.second[c]; }, all);
  }
  for (int64_t c = 0; c < t.channels; ++c) {
    o.mean[c] = static_cast<float>(all.first[c]);
    o.variance[c] =
        static_cast<float>(all.second[c] / static_cast<double>(rows));
  }
}

void MomentsOfPlanes(const ChannelTensor& t, const BatchNormOperands& o,
                     int threads) {
  const double count = static_cast<double>(t.per_channel());
  ParallelFor(
      threads, t.channels, GrainOf(t.per_channel()),
      [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) {
          const float* const x = o.x + c * t.pixels;
          o.mean[c] =
              static_cast<float>(HWY_DYNAMIC_DISPATCH(PlaneSum)(t, x) / count);
          o.variance[c] = static_cast<float>(
              HWY_DYNAMIC_DISPATCH(PlaneSquares)(t, x, o.mean[c]) / count);
        }
      });
}

// Sums of dy and dy (x - mean) by channel, into the first thread's sums.
ThreadSums GradSums(const ChannelTensor& t, const BatchNormGradOperands& o,
                    int threads, const Scratch& scratch) {
  const int64_t channels = t.channels;
  ThreadSums all = SumsOf(scratch, channels, 0);
  if (!t.channels_last) {
    ParallelFor(threads, channels, GrainOf(t.per_channel()),
                [&](int64_t begin, int64_t end) {
                  for (int64_t c = begin; c < end; ++c) {
                    all.first[c] = 0;
                    all.second[c] = 0;
                    HWY_DYNAMIC_DISPATCH(PlaneGradSums)
                    (t, o, c, &all.first[c], &all.second[c]);
                  }
                });
    return all;
  }
  ForEachThread(t, threads, [&](int chunk, int64_t begin, int64_t end) {
    const ThreadSums sums = SumsOf(scratch, channels, chunk);
    std::fill_n(sums.first, channels, 0.0);
    std::fill_n(sums.second, channels, 0.0);
    for (int64_t row = begin; row < end;) {
      const int64_t rows = std::min(RowsOfBlock(channels), end - row);
      HWY_DYNAMIC_DISPATCH(BlockGradSums)(o, row, rows, channels, sums);
      for (int64_t c = 0; c < channels; ++c) {
        sums.first[c] += sums.block_first[c];
        sums.second[c] += sums.block_second[c];
      }
      row += rows;
    }
  });
  for (int chunk = 1; chunk < ChunksOf(t, threads); ++chunk) {
    const ThreadSums more = SumsOf(scratch, channels, chunk);
    for (int64_t c = 0; c < channels; ++c) {
      all.first[c] += more.first[c];
      all.second[c] += more.second[c];
    }
  }
  return all;
}

}  // namespace

int64_t BatchNormScratchpadBytes(const ChannelTensor& tensor,
                                 const OpEnv& env) {
  Scratch scratch(nullptr);
  scratch.TakeFactors(tensor.channels);
  for (int chunk = 0; chunk < ChunksOf(tensor, env.threads); ++chunk) {
    scratch.TakeSums(tensor.channels);
  }
  // Statistics that nobody reads.
  scratch.Take<float>(tensor.channels);
  scratch.Take<float>(tensor.channels);
  return scratch.bytes();
}

void RunBatchNorm(const ChannelTensor& tensor, const BatchNormOperands& o,
                  int threads, void* scratchpad) {
  const ChannelTensor& t = tensor;
  Scratch scratch(scratchpad);
  const ChannelFactors k = scratch.TakeFactors(t.channels);
  BatchNormOperands operands = o;
  if (o.of_batch) {
    if (o.mean == nullptr) operands.mean = scratch.Take<float>(t.channels);
    if (o.variance == nullptr) {
      operands.variance = scratch.Take<float>(t.channels);
    }
    if (t.channels_last) {
      MomentsOfRows(t, operands, threads, scratch);
    } else {
      MomentsOfPlanes(t, operands, threads);
    }
  }
  for (int64_t c = 0; c < t.channels; ++c) {
    k.factor[c] = o.scale[c] / std::sqrt(operands.variance[c] + o.epsilon);
  }
  if (o.y == nullptr) return;
  if (t.channels_last) {
    MapBackwards(t, threads, [&](int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(MapRows)(operands, k, t.channels, begin, end);
    });
    return;
  }
  ParallelFor(threads, t.channels, GrainOf(t.per_channel()),
              [&](int64_t begin, int64_t end) {
                for (int64_t c = begin; c < end; ++c) {
                  HWY_DYNAMIC_DISPATCH(MapPlanes)(t, operands, k.factor[c], c);
                }
              });
}

void RunBatchNormGrad(const ChannelTensor& tensor,
                      const BatchNormGradOperands& o, int threads,
                      void* scratchpad) {
  const ChannelTensor& t = tensor;
  Scratch scratch(scratchpad);
  const ChannelFactors k = scratch.TakeFactors(t.channels);
  if (o.of_batch || o.dscale != nullptr || o.db != nullptr) {
    const ThreadSums sums = GradSums(t, o, threads, scratch);
    const double count = static_cast<double>(t.per_channel());
    for (int64_t c = 0; c < t.channels; ++c) {
      const double variance = static_cast<double>(o.variance[c]) + o.epsilon;
      k.first[c] = static_cast<float>(sums.first[c] / count);
      k.second[c] = static_cast<float>(sums.second[c] / count / variance);
      if (o.db != nullptr) o.db[c] = static_cast<float>(sums.first[c]);
      if (o.dscale != nullptr) {
        o.dscale[c] = static_cast<float>(sums.second[c] / std::sqrt(variance));
      }
    }
  }
  if (o.dx == nullptr) return;
  for (int64_t c = 0; c < t.channels; ++c) {
    k.factor[c] = o.scale[c] / std::sqrt(o.variance[c] + o.epsilon);
  }
  if (t.channels_last) {
    MapBackwards(t, threads, [&](int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(MapGradRows)(o, k, t.channels, begin, end);
    });
    return;
  }
  ParallelFor(threads, t.channels, GrainOf(t.per_channel()),
              [&](int64_t begin, int64_t end) {
                for (int64_t c = begin; c < end; ++c) {
                  HWY_DYNAMIC_DISPATCH(MapGradPlanes)(t, o, k, c);
                }
              });
}

}  // namespace reprise
#endif  // HWY_ONCE
