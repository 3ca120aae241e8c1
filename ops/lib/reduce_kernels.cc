#include "ops/lib/reduce_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "ops/lib/fold.h"
#include "ops/lib/parallel.h"
#include "ops/lib/reduce_walk.h"

namespace reprise {
namespace {

ReduceWalk WalkOf(const Signature& s) {
  return MakeReduceWalk(s.in[0], s.in_layouts[0], s.attrs);
}

// Threads that share one output when there are fewer outputs than threads:
// each then has partial results of its own in the scratchpad.
int NumParts(const ReduceWalk& walk, int threads) {
  if (walk.inner_reduced) {
    if (walk.num_kept >= threads) return 1;
    return walk.num_reduced == 1
               ? NumChunks(threads, walk.inner, kElementsPerThread)
               : NumChunks(threads, walk.num_reduced, GrainOf(walk.inner));
  }
  // Narrow outputs: whole rows are shared out instead of columns.
  if (walk.num_kept * walk.inner > int64_t{1} << 12) return 1;
  return NumChunks(threads, walk.num_reduced,
                   GrainOf(walk.num_kept * walk.inner));
}

// Bytes of the partial results.
int64_t PartialBytes(const ReduceWalk& walk, int threads) {
  const int parts = NumParts(walk, threads);
  if (parts == 1) return 0;
  return walk.inner_reduced
             ? parts * walk.num_kept * static_cast<int64_t>(sizeof(double))
             : parts * walk.num_kept * walk.inner *
                   static_cast<int64_t>(sizeof(float));
}

// Folds the runs [begin, end) of `walk.reduced` that belong to kept index
// `kept`; of each, elements [first, last).
double FoldRuns(const ReduceWalk& walk, Fold fold, const float* x, float shift,
                int64_t kept, int64_t begin, int64_t end, int64_t first,
                int64_t last) {
  const float* base = x + OffsetOf(walk.kept, kept);
  double result = FoldIdentity(fold);
  for (int64_t r = begin; r < end; ++r) {
    const float* run = base + OffsetOf(walk.reduced, r) + first;
    result =
        CombineFolds(fold, result, FoldRun(fold, run, last - first, shift));
  }
  return result;
}

// Likewise rows; `result` and `shift` are those of the kept index.
void FoldKeptRows(const ReduceWalk& walk, Fold fold, const float* x,
                  const float* shift, int64_t kept, int64_t begin, int64_t end,
                  int64_t first, int64_t last, float* result) {
  std::fill(result + first, result + last,
            static_cast<float>(FoldIdentity(fold)));
  const float* base = x + OffsetOf(walk.kept, kept) + first;
  if (shift != nullptr) shift += first;
  if (walk.reduced.size() == 1) {
    const int64_t stride = walk.reduced[0].stride;
    FoldRows(fold, base + begin * stride, end - begin, stride, last - first,
             shift, result + first);
    return;
  }
  for (int64_t r = begin; r < end; ++r) {
    FoldRows(fold, base + OffsetOf(walk.reduced, r), 1, 0, last - first, shift,
             result + first);
  }
}

Fold FoldOf(Reducing reduction) {
  switch (reduction) {
    case Reducing::kSum:
    case Reducing::kMean:
    case Reducing::kLogSum:
      return Fold::kSum;
    case Reducing::kMax:
      return Fold::kMax;
    case Reducing::kMin:
      return Fold::kMin;
    case Reducing::kProd:
      return Fold::kProduct;
    case Reducing::kL1:
      return Fold::kSumOfMagnitudes;
    case Reducing::kL2:
    case Reducing::kSumSquare:
      return Fold::kSumOfSquares;
    case Reducing::kLogSumExp:
      return Fold::kSumOfExponentials;
  }
  return Fold::kSum;
}

// The result, given the fold of `count` elements; the fold itself unless
// IsMoreThanFold.
double Finish(Reducing reduction, double fold, double count) {
  switch (reduction) {
    case Reducing::kMean:
      return fold / count;
    case Reducing::kL2:
      return std::sqrt(fold);
    case Reducing::kLogSum:
    case Reducing::kLogSumExp:
      return std::log(fold);
    default:
      return fold;
  }
}

bool IsMoreThanFold(Reducing reduction) {
  return reduction == Reducing::kMean || reduction == Reducing::kL2 ||
         reduction == Reducing::kLogSum || reduction == Reducing::kLogSumExp;
}

// The elements that one result is made of.
double CountOf(const Signature& s) {
  double count = 1;
  for (const int axis : ReducedAxes(s.attrs, s.in[0].rank())) {
    count *= static_cast<double>(s.in[0].dims[axis]);
  }
  return count;
}

class Reducer {
 public:
  Reducer(const Signature& s, Reducing reduction, int threads)
      : walk_(WalkOf(s)),
        reduction_(reduction),
        threads_(threads),
        num_parts_(NumParts(walk_, threads)),
        num_outputs_(s.out[0].num_elements()),
        shift_at_(PartialBytes(walk_, threads)),
        count_(CountOf(s)),
        empty_(s.in[0].num_elements() == 0) {}

