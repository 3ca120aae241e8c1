// SoftmaxCrossEntropyLoss: softmax over axis 1, and the negative logarithm of
// the probability of the labelled class.
//
//   z_i     = log sum_c exp(x[i, c])
//   loss_i  = w[l_i] (z_i - x[i, l_i])     i: a position, l_i: its label
//   dx[i,c] = k_i (exp(x[i, c] - z_i) - [c = l_i])
//
// where k_i is dy w[l_i], over the total weight if the reduction is `mean`. The
// gradient reads the scores x and no result: one tensor of their size, which
// it may overwrite. If the log-probabilities (output 1) are asked for, the node
// is LogSoftmax and NegativeLogLikelihoodLoss instead.
// Tested by tests/ops/softmax_cross_entropy_loss_test.cc.

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/autodiff.h"
#include "core/expand.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/channels_last.h"
#include "ops/lib/describe.h"
#include "ops/lib/label_loss.h"
#include "ops/lib/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/softmax_cross_entropy_loss.cc"
#include "hwy/foreach_target.h"  // after simd.h
#include "ops/lib/update-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

// The largest score of a position and the sum of exp(score - largest).
struct RowSum {
  float largest;
  float sum;
};

HWY_INLINE VF Shifted(DF d, VF x, VF largest) {
  return Exp(d, hn::Sub(x, largest));
}

HWY_INLINE RowSum SumRow(const float* x, int64_t classes) {
  const float largest = MaxOf(classes, x);
  const VF shift = hn::Set(DF(), largest);
  return {
      largest,
      SumOf(
          classes,
          [&](auto d, auto v) HWY_ATTR { return Shifted(d, v, shift); }, x)};
}

// As many positions as a vector has lanes, side by side; `x` is the first
// one's score of class 0.
template <class At>
HWY_INLINE void SumColumns(const At& at, const float* x, const LabelLoss& loss,
                           VF& largest, VF& sum) {
  const DF d;
  largest = at.Load(x);
  for (int64_t c = 1; c < loss.classes; ++c) {
    const VF v = at.Load(x + c * loss.d);
    largest = LargerOrNaN(largest, v);
  }
  sum = hn::Zero(d);
  for (int64_t c = 0; c < loss.classes; ++c) {
    sum = hn::Add(sum, Shifted(d, at.Load(x + c * loss.d), largest));
  }
}

// Calls f(first, x, at) for vectors of neighbouring positions: `first` is the
// first one, at.Load(x + c * d) the scores of class c.
template <class F>
HWY_INLINE void ForEachColumns(const LabelLoss& loss, const float* scores,
                               int64_t begin, int64_t end, const F& f) {
  for (int64_t from = begin; from < end;) {
    const int64_t outer = from / loss.d;
    const int64_t to = std::min(end, (outer + 1) * loss.d);
    const float* x = scores + outer * loss.classes * loss.d;
    ForEachVector(from - outer * loss.d, to - outer * loss.d,
                  [&](auto at) HWY_ATTR { f(outer * loss.d + at.i, x, at); });
    from = to;
  }
}

HWY_INLINE int64_t NumLanes(const FullVector&) {
  return static_cast<int64_t>(hn::Lanes(DF()));
}
HWY_INLINE int64_t NumLanes(const PartVector& at) { return at.n; }

HWY_INLINE float LossAt(const LabelLoss& loss, const LabelOperands& operands,
                        int64_t position, RowSum row) {
  const Target target = TargetAt(loss, operands, position);
  if (target.ignored) return 0;
  const float score =
      operands
          .scores[(position / loss.d * loss.classes + target.label) * loss.d +
                  position % loss.d];
  return target.weight * (std::log(row.sum) - (score - row.largest));
}

void SoftmaxLossLoop(const LabelLoss& loss, const LabelOperands& operands,
                     int64_t begin, int64_t end, float* losses) {
  if (loss.d == 1) {
    for (int64_t i = begin; i < end; ++i) {
      const RowSum row =
          SumRow(operands.scores + i * loss.classes, loss.classes);
      losses[i - begin] = LossAt(loss, operands, i, row);
    }
    return;
  }
  const DF d;
  ForEachColumns(loss, operands.scores, begin, end,
                 [&](int64_t first, const float* x, auto at) HWY_ATTR {
                   VF largest;
                   VF sum;
                   SumColumns(at, x, loss, largest, sum);
                   HWY_ALIGN float largest_of[kLanes];
                   HWY_ALIGN float sum_of[kLanes];
                   hn::Store(largest, d, largest_of);
                   hn::Store(sum, d, sum_of);
                   for (int64_t j = 0; j < NumLanes(at); ++j) {
                     losses[first + j - begin] = LossAt(
                         loss, operands, first + j, {largest_of[j], sum_of[j]});
                   }
                 });
}

