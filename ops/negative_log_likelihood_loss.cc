// NegativeLogLikelihoodLoss: the negative of the labelled class's entry in a
// tensor of log-probabilities.
//
//   loss_i   = -w[l_i] x[i, l_i]         i: a position, l_i: its label
//   dx[i, c] = -k_i [c = l_i]
//
// where k_i is dy w[l_i], over the total weight if the reduction is `mean`. The
// gradient reads labels and weights, never x.
// Tested by tests/ops/negative_log_likelihood_loss_test.cc.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/autodiff.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/label_loss.h"

namespace reprise {
namespace {

InferredTypes Infer(const OpArgs& args) {
  return InferLabelLoss("NegativeLogLikelihoodLoss", args.in, args.attrs);
}

std::vector<ValueId> Grad(GradBuilder& b) {
  std::vector<ValueId> grads(b.num_inputs(), kNoValue);
  if (!b.needs_grad(0)) return grads;
  std::vector<ValueId> in = {b.out_grad(0), b.in(1)};
  if (b.in(2) != kNoValue) in.push_back(b.in(2));
  Attrs attrs = b.attrs();
  attrs.Set("dims", b.type(b.in(0)).dims);
  grads[0] =
      b.Add("NegativeLogLikelihoodLossGrad", std::move(in), std::move(attrs));
  return grads;
}

// The element of a position's label.
int64_t ElementOf(const LabelLoss& loss, int64_t position, int64_t label) {
  return (position / loss.d * loss.classes + label) * loss.d +
         position % loss.d;
}

// `labels`: the place of the labels among the operands; weights follow.
LabelOperands OperandsOf(const Buffers& buffers, size_t labels,
                         size_t num_inputs) {
  LabelOperands operands;
  operands.labels = buffers.in[labels];
  if (num_inputs > labels + 1) {
    operands.weights = static_cast<const float*>(buffers.in[labels + 1]);
  }
  return operands;
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  Description description =
      DescribeRowMajor(offered, "loop", 2 * offered.in[1].num_elements());
  description.scratchpad_bytes = LossScratchpadBytes(
      LabelLossOf(offered.attrs, offered.in[0], offered.in[1],
                  /*channels_last=*/false));
  return description;
}

absl::StatusOr<Kernel> Build(const Signature& signature, const OpEnv& env) {
  const LabelLoss loss = LabelLossOf(signature.attrs, signature.in[0],
                                     signature.in[1], /*channels_last=*/false);
  const size_t num_inputs = signature.in.size();
  const int threads = env.threads;
  return Kernel{[=](const Buffers& buffers) {
    const LabelOperands operands = OperandsOf(buffers, 1, num_inputs);
    const float* x = static_cast<const float*>(buffers.in[0]);
    ReduceLoss(
        loss, operands, threads, static_cast<float*>(buffers.out[0]),
        buffers.scratchpad, [&](int64_t begin, int64_t end, float* losses) {
          for (int64_t i = begin; i < end; ++i) {
            const Target target = TargetAt(loss, operands, i);
            losses[i - begin] =
                target.ignored
                    ? 0.0f
                    : -target.weight * x[ElementOf(loss, i, target.label)];
          }
        });
  }};
}

// NegativeLogLikelihoodLossGrad(dy, labels, weights?).

TensorType ScoresType(const Attrs& attrs) {
  return {DType::kF32, attrs.IntList("dims")};
}

InferredTypes GradInfer(const OpArgs& args) {
  std::vector<TensorType> in(args.in.begin(), args.in.end());
  in[0] = ScoresType(args.attrs);
  RETURN_IF_ERROR(
      InferLabelLoss("NegativeLogLikelihoodLossGrad", in, args.attrs).status());
  return std::vector<TensorType>{in[0]};
}

absl::StatusOr<Description> GradDescribe(const Signature& offered,
                                         const OpEnv&) {
  return DescribeRowMajor(offered, "loop", 0);
}

absl::StatusOr<Kernel> GradBuild(const Signature& signature, const OpEnv&) {
  const TensorType scores = ScoresType(signature.attrs);
  const LabelLoss loss = LabelLossOf(signature.attrs, scores, signature.in[1],
                                     /*channels_last=*/false);
  const size_t num_inputs = signature.in.size();
  return Kernel{[=](const Buffers& buffers) {
    if (scores.num_elements() == 0) return;
    const LabelOperands operands = OperandsOf(buffers, 1, num_inputs);
    const float* dy = static_cast<const float*>(buffers.in[0]);
    const float scale = GradientScale(loss, operands, dy);
    float* dx = static_cast<float*>(buffers.out[0]);
    std::fill_n(dx, scores.num_elements(), 0.0f);
    for (int64_t i = 0; i < loss.positions; ++i) {
      const Target target = TargetAt(loss, operands, i);
      if (target.ignored) continue;
      const float each = loss.reduction == Reduction::kNone ? dy[i] : 1.0f;
      dx[ElementOf(loss, i, target.label)] = -scale * each * target.weight;
    }
  }};
}

}  // namespace

std::vector<OpDef> NegativeLogLikelihoodLossOps() {
  OpDef forward;
  forward.name = "NegativeLogLikelihoodLoss";
  forward.min_inputs = 2;
  forward.max_inputs = 3;
  forward.attrs = LabelLossAttrs();
  forward.no_grad_inputs = {1, 2};
  forward.infer = Infer;
  forward.grad = Grad;
  forward.describe = Describe;
  forward.build = Build;

  OpDef grad;
  grad.name = "NegativeLogLikelihoodLossGrad";
  grad.internal = true;
  grad.min_inputs = 2;
  grad.max_inputs = 3;
  grad.attrs = LabelLossAttrs();
  grad.attrs.emplace_back("dims", AttrKind::kInts, AttrSpec::kRequired);
  grad.infer = GradInfer;
  grad.describe = GradDescribe;
  grad.build = GradBuild;

  return {forward, grad};
}

}  // namespace reprise
