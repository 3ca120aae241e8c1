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
#include "ops/lib/batch_norm_loops.h"
#include "ops/lib/parallel.h"

namespace reprise {
namespace {

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
    BlockMoments(x + row * channels, rows, channels, sums);
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
  ParallelFor(threads, t.channels, GrainOf(t.per_channel()),
              [&](int64_t begin, int64_t end) {
                for (int64_t c = begin; c < end; ++c) {
                  const float* const x = o.x + c * t.pixels;
                  o.mean[c] = static_cast<float>(PlaneSum(t, x) / count);
                  o.variance[c] =
                      static_cast<float>(PlaneSquares(t, x, o.mean[c]) / count);
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
                    PlaneGradSums(t, o, c, &all.first[c], &all.second[c]);
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
      BlockGradSums(o, row, rows, channels, sums);
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
      MapRows(operands, k, t.channels, begin, end);
    });
    return;
  }
  ParallelFor(threads, t.channels, GrainOf(t.per_channel()),
              [&](int64_t begin, int64_t end) {
                for (int64_t c = begin; c < end; ++c) {
                  MapPlanes(t, operands, k.factor[c], c);
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
      MapGradRows(o, k, t.channels, begin, end);
    });
    return;
  }
  ParallelFor(threads, t.channels, GrainOf(t.per_channel()),
              [&](int64_t begin, int64_t end) {
                for (int64_t c = begin; c < end; ++c) {
                  MapGradPlanes(t, o, k, c);
                }
              });
}

}  // namespace reprise