// The factor k of a position.
HWY_INLINE float FactorAt(const Target& target, float scale, const float* dy,
                          int64_t position) {
  if (target.ignored) return 0;
  return scale * target.weight * (dy == nullptr ? 1.0f : dy[position]);
}

// `dy`: one for each position, or nullptr if `scale` has it.
void SoftmaxLossGradLoop(const LabelLoss& loss, const LabelOperands& operands,
                         float scale, const float* dy, int64_t begin,
                         int64_t end, float* dx) {
  const DF d;
  if (loss.d == 1) {
    for (int64_t i = begin; i < end; ++i) {
      const float* x = operands.scores + i * loss.classes;
      float* row_dx = dx + i * loss.classes;
      const Target target = TargetAt(loss, operands, i);
      const float k = FactorAt(target, scale, dy, i);
      const RowSum row = SumRow(x, loss.classes);
      const VF largest = hn::Set(d, row.largest);
      const VF factor = hn::Set(d, k / row.sum);
      Map(
          loss.classes, row_dx,
          [&](auto, auto v)
              HWY_ATTR { return hn::Mul(factor, Shifted(d, v, largest)); },
          x);
      row_dx[target.label] -= k;
    }
    return;
  }
  ForEachColumns(loss, operands.scores, begin, end,
                 [&](int64_t first, const float* x, auto at) HWY_ATTR {
                   VF largest;
                   VF sum;
                   SumColumns(at, x, loss, largest, sum);
                   HWY_ALIGN float k[kLanes] = {};
                   int64_t label[kLanes] = {};
                   for (int64_t j = 0; j < NumLanes(at); ++j) {
                     const Target target = TargetAt(loss, operands, first + j);
                     k[j] = FactorAt(target, scale, dy, first + j);
                     label[j] = target.label;
                   }
                   const VF factor = hn::Div(hn::Load(d, k), sum);
                   float* out = dx + (x - operands.scores);
                   for (int64_t c = 0; c < loss.classes; ++c) {
                     const VF v = Shifted(d, at.Load(x + c * loss.d), largest);
                     at.Store(hn::Mul(factor, v), out + c * loss.d);
                   }
                   for (int64_t j = 0; j < NumLanes(at); ++j) {
                     out[label[j] * loss.d + at.i + j] -= k[j];
                   }
                 });
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {

HWY_EXPORT(SoftmaxLossLoop);
HWY_EXPORT(SoftmaxLossGradLoop);

namespace {

InferredTypes Infer(const OpArgs& args) {
  ASSIGN_OR_RETURN(
      std::vector<TensorType> types,
      InferLabelLoss("SoftmaxCrossEntropyLoss", args.in, args.attrs));
  types.push_back(args.in[0]);
  return types;
}

absl::Status ExpandLogProb(ExpandBuilder& b) {
  std::vector<ValueId> in = {b.in(0), b.in(1)};
  if (b.in(2) != kNoValue) in.push_back(b.in(2));
  if (!b.wants_out(1)) {
    b.SetOut(0, b.Add("SoftmaxCrossEntropyLoss", in, b.attrs(), 1)[0]);
    return absl::OkStatus();
  }
  in[0] = b.Add("LogSoftmax", {in[0]}, {{"axis", int64_t{1}}}, 1)[0];
  b.SetOut(1, in[0]);
  if (b.wants_out(0)) {
    b.SetOut(0, b.Add("NegativeLogLikelihoodLoss", in, b.attrs(), 1)[0]);
  }
  return absl::OkStatus();
}

std::vector<ValueId> Grad(GradBuilder& b) {
  std::vector<ValueId> grads(b.num_inputs(), kNoValue);
  std::vector<ValueId> in = {b.out_grad(0), b.in(0), b.in(1)};
  if (b.in(2) != kNoValue) in.push_back(b.in(2));
  if (b.needs_grad(0)) {
    grads[0] = b.Add("SoftmaxCrossEntropyLossGrad", in, b.attrs());
  }
  return grads;
}

// `scores` and `labels`: their places among the operands.
LabelLoss LossOf(const Signature& signature, int scores, const Layout& layout) {
  return LabelLossOf(signature.attrs, signature.in[scores],
                     signature.in[scores + 1],
                     IsChannelsLast(signature.in[scores].dims, layout));
}

LabelOperands OperandsOf(const Buffers& buffers, int scores,
                         size_t num_inputs) {
  LabelOperands operands;
  operands.scores = static_cast<const float*>(buffers.in[scores]);
  operands.labels = buffers.in[scores + 1];
  if (num_inputs > static_cast<size_t>(scores) + 2) {
    operands.weights = static_cast<const float*>(buffers.in[scores + 2]);
  }
  return operands;
}

// Scores in channels-last order stay so: their rows of classes are dense.
Layout ScoresLayout(const Signature& offered, int scores) {
  const Layout& layout = offered.in_layouts[scores];
  return IsChannelsLast(offered.in[scores].dims, layout) ? layout : Layout();
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  Description description = DescribeRowMajor(offered, "hwy:softmax_loss",
                                             8 * offered.in[0].num_elements());
  description.in_layouts[0] = ScoresLayout(offered, 0);
  description.scratchpad_bytes =
      LossScratchpadBytes(LossOf(offered, 0, description.in_layouts[0]));
  return description;
}

absl::StatusOr<Kernel> Build(const Signature& signature, const OpEnv& env) {
  const LabelLoss loss = LossOf(signature, 0, signature.in_layouts[0]);
  const size_t num_inputs = signature.in.size();
  const int threads = env.threads;
  return Kernel{[=](const Buffers& buffers) {
    const LabelOperands operands = OperandsOf(buffers, 0, num_inputs);
    ReduceLoss(loss, operands, threads, static_cast<float*>(buffers.out[0]),
               buffers.scratchpad,
               [&](int64_t begin, int64_t end, float* losses) {
                 HWY_DYNAMIC_DISPATCH(SoftmaxLossLoop)
                 (loss, operands, begin, end, losses);
               });
  }};
}

// SoftmaxCrossEntropyLossGrad(dy, scores, labels, weights?).

InferredTypes GradInfer(const OpArgs& args) {
  RETURN_IF_ERROR(InferLabelLoss("SoftmaxCrossEntropyLossGrad",
                                 args.in.subspan(1), args.attrs)
                      .status());
  return std::vector<TensorType>{args.in[1]};
}

absl::StatusOr<Description> GradDescribe(const Signature& offered,
                                         const OpEnv&) {
  Description description = DescribeRowMajor(offered, "hwy:softmax_loss_grad",
                                             12 * offered.in[1].num_elements());
  description.in_layouts[1] = ScoresLayout(offered, 1);
  description.out_layouts[0] = description.in_layouts[1];
  AllowOverwrite({1}, description);
  return description;
}

absl::StatusOr<Kernel> GradBuild(const Signature& signature, const OpEnv& env) {
  const LabelLoss loss = LossOf(signature, 1, signature.in_layouts[1]);
  const size_t num_inputs = signature.in.size();
  const int threads = env.threads;
  return Kernel{[=](const Buffers& buffers) {
    const LabelOperands operands = OperandsOf(buffers, 1, num_inputs);
    if (loss.positions == 0 || loss.classes == 0) return;
    const float* dy = static_cast<const float*>(buffers.in[0]);
    const float scale = GradientScale(loss, operands, dy);
    const float* each = loss.reduction == Reduction::kNone ? dy : nullptr;
    float* dx = static_cast<float*>(buffers.out[0]);
    ParallelFor(threads, loss.positions, GrainOf(loss.classes),
                [&](int64_t begin, int64_t end) {
                  HWY_DYNAMIC_DISPATCH(SoftmaxLossGradLoop)
                  (loss, operands, scale, each, begin, end, dx);
                });
  }};
}

}  // namespace

std::vector<OpDef> SoftmaxCrossEntropyLossOps() {
  OpDef forward;
  forward.name = "SoftmaxCrossEntropyLoss";
  forward.min_inputs = 2;
  forward.max_inputs = 3;
  forward.max_outputs = 2;
  forward.attrs = LabelLossAttrs();
  forward.no_grad_inputs = {1, 2};
  forward.infer = Infer;
  forward.expand = ExpandLogProb;
  forward.grad = Grad;
  forward.describe = Describe;
  forward.build = Build;

  OpDef grad;
  grad.name = "SoftmaxCrossEntropyLossGrad";
  grad.internal = true;
  grad.min_inputs = 3;
  grad.max_inputs = 4;
  grad.attrs = LabelLossAttrs();
  grad.infer = GradInfer;
  grad.describe = GradDescribe;
  grad.build = GradBuild;

  return {forward, grad};
}

}  // namespace reprise
#endif  // HWY_ONCE
