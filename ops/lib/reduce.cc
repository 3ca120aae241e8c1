#include "ops/lib/reduce.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/autodiff.h"
#include "core/status_macros.h"
#include "ops/lib/broadcast.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/layout.h"
#include "ops/lib/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/lib/reduce.cc"
#include "ops/lib/simd.h"
// simd.h stands before the loops.
#include "hwy/foreach_target.h"
#include "ops/lib/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

// The sum of a contiguous run.
double SumRun(const float* x, int64_t n) {
  constexpr int64_t kBlock = 4096;
  double sum = 0;
  for (int64_t i = 0; i < n; i += kBlock) {
    sum += SumOf(
        std::min(kBlock, n - i), [](DF, VF v) HWY_ATTR { return v; }, x + i);
  }
  return sum;
}

float MaxRun(const float* x, int64_t n) { return MaxOf(n, x); }

// total[j] += sum of x[r * stride + j] over rows [0, rows).
void SumRows(const float* x, int64_t rows, int64_t stride, int64_t n,
             float* total) {
  // Rows that are added up before they join the total.
  constexpr int64_t kBlock = 64;
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < rows; row += kBlock) {
    const int64_t end = std::min(rows, row + kBlock);
    int64_t j = 0;
    for (; j + 4 * lanes <= n; j += 4 * lanes) {
      VF s0 = hn::Zero(d);
      VF s1 = hn::Zero(d);
      VF s2 = hn::Zero(d);
      VF s3 = hn::Zero(d);
      for (int64_t r = row; r < end; ++r) {
        const float* p = x + r * stride + j;
        s0 = hn::Add(s0, hn::LoadU(d, p));
        s1 = hn::Add(s1, hn::LoadU(d, p + lanes));
        s2 = hn::Add(s2, hn::LoadU(d, p + 2 * lanes));
        s3 = hn::Add(s3, hn::LoadU(d, p + 3 * lanes));
      }
      float* t = total + j;
      hn::StoreU(hn::Add(hn::LoadU(d, t), s0), d, t);
      hn::StoreU(hn::Add(hn::LoadU(d, t + lanes), s1), d, t + lanes);
      hn::StoreU(hn::Add(hn::LoadU(d, t + 2 * lanes), s2), d, t + 2 * lanes);
      hn::StoreU(hn::Add(hn::LoadU(d, t + 3 * lanes), s3), d, t + 3 * lanes);
    }
    for (; j + lanes <= n; j += lanes) {
      VF s = hn::Zero(d);
      for (int64_t r = row; r < end; ++r) {
        s = hn::Add(s, hn::LoadU(d, x + r * stride + j));
      }
      hn::StoreU(hn::Add(hn::LoadU(d, total + j), s), d, total + j);
    }
    if (j < n) {
      VF s = hn::Zero(d);
      for (int64_t r = row; r < end; ++r) {
        s = hn::Add(s, LoadPart(d, x + r * stride + j, n - j));
      }
      StorePart(hn::Add(LoadPart(d, total + j, n - j), s), d, total + j, n - j);
    }
  }
}

