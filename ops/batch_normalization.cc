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
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/autodiff.h"
#include "core/expand.h"
#include "core/op.h"
#include "core/plan.h"
#include "core/status_macros.h"
#include "ops/lib/channels_last.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/layout.h"
#include "ops/lib/onednn.h"

namespace reprise {
namespace {

using dnnl::normalization_flags;
using dnnl::prop_kind;

// Where mean and variance come from.
enum class Statistics : uint8_t { kOfBatch, kGiven };

normalization_flags FlagsOf(Statistics statistics) {
  const normalization_flags affine =
      normalization_flags::use_scale | normalization_flags::use_shift;
  return statistics == Statistics::kOfBatch
             ? affine
             : affine | normalization_flags::use_global_stats;
}

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

// How the kernels see the operands: x as [n, c, 1, pixels] in row-major or
// channels-last order, which is one of the two that all ranks have.
struct Form {
  TensorType x;
  bool channels_last = false;

  int64_t channels() const { return x.dims[1]; }
  bool empty() const { return x.num_elements() == 0; }

  onednn::Md XDesc() const {
    const int64_t pixels = Product(absl::MakeConstSpan(x.dims).subspan(2));
    return *onednn::Desc({DType::kF32, {x.dims[0], x.dims[1], 1, pixels}},
                         channels_last ? ChannelsLast(4) : Layout());
  }
  onednn::Md ChannelDesc() const {
    return *onednn::Desc({DType::kF32, {channels()}}, Layout());
  }
};

// Channels-last if one of the operands is, so that fewer are reordered.
Form FormOf(const TensorType& x, absl::Span<const Layout> layouts) {
  Form form;
  form.x = x;
  for (const Layout& layout : layouts) {
    form.channels_last |= IsChannelsLast(x.dims, layout);
  }
  return form;
}

Layout Wanted(const Form& form, const Layout& offered) {
  if (form.channels_last) return WantChannelsLast(form.x.dims, offered);
  return IsPermutation(offered) && IsByteEqualToRowMajor(form.x.dims, offered)
             ? offered
             : Layout();
}

template <class PrimitiveDesc>
void DescribePrimitive(const PrimitiveDesc& pd, Description& d) {
  d.implementation = pd.impl_info_str();
  d.scratchpad_bytes = onednn::BytesOf(pd.scratchpad_desc());
  d.library_heap_bytes =
      onednn::HiddenHeapBytes(d.implementation, d.bytes_moved);
}

void ZeroFill(const Buffers& buffers, int output, int64_t count) {
  float* y = static_cast<float*>(buffers.out[output]);
  if (y != nullptr) std::fill_n(y, count, 0.0f);
}

// Forward: BatchNormalizationTraining(x, scale, b): y, mean, var, and
// BatchNormalizationInference(x, scale, b, mean, var): y.

dnnl::batch_normalization_forward::primitive_desc ForwardDesc(
    const onednn::Session& session, const Form& form, float epsilon,
    Statistics statistics) {
  const prop_kind kind = statistics == Statistics::kOfBatch
                             ? prop_kind::forward_training
                             : prop_kind::forward_inference;
  return onednn::BatchNormForwardDesc(session, kind, form.XDesc(), epsilon,
                                      FlagsOf(statistics));
}

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

// Where a primitive writes results that nobody reads: behind its scratchpad.
class SpareOutputs {
 public:
  explicit SpareOutputs(const onednn::Md& scratchpad)
      : bytes_(onednn::BytesOf(scratchpad)) {}

