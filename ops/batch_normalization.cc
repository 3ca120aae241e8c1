// BatchNormalization: each channel of x [n, c, d1, ..] centered and scaled.
//
//   y = scale (x - mean) / sqrt(var + epsilon) + b
//
// One graph serves all modes. With training_mode set, a training step takes
// mean and variance from the batch (BatchNormalizationTraining, a pure node)
// and moves the running statistics, in update nodes, by
//
//   running' = momentum running + (1 - momentum) batch
//
// where the batch variance is that of the population, as ONNX has it (PyTorch
// takes the unbiased one here). Elsewhere the running statistics are used
// (BatchNormalizationInference) and stay as they are. Both forms share one
// gradient operator, which reads x, scale, mean and variance, never y.
// Tested by tests/ops/batch_normalization_test.cc.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/autodiff.h"
#include "core/expand.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/batch_norm.h"
#include "ops/lib/channels_last.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/layout.h"
#include "ops/lib/relu.h"

namespace reprise {
namespace {

// Where mean and variance come from.
enum class Statistics : uint8_t { kOfBatch, kGiven };

// Judges x and the per-channel operands, which are all the others.
absl::Status CheckOperands(absl::string_view op, const TensorType& x,
                           absl::Span<const TensorType> per_channel) {
  RETURN_IF_ERROR(RequireF32(op, "x", x));
  if (x.rank() < 2) {
    return Invalid(op, ": x must be [n, c, ..], got ", ToString(x));
  }
  for (const TensorType& type : per_channel) {
    if (type != TensorType{DType::kF32, {x.dims[1]}}) {
      return Invalid(op, ": scale, b, mean and var must be f32[", x.dims[1],
                     "], got ", ToString(type));
    }
  }
  return absl::OkStatus();
}

InferredTypes Infer(const OpArgs& args) {
  RETURN_IF_ERROR(
      CheckOperands("BatchNormalization", args.in[0], args.in.subspan(1)));
  return std::vector<TensorType>{args.in[0], args.in[3], args.in[4]};
}

absl::Status ExpandMode(ExpandBuilder& b) {
  const Attrs epsilon = {{"epsilon", b.attrs().Float("epsilon")}};
  if (!b.training() || b.attrs().Int("training_mode") == 0) {
    b.SetOut(
        0, b.Add("BatchNormalizationInference",
                 {b.in(0), b.in(1), b.in(2), b.in(3), b.in(4)}, epsilon, 1)[0]);
    b.SetOut(1, b.in(3));
    b.SetOut(2, b.in(4));
    return absl::OkStatus();
  }
  const std::vector<ValueId> outs = b.Add(
      "BatchNormalizationTraining", {b.in(0), b.in(1), b.in(2)}, epsilon, 3);
  b.SetOut(0, outs[0]);
  for (const int i : {1, 2}) {
    if (!b.wants_out(i)) continue;
    b.SetOut(i, b.AddUpdate("RunningAverage", {b.in(2 + i), outs[i]},
                            {{"momentum", b.attrs().Float("momentum")}}, 1)[0]);
  }
  return absl::OkStatus();
}

std::vector<ValueId> GradOf(GradBuilder& b, ValueId mean, ValueId variance,
                            bool given_statistics) {
  std::vector<ValueId> grads(b.num_inputs(), kNoValue);
  const std::vector<ValueId> outs =
      b.AddMany("BatchNormalizationGrad",
                {b.out_grad(0), b.in(0), b.in(1), mean, variance},
                {{"epsilon", b.attrs().Float("epsilon")},
                 {"given_statistics", given_statistics}},
                3);
  for (int i = 0; i < 3; ++i) {
    if (b.needs_grad(i)) grads[i] = outs[i];
  }
  return grads;
}

std::vector<ValueId> TrainingGrad(GradBuilder& b) {
  return GradOf(b, b.out(1), b.out(2), /*given_statistics=*/false);
}

std::vector<ValueId> InferenceGrad(GradBuilder& b) {
  return GradOf(b, b.in(3), b.in(4), /*given_statistics=*/true);
}

// Channels-last if one of the operands is, so that fewer are reordered. Where
// a channel has one pixel, both orders are the same.
ChannelTensor FormOf(const TensorType& x, absl::Span<const Layout> layouts) {
  ChannelTensor form;
  form.n = x.dims[0];
  form.channels = x.dims[1];
  form.pixels = Product(absl::MakeConstSpan(x.dims).subspan(2));
  form.channels_last = form.pixels == 1;
  for (const Layout& layout : layouts) {
    form.channels_last |= IsChannelsLast(x.dims, layout);
  }
  return form;
}

Layout Wanted(const Dims& dims, const ChannelTensor& form,
              const Layout& offered) {
  if (form.channels_last) return WantChannelsLast(dims, offered);
  return IsPermutation(offered) && IsByteEqualToRowMajor(dims, offered)
             ? offered
             : Layout();
}

std::string NameOf(absl::string_view loop, const ChannelTensor& form) {
  return absl::StrCat("hwy:", loop, form.channels_last ? "_nhwc" : "_nchw");
}

void ZeroFill(const Buffers& buffers, int output, int64_t count) {
  float* y = static_cast<float*>(buffers.out[output]);
  if (y != nullptr) std::fill_n(y, count, 0.0f);
}

// Writes zeros to all outputs but the first, which has no element.
Kernel EmptyKernel(const Signature& signature, int64_t channels) {
  const int num_outputs = static_cast<int>(signature.out.size());
  return Kernel{[num_outputs, channels](const Buffers& buffers) {
    for (int i = 1; i < num_outputs; ++i) ZeroFill(buffers, i, channels);
  }};
}

const float* In(const Buffers& buffers, int i) {
  return static_cast<const float*>(buffers.in[i]);
}
float* Out(const Buffers& buffers, int i) {
  return static_cast<float*>(buffers.out[i]);
}

// Forward: BatchNormalizationTraining(x, scale, b): y, mean, var, and
// BatchNormalizationInference(x, scale, b, mean, var): y.

InferredTypes TrainingInfer(const OpArgs& args) {
  RETURN_IF_ERROR(CheckOperands("BatchNormalizationTraining", args.in[0],
                                args.in.subspan(1)));
  return std::vector<TensorType>{args.in[0], args.in[1], args.in[1]};
}

InferredTypes InferenceInfer(const OpArgs& args) {
  RETURN_IF_ERROR(CheckOperands("BatchNormalizationInference", args.in[0],
                                args.in.subspan(1)));
  return std::vector<TensorType>{args.in[0]};
}

absl::StatusOr<Description> Describe(const Signature& offered,
                                     const OpEnv& env) {
  const TensorType& x = offered.in[0];
  const ChannelTensor form = FormOf(x, {offered.in_layouts[0]});
  Description d = DescribeRowMajor(offered, NameOf("batch_norm", form),
                                   8 * x.num_elements());
  if (x.num_elements() == 0) return d;
  d.in_layouts[0] = Wanted(x.dims, form, offered.in_layouts[0]);
  d.out_layouts[0] = d.in_layouts[0];
  d.scratchpad_bytes = BatchNormScratchpadBytes(form, env);
  if (HasActivation(offered)) d.implementation += "+relu";
  AllowOverwrite({0}, d);
  return d;
}

absl::StatusOr<Kernel> Build(Statistics statistics, const Signature& signature,
                             const OpEnv& env) {
  const ChannelTensor form = FormOf(signature.in[0], {signature.in_layouts[0]});
  if (signature.in[0].num_elements() == 0) {
    return EmptyKernel(signature, form.channels);
  }
  BatchNormOperands fixed;
  fixed.epsilon = signature.attrs.Float("epsilon");
  fixed.of_batch = statistics == Statistics::kOfBatch;
  fixed.relu = HasActivation(signature);
  const int threads = env.threads;
  return Kernel{[form, fixed, threads](const Buffers& buffers) {
    BatchNormOperands o = fixed;
    o.x = In(buffers, 0);
    o.scale = In(buffers, 1);
    o.b = In(buffers, 2);
    o.y = Out(buffers, 0);
    if (o.of_batch) {
      o.mean = Out(buffers, 1);
      o.variance = Out(buffers, 2);
    } else {
      // Read only: they are no results.
      o.mean = static_cast<float*>(buffers.in[3]);
      o.variance = static_cast<float*>(buffers.in[4]);
    }
    RunBatchNorm(form, o, threads, buffers.scratchpad);
  }};
}

// BatchNormalizationGrad(dy, x, scale, mean, var): dx, dscale, db. With the
// gradient of a Relu behind the map fused in, dy is that of the Relu's result,
// which is operand 5.

constexpr int kResultOfRelu = 5;

bool HasResult(const Signature& s) {
  return s.in.size() > kResultOfRelu && s.in[kResultOfRelu].present();
}

InferredTypes GradInfer(const OpArgs& args) {
  RETURN_IF_ERROR(
      CheckOperands("BatchNormalizationGrad", args.in[1], args.in.subspan(2)));
  return std::vector<TensorType>{args.in[1], args.in[2], args.in[2]};
}

// Dy, x and, where there is one, the result of the Relu.
std::vector<int> WholeOperands(const Signature& s) {
  return HasResult(s) ? std::vector<int>{0, 1, kResultOfRelu}
                      : std::vector<int>{0, 1};
}

ChannelTensor GradForm(const Signature& s) {
  std::vector<Layout> layouts;
  for (const int i : WholeOperands(s)) layouts.push_back(s.in_layouts[i]);
  return FormOf(s.in[1], layouts);
}

absl::StatusOr<Description> GradDescribe(const Signature& offered,
                                         const OpEnv& env) {
  const TensorType& x = offered.in[1];
  const ChannelTensor form = GradForm(offered);
  Description d = DescribeRowMajor(offered, NameOf("batch_norm_grad", form),
                                   11 * x.num_elements());
  if (x.num_elements() == 0) return d;
  for (const int i : WholeOperands(offered)) {
    d.in_layouts[i] = Wanted(x.dims, form, offered.in_layouts[i]);
  }
  d.out_layouts[0] = d.in_layouts[1];
  d.scratchpad_bytes = BatchNormScratchpadBytes(form, env);
  if (HasResult(offered)) d.implementation += "+relu";
  if (offered.out[0].present()) AllowOverwrite(WholeOperands(offered), d);
  return d;
}

absl::StatusOr<Kernel> GradBuild(const Signature& signature, const OpEnv& env) {
  const ChannelTensor form = GradForm(signature);
  if (signature.in[1].num_elements() == 0) {
    return EmptyKernel(signature, form.channels);
  }
  const bool has_result = HasResult(signature);
  BatchNormGradOperands fixed;
  fixed.epsilon = signature.attrs.Float("epsilon");
  fixed.of_batch = !signature.attrs.Bool("given_statistics");
  const int threads = env.threads;
  return Kernel{[form, fixed, has_result, threads](const Buffers& buffers) {
    BatchNormGradOperands o = fixed;
    o.dy = In(buffers, 0);
    o.x = In(buffers, 1);
    o.scale = In(buffers, 2);
    o.mean = In(buffers, 3);
    o.variance = In(buffers, 4);
    if (has_result) o.y = In(buffers, kResultOfRelu);
    o.dx = Out(buffers, 0);
    o.dscale = Out(buffers, 1);
    o.db = Out(buffers, 2);
    RunBatchNormGrad(form, o, threads, buffers.scratchpad);
  }};
}

OpDef ForwardOp(Statistics statistics) {
  OpDef op;
  op.internal = true;
  op.attrs = {AttrSpec("epsilon", 1e-5f)};
  op.fusable_activations = {"Relu"};
  op.describe = Describe;
  op.build = [statistics](const Signature& signature, const OpEnv& env) {
    return Build(statistics, signature, env);
  };
  return op;
}

}  // namespace

std::vector<OpDef> BatchNormalizationOps() {
  OpDef any;
  any.name = "BatchNormalization";
  any.min_inputs = 5;
  any.max_inputs = 5;
  any.max_outputs = 3;
  any.attrs = {AttrSpec("epsilon", 1e-5f), AttrSpec("momentum", 0.9f),
               AttrSpec("training_mode", int64_t{0})};
  any.no_grad_inputs = {3, 4};
  any.infer = Infer;
  any.expand = ExpandMode;

  OpDef training = ForwardOp(Statistics::kOfBatch);
  training.name = "BatchNormalizationTraining";
  training.min_inputs = 3;
  training.max_inputs = 3;
  training.max_outputs = 3;
  training.first_statistic = 1;
  training.infer = TrainingInfer;
  training.grad = TrainingGrad;

  OpDef inference = ForwardOp(Statistics::kGiven);
  inference.name = "BatchNormalizationInference";
  inference.min_inputs = 5;
  inference.max_inputs = 5;
  inference.no_grad_inputs = {3, 4};
  inference.infer = InferenceInfer;
  inference.grad = InferenceGrad;

  OpDef grad;
  grad.name = "BatchNormalizationGrad";
  grad.internal = true;
  grad.min_inputs = 5;
  grad.max_inputs = 5;
  grad.max_outputs = 3;
  grad.attrs = {AttrSpec("epsilon", 1e-5f),
                AttrSpec("given_statistics", false)};
  grad.fusable_operands = {{"ReluGrad", /*operand=*/0}};
  grad.infer = GradInfer;
  grad.describe = GradDescribe;
  grad.build = GradBuild;

  return {any, training, inference, grad};
}

}  // namespace reprise