  void Run(const float* x, float* y, void* scratchpad) const {
    if (num_outputs_ == 0) return;
    const Fold fold = FoldOf(reduction_);
    if (empty_) {
      std::fill(y, y + num_outputs_, Finished(FoldIdentity(fold)));
      return;
    }
    if (reduction_ != Reducing::kLogSumExp) {
      RunFold(fold, x, nullptr, y, scratchpad);
      FinishAll(y, nullptr);
      return;
    }
    // Exponentials are taken from the maximum: they do not overflow.
    RunFold(Fold::kMax, x, nullptr, y, scratchpad);
    float* shift =
        reinterpret_cast<float*>(static_cast<char*>(scratchpad) + shift_at_);
    for (int64_t i = 0; i < num_outputs_; ++i) {
      shift[i] = std::isfinite(y[i]) ? y[i] : 0;
    }
    RunFold(fold, x, shift, y, scratchpad);
    FinishAll(y, shift);
  }

 private:
  float Finished(double fold) const {
    return static_cast<float>(Finish(reduction_, fold, count_));
  }

  // Finishes what rows have been folded into; RunRuns does so before it rounds.
  void FinishAll(float* y, const float* shift) const {
    if (!walk_.inner_reduced && IsMoreThanFold(reduction_)) {
      ParallelFor(threads_, num_outputs_, kElementsPerThread / 8,
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) y[i] = Finished(y[i]);
                  });
    }
    if (shift == nullptr) return;
    for (int64_t i = 0; i < num_outputs_; ++i) y[i] += shift[i];
  }

  void RunFold(Fold fold, const float* x, const float* shift, float* y,
               void* scratchpad) const {
    if (walk_.inner_reduced) {
      RunRuns(fold, x, shift, y, static_cast<double*>(scratchpad));
    } else {
      RunRows(fold, x, shift, y, static_cast<float*>(scratchpad));
    }
  }

  void StoreRun(Fold fold, double result, float& y) const {
    // A maximum on the way to something else is not finished.
    y = fold == FoldOf(reduction_) ? Finished(result)
                                   : static_cast<float>(result);
  }

  void RunRuns(Fold fold, const float* x, const float* shift, float* y,
               double* partial) const {
    const auto fold_part = [&](int64_t k, int64_t begin, int64_t end,
                               int64_t first, int64_t last) {
      return FoldRuns(walk_, fold, x, shift == nullptr ? 0 : shift[k], k, begin,
                      end, first, last);
    };
    if (num_parts_ == 1) {
      ParallelFor(
          threads_, walk_.num_kept, GrainOf(walk_.num_reduced * walk_.inner),
          [&](int64_t begin, int64_t end) {
            for (int64_t k = begin; k < end; ++k) {
              StoreRun(fold, fold_part(k, 0, walk_.num_reduced, 0, walk_.inner),
                       y[k]);
            }
          });
      return;
    }
    const bool split_run = walk_.num_reduced == 1;
    const int64_t items = split_run ? walk_.inner : walk_.num_reduced;
    ParallelFor(num_parts_, num_parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const int64_t first = items * part / num_parts_;
        const int64_t last = items * (part + 1) / num_parts_;
        for (int64_t k = 0; k < walk_.num_kept; ++k) {
          partial[part * walk_.num_kept + k] =
              split_run ? fold_part(k, 0, 1, first, last)
                        : fold_part(k, first, last, 0, walk_.inner);
        }
      }
    });
    for (int64_t k = 0; k < walk_.num_kept; ++k) {
      double result = partial[k];
      for (int part = 1; part < num_parts_; ++part) {
        result = CombineFolds(fold, result, partial[part * walk_.num_kept + k]);
      }
      StoreRun(fold, result, y[k]);
    }
  }

  void RunRows(Fold fold, const float* x, const float* shift, float* y,
               float* partial) const {
    const int64_t inner = walk_.inner;
    const auto shift_of = [&](int64_t k) {
      return shift == nullptr ? nullptr : shift + k * inner;
    };
    if (num_parts_ == 1) {
      // Columns are dealt out in whole vectors of every instruction set.
      constexpr int64_t kColumns = 64;
      const int64_t blocks = (inner + kColumns - 1) / kColumns;
      ParallelFor(threads_, walk_.num_kept * blocks,
                  GrainOf(walk_.num_reduced * std::min(kColumns, inner)),
                  [&](int64_t begin, int64_t end) {
                    ForEachStrip(blocks, kColumns, begin, end,
                                 [&](int64_t k, int64_t first, int64_t last) {
                                   FoldKeptRows(walk_, fold, x, shift_of(k), k,
                                                0, walk_.num_reduced, first,
                                                last, y + k * inner);
                                 });
                  });
      return;
    }
    const int64_t n = walk_.num_kept * inner;
    ParallelFor(num_parts_, num_parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        for (int64_t k = 0; k < walk_.num_kept; ++k) {
          FoldKeptRows(walk_, fold, x, shift_of(k), k,
                       walk_.num_reduced * part / num_parts_,
                       walk_.num_reduced * (part + 1) / num_parts_, 0, inner,
                       partial + part * n + k * inner);
        }
      }
    });
    std::fill(y, y + n, static_cast<float>(FoldIdentity(fold)));
    FoldTotals(fold, partial, num_parts_, n, y);
  }

  // Calls f(kept index, first column, end of columns) for items [begin, end) of
  // (kept index, block of columns); neighbouring blocks together.
  template <class F>
  void ForEachStrip(int64_t blocks, int64_t columns, int64_t begin, int64_t end,
                    const F& f) const {
    while (begin < end) {
      const int64_t kept = begin / blocks;
      const int64_t stop = std::min(end, (kept + 1) * blocks);
      const int64_t first = begin % blocks * columns;
      f(kept, first, std::min(walk_.inner, (stop - kept * blocks) * columns));
      begin = stop;
    }
  }

  ReduceWalk walk_;
  Reducing reduction_;
  int threads_;
  int num_parts_;
  int64_t num_outputs_;
  int64_t shift_at_;  // bytes into the scratchpad
  double count_;
  bool empty_;  // nothing to reduce
};