  // Counts output i of the signature, and binds it if there is an execution.
  void Bind(const Signature& s, size_t i, int argument, const onednn::Md& md,
            onednn::Execution* execution) {
    if (i < s.out.size() && s.out[i].present()) {
      if (execution != nullptr) {
        execution->Out(argument, static_cast<int>(i), md);
      }
      return;
    }
    const int64_t offset = AlignUp(bytes_);
    bytes_ = offset + onednn::BytesOf(md);
    if (execution != nullptr) execution->Scratch(argument, md, offset);
  }

  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_;
};

template <class PrimitiveDesc>
int64_t BindForward(const PrimitiveDesc& pd, const Form& form,
                    Statistics statistics, const Signature& s,
                    onednn::Execution* execution) {
  SpareOutputs outputs(pd.scratchpad_desc());
  outputs.Bind(s, 0, DNNL_ARG_DST, form.XDesc(), execution);
  if (statistics == Statistics::kOfBatch) {
    outputs.Bind(s, 1, DNNL_ARG_MEAN, form.ChannelDesc(), execution);
    outputs.Bind(s, 2, DNNL_ARG_VARIANCE, form.ChannelDesc(), execution);
  }
  if (execution == nullptr) return outputs.bytes();
  execution->In(DNNL_ARG_SRC, 0, form.XDesc());
  execution->In(DNNL_ARG_SCALE, 1, form.ChannelDesc());
  execution->In(DNNL_ARG_SHIFT, 2, form.ChannelDesc());
  if (statistics == Statistics::kGiven) {
    execution->In(DNNL_ARG_MEAN, 3, form.ChannelDesc());
    execution->In(DNNL_ARG_VARIANCE, 4, form.ChannelDesc());
  }
  execution->Scratchpad(pd.scratchpad_desc());
  return outputs.bytes();
}

absl::StatusOr<Description> Describe(Statistics statistics,
                                     const Signature& offered,
                                     const OpEnv& env) {
  const Form form = FormOf(offered.in[0], {offered.in_layouts[0]});
  Description d = DescribeRowMajor(offered, "loop", 8 * form.x.num_elements());
  if (form.empty()) return d;
  d.in_layouts[0] = Wanted(form, offered.in_layouts[0]);
  d.out_layouts[0] = d.in_layouts[0];
  AllowOverwrite({0}, d);
  const onednn::Session session(env);
  return onednn::Try(offered.op->name, [&] {
    const auto pd =
        ForwardDesc(session, form, offered.attrs.Float("epsilon"), statistics);
    DescribePrimitive(pd, d);
    d.scratchpad_bytes = BindForward(pd, form, statistics, offered, nullptr);
    return d;
  });
}

absl::StatusOr<Kernel> Build(Statistics statistics, const Signature& signature,
                             const OpEnv& env) {
  const Form form = FormOf(signature.in[0], {signature.in_layouts[0]});
  if (form.empty()) {
    const int num_outputs = static_cast<int>(signature.out.size());
    const int64_t channels = form.channels();
    return Kernel{[num_outputs, channels](const Buffers& buffers) {
      for (int i = 1; i < num_outputs; ++i) ZeroFill(buffers, i, channels);
    }};
  }
  const onednn::Session session(env);
  return onednn::Try(signature.op->name, [&] {
    const auto pd = ForwardDesc(session, form, signature.attrs.Float("epsilon"),
                                statistics);
    onednn::Execution execution(session, dnnl::batch_normalization_forward(pd));
    BindForward(pd, form, statistics, signature, &execution);
    return Kernel{[execution](const Buffers& b) { execution.Run(b); }};
  });
}

// BatchNormalizationGrad(dy, x, scale, mean, var): dx, dscale, db.

dnnl::batch_normalization_backward::primitive_desc BackwardDesc(
    const onednn::Session& session, const Form& form, const Attrs& attrs) {
  const float epsilon = attrs.Float("epsilon");
  const normalization_flags flags =
      FlagsOf(attrs.Bool("given_statistics") ? Statistics::kGiven
                                             : Statistics::kOfBatch);
  const auto forward = onednn::BatchNormForwardDesc(
      session, prop_kind::forward_training, form.XDesc(), epsilon, flags);
  return onednn::BatchNormBackwardDesc(session, prop_kind::backward, forward,
                                       form.XDesc(), epsilon, flags);
}

int64_t BindBackward(
    const dnnl::batch_normalization_backward::primitive_desc& pd,
    const Form& form, const Signature& s, onednn::Execution* execution) {
  SpareOutputs outputs(pd.scratchpad_desc());
  outputs.Bind(s, 0, DNNL_ARG_DIFF_SRC, form.XDesc(), execution);
  outputs.Bind(s, 1, DNNL_ARG_DIFF_SCALE, form.ChannelDesc(), execution);
  outputs.Bind(s, 2, DNNL_ARG_DIFF_SHIFT, form.ChannelDesc(), execution);
  if (execution == nullptr) return outputs.bytes();
  execution->In(DNNL_ARG_DIFF_DST, 0, form.XDesc());
  execution->In(DNNL_ARG_SRC, 1, form.XDesc());
  execution->In(DNNL_ARG_SCALE, 2, form.ChannelDesc());
  execution->In(DNNL_ARG_MEAN, 3, form.ChannelDesc());
  execution->In(DNNL_ARG_VARIANCE, 4, form.ChannelDesc());
  // Beyond those five: some versions count b, whose content does not matter.
  if (onednn::NumInputs(pd) > 5) {
    execution->In(DNNL_ARG_SHIFT, 2, form.ChannelDesc());
  }
  execution->Scratchpad(pd.scratchpad_desc());
  return outputs.bytes();
}

InferredTypes GradInfer(const OpArgs& args) {
  RETURN_IF_ERROR(
      CheckOperands("BatchNormalizationGrad", args.in[1], args.in.subspan(2)));
  return std::vector<TensorType>{args.in[1], args.in[2], args.in[2]};
}

absl::StatusOr<Description> GradDescribe(const Signature& offered,
                                         const OpEnv& env) {
  const Form form =
      FormOf(offered.in[1], {offered.in_layouts[0], offered.in_layouts[1]});
  Description d = DescribeRowMajor(offered, "loop", 11 * form.x.num_elements());
  if (form.empty()) return d;
  d.in_layouts[0] = Wanted(form, offered.in_layouts[0]);
  d.in_layouts[1] = Wanted(form, offered.in_layouts[1]);
  d.out_layouts[0] = d.in_layouts[1];
  if (offered.out[0].present()) AllowOverwrite({0, 1}, d);
  const onednn::Session session(env);
  return onednn::Try("BatchNormalizationGrad", [&] {
    const auto pd = BackwardDesc(session, form, offered.attrs);
    DescribePrimitive(pd, d);
    d.scratchpad_bytes = BindBackward(pd, form, offered, nullptr);
    return d;
  });
}

absl::StatusOr<Kernel> GradBuild(const Signature& signature, const OpEnv& env) {
  const Form form = FormOf(signature.in[1],
                           {signature.in_layouts[0], signature.in_layouts[1]});
  if (form.empty()) {
    const int num_outputs = static_cast<int>(signature.out.size());
    const int64_t channels = form.channels();
    return Kernel{[num_outputs, channels](const Buffers& buffers) {
      for (int i = 1; i < num_outputs; ++i) ZeroFill(buffers, i, channels);
    }};
  }
  const onednn::Session session(env);
  return onednn::Try("BatchNormalizationGrad", [&] {
    const auto pd = BackwardDesc(session, form, signature.attrs);
    onednn::Execution execution(session,
                                dnnl::batch_normalization_backward(pd));
    BindBackward(pd, form, signature, &execution);
    return Kernel{[execution](const Buffers& b) { execution.Run(b); }};
  });
}

OpDef ForwardOp(Statistics statistics) {
  OpDef op;
  op.internal = true;
  op.attrs = {AttrSpec("epsilon", 1e-5f)};
  op.describe = [statistics](const Signature& offered, const OpEnv& env) {
    return Describe(statistics, offered, env);
  };
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
  grad.infer = GradInfer;
  grad.describe = GradDescribe;
  grad.build = GradBuild;

  return {any, training, inference, grad};
}

}  // namespace reprise
