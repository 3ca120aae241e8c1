#include "ops/lib/batch_norm_loops.h"

#include "ops/lib/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/lib/batch_norm_loops.cc"
#include "hwy/foreach_target.h"  // after simd.h
#include "ops/lib/update-inl.h"

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

}  // namespace

void BlockMoments(const float* x, int64_t rows, int64_t channels,
                  const ThreadSums& sums) {
  HWY_DYNAMIC_DISPATCH(BlockMoments)(x, rows, channels, sums);
}

void BlockGradSums(const BatchNormGradOperands& o, int64_t row, int64_t rows,
                   int64_t channels, const ThreadSums& sums) {
  HWY_DYNAMIC_DISPATCH(BlockGradSums)(o, row, rows, channels, sums);
}

void MapRows(const BatchNormOperands& o, const ChannelFactors& k,
             int64_t channels, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(MapRows)(o, k, channels, begin, end);
}

void MapGradRows(const BatchNormGradOperands& o, const ChannelFactors& k,
                 int64_t channels, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(MapGradRows)(o, k, channels, begin, end);
}

double PlaneSum(const ChannelTensor& t, const float* x) {
  return HWY_DYNAMIC_DISPATCH(PlaneSum)(t, x);
}

double PlaneSquares(const ChannelTensor& t, const float* x, float mean) {
  return HWY_DYNAMIC_DISPATCH(PlaneSquares)(t, x, mean);
}

void MapPlanes(const ChannelTensor& t, const BatchNormOperands& o, float factor,
               int64_t channel) {
  HWY_DYNAMIC_DISPATCH(MapPlanes)(t, o, factor, channel);
}

void PlaneGradSums(const ChannelTensor& t, const BatchNormGradOperands& o,
                   int64_t channel, double* first, double* second) {
  HWY_DYNAMIC_DISPATCH(PlaneGradSums)(t, o, channel, first, second);
}

void MapGradPlanes(const ChannelTensor& t, const BatchNormGradOperands& o,
                   const ChannelFactors& k, int64_t channel) {
  HWY_DYNAMIC_DISPATCH(MapGradPlanes)(t, o, k, channel);
}

}  // namespace reprise
#endif  // HWY_ONCE