// Of integers: one after the other, wrapping around.
template <class T>
void ReduceIntegers(const ReduceWalk& walk, Reducing reduction, const T* x,
                    T* y, int64_t num_outputs) {
  using Unsigned = std::make_unsigned_t<T>;
  const auto fold = [&](T a, T b) -> T {
    switch (reduction) {
      case Reducing::kProd:
        return static_cast<T>(static_cast<Unsigned>(a) *
                              static_cast<Unsigned>(b));
      case Reducing::kMax:
        return std::max(a, b);
      case Reducing::kMin:
        return std::min(a, b);
      default:
        return static_cast<T>(static_cast<Unsigned>(a) +
                              static_cast<Unsigned>(b));
    }
  };
  const T nothing =
      reduction == Reducing::kProd  ? T{1}
      : reduction == Reducing::kMax ? std::numeric_limits<T>::min()
      : reduction == Reducing::kMin ? std::numeric_limits<T>::max()
                                    : T{0};
  std::fill_n(y, num_outputs, nothing);
  const int64_t kept_inner = walk.inner_reduced ? 0 : 1;
  const int64_t width = walk.inner_reduced ? 1 : walk.inner;
  for (int64_t k = 0; k < walk.num_kept; ++k) {
    const T* base = x + OffsetOf(walk.kept, k);
    for (int64_t r = 0; r < walk.num_reduced; ++r) {
      const T* run = base + OffsetOf(walk.reduced, r);
      for (int64_t i = 0; i < walk.inner; ++i) {
        T& to = y[k * width + i * kept_inner];
        to = fold(to, run[i]);
      }
    }
  }
}

template <class T>
Kernel IntegerKernel(const Signature& s, Reducing reduction) {
  const int64_t num_outputs = s.out[0].num_elements();
  const bool empty = s.in[0].num_elements() == 0;
  ReduceWalk walk = WalkOf(s);
  if (empty) walk.num_reduced = 0;
  return Kernel{[=](const Buffers& b) {
    if (num_outputs == 0) return;
    ReduceIntegers(walk, reduction, static_cast<const T*>(b.in[0]),
                   static_cast<T*>(b.out[0]), num_outputs);
  }};
}

}  // namespace

int64_t ReduceScratchpadBytes(const Signature& s, Reducing reduction,
                              int threads) {
  int64_t bytes = PartialBytes(WalkOf(s), threads);
  if (reduction == Reducing::kLogSumExp) {
    bytes += s.out[0].bytes();
  }
  return bytes;
}

Kernel ReduceKernel(const Signature& s, Reducing reduction, int threads) {
  if (s.in[0].dtype == DType::kI32) {
    return IntegerKernel<int32_t>(s, reduction);
  }
  if (s.in[0].dtype == DType::kI64) {
    return IntegerKernel<int64_t>(s, reduction);
  }
  return Kernel{[reducer = Reducer(s, reduction, threads)](const Buffers& b) {
    reducer.Run(static_cast<const float*>(b.in[0]),
                static_cast<float*>(b.out[0]), b.scratchpad);
  }};
}

}  // namespace reprise