// best[j] = max(best[j], x[r * stride + j]) over rows [0, rows); NaN wins.
void MaxRows(const float* x, int64_t rows, int64_t stride, int64_t n,
             float* best) {
  for (int64_t r = 0; r < rows; ++r) {
    Map(
        n, best, [](DF, VF a, VF b) HWY_ATTR { return LargerOrNaN(a, b); },
        static_cast<const float*>(best), x + r * stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace {

HWY_EXPORT(SumRun);
HWY_EXPORT(MaxRun);
HWY_EXPORT(SumRows);
HWY_EXPORT(MaxRows);

struct Axis {
  int64_t dim;
  int64_t stride;  // of the operand, in elements
};

// A reduction with its axes merged.
struct Walk {
  std::vector<Axis> kept;     // outermost first, without the inner one
  std::vector<Axis> reduced;  // likewise
  int64_t inner = 1;          // contiguous elements
  bool inner_reduced = true;
  int64_t num_kept = 1;     // product of `kept`
  int64_t num_reduced = 1;  // product of `reduced`
};

Walk MakeWalk(const Signature& s) {
  const Dims& dims = s.in[0].dims;
  const int rank = s.in[0].rank();
  const std::vector<int> reduced_axes = ReducedAxes(s.attrs, rank);
  const Dims strides = StridesOf(dims, s.in_layouts[0]);
  std::vector<std::pair<Axis, bool>> axes;
  for (const int axis : AxisOrder(s.in_layouts[0], rank)) {
    if (dims[axis] == 1) continue;
    const bool reduced =
        std::binary_search(reduced_axes.begin(), reduced_axes.end(), axis);
    if (!axes.empty() && axes.back().second == reduced) {
      axes.back().first = {axes.back().first.dim * dims[axis], strides[axis]};
    } else {
      axes.push_back({{dims[axis], strides[axis]}, reduced});
    }
  }
  Walk walk;
  if (axes.empty()) return walk;
  walk.inner = axes.back().first.dim;
  walk.inner_reduced = axes.back().second;
  axes.pop_back();
  for (const auto& [axis, reduced] : axes) {
    (reduced ? walk.reduced : walk.kept).push_back(axis);
    (reduced ? walk.num_reduced : walk.num_kept) *= axis.dim;
  }
  return walk;
}

int64_t OffsetOf(const std::vector<Axis>& axes, int64_t index) {
  int64_t offset = 0;
  for (size_t i = axes.size(); i-- > 0;) {
    offset += index % axes[i].dim * axes[i].stride;
    index /= axes[i].dim;
  }
  return offset;
}

// Threads that share one output when there are fewer outputs than threads:
// each then has partial results of its own in the scratchpad.
int NumParts(const Walk& walk, int threads) {
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

int64_t ScratchBytes(const Walk& walk, int threads) {
  const int parts = NumParts(walk, threads);
  if (parts == 1) return 0;
  return walk.inner_reduced
             ? parts * walk.num_kept * static_cast<int64_t>(sizeof(double))
             : parts * walk.num_kept * walk.inner *
                   static_cast<int64_t>(sizeof(float));
}

// Reduces the rows or runs [begin, end) of `walk.reduced` that belong to kept
// index `kept`. Of runs, elements [first, last).
double ReduceRuns(const Walk& walk, bool max, const float* x, int64_t kept,
                  int64_t begin, int64_t end, int64_t first, int64_t last) {
  const float* base = x + OffsetOf(walk.kept, kept);
  double result = max ? -std::numeric_limits<double>::infinity() : 0;
  for (int64_t r = begin; r < end; ++r) {
    const float* run = base + OffsetOf(walk.reduced, r) + first;
    if (max) {
      const double best = HWY_DYNAMIC_DISPATCH(MaxRun)(run, last - first);
      if (best > result || std::isnan(best)) result = best;
    } else {
      result += HWY_DYNAMIC_DISPATCH(SumRun)(run, last - first);
    }
  }
  return result;
}

void ReduceRows(const Walk& walk, bool max, const float* x, int64_t kept,
                int64_t begin, int64_t end, int64_t first, int64_t last,
                float* result) {
  std::fill(result + first, result + last,
            max ? -std::numeric_limits<float>::infinity() : 0.0f);
  const float* base = x + OffsetOf(walk.kept, kept) + first;
  const auto rows =
      max ? HWY_DYNAMIC_DISPATCH(MaxRows) : HWY_DYNAMIC_DISPATCH(SumRows);
  if (walk.reduced.size() == 1) {
    const int64_t stride = walk.reduced[0].stride;
    rows(base + begin * stride, end - begin, stride, last - first,
         result + first);
    return;
  }
  for (int64_t r = begin; r < end; ++r) {
    rows(base + OffsetOf(walk.reduced, r), 1, 0, last - first, result + first);
  }
}

class Reducer {
 public:
  Reducer(const Signature& s, Reduction reduction, int threads)
      : walk_(MakeWalk(s)),
        max_(reduction == Reduction::kMax),
        threads_(threads),
        num_parts_(NumParts(walk_, threads)),
        num_outputs_(s.out[0].num_elements()),
        empty_(s.in[0].num_elements() == 0) {
    if (reduction == Reduction::kMean) {
      const double count =
          static_cast<double>(walk_.num_reduced) *
          static_cast<double>(walk_.inner_reduced ? walk_.inner : 1);
      factor_ = 1 / count;
    }
    empty_value_ = max_ ? -std::numeric_limits<float>::infinity()
                   : reduction == Reduction::kMean
                       ? std::numeric_limits<float>::quiet_NaN()
                       : 0.0f;
  }

  void Run(const float* x, float* y, void* scratchpad) const {
    if (num_outputs_ == 0) return;
    if (empty_) {
      std::fill(y, y + num_outputs_, empty_value_);
    } else if (walk_.inner_reduced) {
      RunRuns(x, y, static_cast<double*>(scratchpad));
    } else {
      RunRows(x, y, static_cast<float*>(scratchpad));
    }
  }

 private:
  void RunRuns(const float* x, float* y, double* partial) const {
    if (num_parts_ == 1) {
      ParallelFor(
          threads_, walk_.num_kept, GrainOf(walk_.num_reduced * walk_.inner),
          [&](int64_t begin, int64_t end) {
            for (int64_t k = begin; k < end; ++k) {
              y[k] = static_cast<float>(
                  factor_ * ReduceRuns(walk_, max_, x, k, 0, walk_.num_reduced,
                                       0, walk_.inner));
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
              split_run
                  ? ReduceRuns(walk_, max_, x, k, 0, 1, first, last)
                  : ReduceRuns(walk_, max_, x, k, first, last, 0, walk_.inner);
        }
      }
    });
    for (int64_t k = 0; k < walk_.num_kept; ++k) {
      double result = partial[k];
      for (int part = 1; part < num_parts_; ++part) {
        const double other = partial[part * walk_.num_kept + k];
        if (!max_) {
          result += other;
        } else if (other > result || std::isnan(other)) {
          result = other;
        }
      }
      y[k] = static_cast<float>(factor_ * result);
    }
  }

  void RunRows(const float* x, float* y, float* partial) const {
    const int64_t n = walk_.num_kept * walk_.inner;
    if (num_parts_ == 1) {
      // Columns are dealt out in whole vectors of every instruction set.
      constexpr int64_t kColumns = 64;
      const int64_t blocks = (walk_.inner + kColumns - 1) / kColumns;
      ParallelFor(threads_, walk_.num_kept * blocks,
                  GrainOf(walk_.num_reduced * std::min(kColumns, walk_.inner)),
                  [&](int64_t begin, int64_t end) {
                    RunBlocks(x, y, blocks, kColumns, begin, end);
                  });
    } else {
      ParallelFor(num_parts_, num_parts_, 1, [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part) {
          for (int64_t k = 0; k < walk_.num_kept; ++k) {
            ReduceRows(walk_, max_, x, k, walk_.num_reduced * part / num_parts_,
                       walk_.num_reduced * (part + 1) / num_parts_, 0,
                       walk_.inner, partial + part * n + k * walk_.inner);
          }
        }
      });
      std::fill(y, y + n,
                max_ ? -std::numeric_limits<float>::infinity() : 0.0f);
      (max_ ? HWY_DYNAMIC_DISPATCH(MaxRows) : HWY_DYNAMIC_DISPATCH(SumRows))(
          partial, num_parts_, n, n, y);
    }
    if (factor_ != 1) {
      for (int64_t i = 0; i < n; ++i) {
        y[i] = static_cast<float>(factor_ * y[i]);
      }
    }
  }

  // Items [begin, end) of (kept index, block of columns); neighbouring blocks
  // of one kept index are reduced together.
  void RunBlocks(const float* x, float* y, int64_t blocks, int64_t columns,
                 int64_t begin, int64_t end) const {
    while (begin < end) {
      const int64_t kept = begin / blocks;
      const int64_t stop = std::min(end, (kept + 1) * blocks);
      const int64_t first = begin % blocks * columns;
      const int64_t last =
          std::min(walk_.inner, (stop - kept * blocks) * columns);
      ReduceRows(walk_, max_, x, kept, 0, walk_.num_reduced, first, last,
                 y + kept * walk_.inner);
      begin = stop;
    }
  }

  Walk walk_;
  bool max_;
  int threads_;
  int num_parts_;
  int64_t num_outputs_;
  bool empty_;  // nothing to reduce
  float empty_value_ = 0;
  double factor_ = 1;
};

InferredTypes Infer(absl::string_view name, const OpArgs& args) {
  const TensorType& x = args.in[0];
  RETURN_IF_ERROR(RequireF32(name, "x", x));
  if (args.attrs.Has("axes")) {
    RETURN_IF_ERROR(
        NormalizeAxes(name, args.attrs.IntList("axes"), x.rank()).status());
  }
  const std::vector<int> axes = ReducedAxes(args.attrs, x.rank());
  const bool keep = args.attrs.Int("keepdims") != 0;
  Dims dims;
  for (int i = 0; i < x.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) {
      dims.push_back(x.dims[i]);
    } else if (keep) {
      dims.push_back(1);
    }
  }
  return OneType(name, x.dtype, std::move(dims));
}

absl::StatusOr<Description> Describe(const Signature& offered,
                                     const OpEnv& env) {
  Signature s = offered;
  Description d = DescribeRowMajor(
      s, absl::StrCat("hwy:", absl::AsciiStrToLower(s.op->name)),
      s.in[0].num_elements());
  // Any order of axes serves in which the kept ones come as in the result.
  const std::vector<int> axes = ReducedAxes(s.attrs, s.in[0].rank());
  bool fits = IsPermutation(s.in_layouts[0]);
  int last = -1;
  for (const int axis :
       fits ? AxisOrder(s.in_layouts[0], s.in[0].rank()) : axes) {
    if (s.in[0].dims[axis] == 1 ||
        std::binary_search(axes.begin(), axes.end(), axis)) {
      continue;
    }
    fits = fits && axis > last;
    last = axis;
  }
  if (!fits) s.in_layouts[0] = Layout();
  d.in_layouts = s.in_layouts;
  d.scratchpad_bytes = ScratchBytes(MakeWalk(s), env.threads);
  return d;
}

}  // namespace

std::vector<int> ReducedAxes(const Attrs& attrs, int rank) {
  std::vector<int> axes;
  if (attrs.Has("axes")) {
    for (const int64_t axis : attrs.IntList("axes")) {
      axes.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
    }
    std::sort(axes.begin(), axes.end());
  }
  if (axes.empty() && attrs.Int("noop_with_empty_axes") == 0) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  return axes;
}

OpDef ReduceOp(std::string name, Reduction reduction) {
  OpDef op;
  op.name = name;
  op.attrs = {AttrSpec("axes", AttrKind::kInts),
              AttrSpec("keepdims", int64_t{1}),
              AttrSpec("noop_with_empty_axes", int64_t{0})};
  op.infer = [name](const OpArgs& args) { return Infer(name, args); };
  op.describe = Describe;
  op.build = [reduction](const Signature& s,
                         const OpEnv& env) -> absl::StatusOr<Kernel> {
    return Kernel{
        [reducer = Reducer(s, reduction, env.threads)](const Buffers& b) {
          reducer.Run(static_cast<const float*>(b.in[0]),
                      static_cast<float*>(b.out[0]), b.scratchpad);
        }};
  };
  return op;
}

ValueId SpreadOver(GradBuilder& b, ValueId dy, ValueId x) {
  const Dims dims = b.type(x).dims;
  const std::vector<int> axes =
      ReducedAxes(b.attrs(), static_cast<int>(dims.size()));
  Dims kept = dims;
  for (const int axis : axes) kept[axis] = 1;
  if (b.type(dy).dims != kept) {
    dy = b.Add("Reshape", {dy},
               Attrs{{"shape", kept}, {"allowzero", int64_t{1}}});
  }
  return kept == dims ? dy : b.Add("Expand", {dy}, Attrs{{"shape", dims}});
}

}  // namespace reprise
#endif  // HWY_ONCE
