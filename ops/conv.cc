// Conv: correlation of x [n, c, d1, ..] with weights w [o, c / group, k1, ..],
// plus a bias [o]; one to three spatial axes.
//
//   y[n, o, p]  = b[o] + sum_{c, k} w[o, c, k] x[n, c, stride p + dilation k]
//   dx = ConvGradInput(dy, w), (dw, db) = ConvGradWeight(x, dy)
//
// No gradient reads y. Activations are channels-last everywhere: one layout for
// poolings and normalizations too, within 10 % of oneDNN's blocked ones.
// Weights have the layout that oneDNN likes best, which is another one in each
// of the three kernels.
// Tested by tests/ops/conv_test.cc.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/autodiff.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/channels_last.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/onednn.h"
#include "ops/lib/relu.h"
#include "ops/lib/window.h"

namespace reprise {
namespace {

using dnnl::algorithm;
using dnnl::prop_kind;
using Forward = dnnl::convolution_forward;
using BackwardInput = dnnl::convolution_backward_data;
using BackwardWeight = dnnl::convolution_backward_weights;

std::vector<AttrSpec> ConvAttrs() {
  std::vector<AttrSpec> attrs = WindowAttrs();
  attrs.emplace_back("group", int64_t{1});
  return attrs;
}

std::vector<AttrSpec> GradAttrs() {
  std::vector<AttrSpec> attrs = ConvAttrs();
  attrs.emplace_back("dims", AttrKind::kInts, AttrSpec::kRequired);
  return attrs;
}

// The types and geometry of one convolution, whichever kernel computes it.
struct Convolution {
  TensorType x;
  TensorType w;
  TensorType y;
  int64_t group = 1;
  Window window;

  int64_t flops() const {
    return 2 * y.num_elements() *
           Product(absl::MakeConstSpan(w.dims).subspan(1));
  }
  bool empty() const { return x.num_elements() == 0; }
};

// Judges x and w; `op` begins the errors.
absl::StatusOr<Convolution> ConvolutionOf(absl::string_view op,
                                          const TensorType& x,
                                          const TensorType& w,
                                          const Attrs& attrs) {
  RETURN_IF_ERROR(RequireF32(op, "x", x));
  RETURN_IF_ERROR(RequireF32(op, "w", w));
  if (x.rank() < 3 || x.rank() > 5 || w.rank() != x.rank()) {
    return Invalid(op, ": x and w must be of one rank, 3 to 5, got ",
                   ToString(x), " and ", ToString(w));
  }
  Convolution conv;
  conv.x = x;
  conv.w = w;
  conv.group = attrs.Int("group");
  const int64_t c = x.dims[1];
  const int64_t o = w.dims[0];
  if (conv.group < 1 || c < 1 || o < 1 || o % conv.group != 0 ||
      c != w.dims[1] * conv.group) {
    return Invalid(op, ": x must have group * w's channels, and group must ",
                   "divide w's filters, got ", ToString(x), ", ", ToString(w),
                   " and group ", conv.group);
  }
  const Dims spatial(x.dims.begin() + 2, x.dims.end());
  const Dims kernel(w.dims.begin() + 2, w.dims.end());
  ASSIGN_OR_RETURN(conv.window, WindowOf(op, attrs, spatial, kernel));
  Dims y = {x.dims[0], o};
  y.insert(y.end(), conv.window.out.begin(), conv.window.out.end());
  ASSIGN_OR_RETURN(conv.y, TensorType::Make(DType::kF32, std::move(y)));
  return conv;
}

InferredTypes Infer(const OpArgs& args) {
  ASSIGN_OR_RETURN(const Convolution conv,
                   ConvolutionOf("Conv", args.in[0], args.in[1], args.attrs));
  if (args.in.size() > 2 && args.in[2].present() &&
      args.in[2] != TensorType{DType::kF32, {conv.w.dims[0]}}) {
    return Invalid("Conv: bias must be f32[", conv.w.dims[0], "], got ",
                   ToString(args.in[2]));
  }
  return std::vector<TensorType>{conv.y};
}

std::vector<ValueId> Grad(GradBuilder& b) {
  const ValueId dy = b.out_grad(0);
  std::vector<ValueId> grads(b.num_inputs(), kNoValue);
  const auto with_dims = [&](ValueId of) {
    Attrs attrs = b.attrs();
    attrs.Set("dims", b.type(of).dims);
    return attrs;
  };
  if (b.needs_grad(0)) {
    grads[0] = b.Add("ConvGradInput", {dy, b.in(1)}, with_dims(b.in(0)));
  }
  const bool needs_bias = b.num_inputs() > 2 && b.needs_grad(2);
  if (b.needs_grad(1)) {
    const std::vector<ValueId> dw =
        b.AddMany("ConvGradWeight", {b.in(0), dy}, with_dims(b.in(1)),
                  needs_bias ? 2 : 1);
    grads[1] = dw[0];
    if (needs_bias) grads[2] = dw[1];
  } else if (needs_bias) {
    Ints axes = {0};
    for (int axis = 2; axis < b.type(dy).rank(); ++axis) axes.push_back(axis);
    grads[2] =
        b.Add("ReduceSum", {dy}, {{"axes", axes}, {"keepdims", int64_t{0}}});
  }
  return grads;
}

// Descriptors of the operands.

onednn::Md ActivationDesc(const TensorType& type) {
  // A tag of oneDNN's for every rank that infer lets pass.
  return *onednn::Desc(type, ChannelsLast(type.rank()));
}

onednn::Md WeightDesc(const Convolution& conv) {
  return onednn::AnyDesc(onednn::SplitGroups(conv.w, conv.group));
}

onednn::Md BiasDesc(const Convolution& conv) {
  return *onednn::Desc({DType::kF32, {conv.w.dims[0]}}, Layout());
}

Forward::primitive_desc ForwardDesc(const onednn::Session& session,
                                    const Convolution& conv, bool bias) {
  const dnnl::primitive_attr attr = onednn::UserScratchpad();
  const onednn::Md x = ActivationDesc(conv.x);
  const onednn::Md w = WeightDesc(conv);
  const onednn::Md y = ActivationDesc(conv.y);
  const Window& window = conv.window;
  const Dims dilations = window.OneDnnDilations();
  return bias ? onednn::CleanForwardDesc<Forward>(
                    session, attr, prop_kind::forward_training,
                    algorithm::convolution_direct, x, w, BiasDesc(conv), y,
                    window.strides, dilations, window.pads_begin,
                    window.pads_end)
              : onednn::CleanForwardDesc<Forward>(
                    session, attr, prop_kind::forward_training,
                    algorithm::convolution_direct, x, w, y, window.strides,
                    dilations, window.pads_begin, window.pads_end);
}

BackwardInput::primitive_desc InputDesc(const onednn::Session& session,
                                        const Convolution& conv) {
  const auto forward = ForwardDesc(session, conv, /*bias=*/false);
  const Window& window = conv.window;
  return onednn::CleanBackwardDesc<BackwardInput>(
      session, onednn::UserScratchpad(), forward, algorithm::convolution_direct,
      ActivationDesc(conv.x), WeightDesc(conv), ActivationDesc(conv.y),
      window.strides, window.OneDnnDilations(), window.pads_begin,
      window.pads_end);
}

BackwardWeight::primitive_desc WeightGradDesc(const onednn::Session& session,
                                              const Convolution& conv,
                                              bool bias) {
  const auto forward = ForwardDesc(session, conv, bias);
  const onednn::Md x = ActivationDesc(conv.x);
  const onednn::Md w = WeightDesc(conv);
  const onednn::Md y = ActivationDesc(conv.y);
  const Window& window = conv.window;
  const Dims dilations = window.OneDnnDilations();
  return bias ? onednn::CleanBackwardDesc<BackwardWeight>(
                    session, onednn::UserScratchpad(), forward,
                    algorithm::convolution_direct, x, w, BiasDesc(conv), y,
                    window.strides, dilations, window.pads_begin,
                    window.pads_end)
              : onednn::CleanBackwardDesc<BackwardWeight>(
                    session, onednn::UserScratchpad(), forward,
                    algorithm::convolution_direct, x, w, y, window.strides,
                    dilations, window.pads_begin, window.pads_end);
}

// What all three descriptions have; layouts are still row-major.
Description DescribeConvolution(const Signature& offered,
                                const Convolution& conv) {
  Description d = DescribeRowMajor(offered, "loop", conv.flops());
  d.rate = Rate::kConv;
  return d;
}

template <class PrimitiveDesc>
void DescribePrimitive(const PrimitiveDesc& pd, Description& d) {
  d.implementation = pd.impl_info_str();
  d.scratchpad_bytes = onednn::BytesOf(pd.scratchpad_desc());
  d.library_heap_bytes =
      onednn::HiddenHeapBytes(d.implementation, d.bytes_moved);
}

absl::StatusOr<Layout> WeightLayout(const onednn::Md& md,
                                    const Convolution& conv) {
  ASSIGN_OR_RETURN(const Layout layout, onednn::LayoutOf(md));
  return onednn::WithGroups(layout, conv.group);
}

// Without elements in x only weight gradients have any, and they are zero.
Kernel ZeroFill(const Signature& signature) {
  std::vector<int64_t> counts;
  for (const TensorType& type : signature.out) {
    counts.push_back(type.num_elements());
  }
  return Kernel{[counts](const Buffers& buffers) {
    for (size_t i = 0; i < counts.size(); ++i) {
      std::fill_n(static_cast<float*>(buffers.out[i]), counts[i], 0.0f);
    }
  }};
}

// Conv.

bool HasBias(const Signature& s) {
  return s.in.size() > 2 && s.in[2].present();
}

absl::StatusOr<Description> Describe(const Signature& offered,
                                     const OpEnv& env) {
  const Convolution conv =
      *ConvolutionOf("Conv", offered.in[0], offered.in[1], offered.attrs);
  Description d = DescribeConvolution(offered, conv);
  if (conv.empty()) return d;
  const onednn::Session session(env);
  return onednn::Try("Conv", [&]() -> absl::StatusOr<Description> {
    const auto pd = ForwardDesc(session, conv, HasBias(offered));
    DescribePrimitive(pd, d);
    d.in_layouts[0] = WantChannelsLast(conv.x.dims, offered.in_layouts[0]);
    ASSIGN_OR_RETURN(d.in_layouts[1], WeightLayout(pd.weights_desc(), conv));
    d.out_layouts[0] = ChannelsLastOf(conv.y.dims);
    if (HasActivation(offered)) DescribeThenRelu(conv.y, d);
    return d;
  });
}

absl::StatusOr<Kernel> Build(const Signature& signature, const OpEnv& env) {
  const Convolution conv =
      *ConvolutionOf("Conv", signature.in[0], signature.in[1], signature.attrs);
  if (conv.empty()) return ZeroFill(signature);
  const onednn::Session session(env);
  return onednn::Try("Conv", [&] {
    const bool bias = HasBias(signature);
    const auto pd = ForwardDesc(session, conv, bias);
    onednn::Execution execution(session, Forward(pd));
    execution.In(DNNL_ARG_SRC, 0, pd.src_desc());
    execution.In(DNNL_ARG_WEIGHTS, 1, pd.weights_desc());
    if (bias) execution.In(DNNL_ARG_BIAS, 2, BiasDesc(conv));
    execution.Out(DNNL_ARG_DST, 0, pd.dst_desc());
    execution.Scratchpad(pd.scratchpad_desc());
    Kernel kernel{[execution](const Buffers& b) { execution.Run(b); }};
    if (!HasActivation(signature)) return kernel;
    return ThenRelu(std::move(kernel), conv.y.num_elements(), env);
  });
}

// ConvGradInput(dy, w): dx. Linear in both, so that it is an operator of its
// own in networks that convolve backwards (ConvTranspose).

absl::StatusOr<Convolution> InputConvolution(absl::Span<const TensorType> in,
                                             const Attrs& attrs) {
  const TensorType x = {DType::kF32, attrs.IntList("dims")};
  return ConvolutionOf("ConvGradInput", x, in[1], attrs);
}

std::vector<ValueId> InputGrad(GradBuilder& b) {
  const ValueId ddx = b.out_grad(0);
  std::vector<ValueId> grads(2, kNoValue);
  Attrs attrs = b.attrs();
  attrs.Erase("dims");
  if (b.needs_grad(0)) grads[0] = b.Add("Conv", {ddx, b.in(1)}, attrs);
  if (b.needs_grad(1)) {
    attrs.Set("dims", b.type(b.in(1)).dims);
    grads[1] = b.Add("ConvGradWeight", {ddx, b.in(0)}, std::move(attrs));
  }
  return grads;
}

InferredTypes InputInfer(const OpArgs& args) {
  ASSIGN_OR_RETURN(const Convolution conv,
                   InputConvolution(args.in, args.attrs));
  if (args.in[0] != conv.y) {
    return Invalid("ConvGradInput: dy must be ", ToString(conv.y), ", got ",
                   ToString(args.in[0]));
  }
  return std::vector<TensorType>{conv.x};
}

absl::StatusOr<Description> InputDescribe(const Signature& offered,
                                          const OpEnv& env) {
  const Convolution conv = *InputConvolution(offered.in, offered.attrs);
  Description d = DescribeConvolution(offered, conv);
  if (conv.empty()) return d;
  const onednn::Session session(env);
  return onednn::Try("ConvGradInput", [&]() -> absl::StatusOr<Description> {
    const auto pd = InputDesc(session, conv);
    DescribePrimitive(pd, d);
    d.in_layouts[0] = WantChannelsLast(conv.y.dims, offered.in_layouts[0]);
    ASSIGN_OR_RETURN(d.in_layouts[1], WeightLayout(pd.weights_desc(), conv));
    d.out_layouts[0] = ChannelsLastOf(conv.x.dims);
    return d;
  });
}

absl::StatusOr<Kernel> InputBuild(const Signature& signature,
                                  const OpEnv& env) {
  const Convolution conv = *InputConvolution(signature.in, signature.attrs);
  if (conv.empty()) return ZeroFill(signature);
  const onednn::Session session(env);
  return onednn::Try("ConvGradInput", [&] {
    const auto pd = InputDesc(session, conv);
    onednn::Execution execution(session, BackwardInput(pd));
    execution.In(DNNL_ARG_DIFF_DST, 0, pd.diff_dst_desc());
    execution.In(DNNL_ARG_WEIGHTS, 1, pd.weights_desc());
    execution.Out(DNNL_ARG_DIFF_SRC, 0, pd.diff_src_desc());
    execution.Scratchpad(pd.scratchpad_desc());
    return Kernel{[execution](const Buffers& b) { execution.Run(b); }};
  });
}

// ConvGradWeight(x, dy): dw, and db where it is wanted.

absl::StatusOr<Convolution> WeightConvolution(absl::Span<const TensorType> in,
                                              const Attrs& attrs) {
  const TensorType w = {DType::kF32, attrs.IntList("dims")};
  return ConvolutionOf("ConvGradWeight", in[0], w, attrs);
}

InferredTypes WeightInfer(const OpArgs& args) {
  ASSIGN_OR_RETURN(const Convolution conv,
                   WeightConvolution(args.in, args.attrs));
  return std::vector<TensorType>{conv.w, {DType::kF32, {conv.w.dims[0]}}};
}

bool WantsBias(const Signature& s) {
  return s.out.size() > 1 && s.out[1].present();
}

absl::StatusOr<Description> WeightDescribe(const Signature& offered,
                                           const OpEnv& env) {
  const Convolution conv = *WeightConvolution(offered.in, offered.attrs);
  Description d = DescribeConvolution(offered, conv);
  if (conv.empty()) return d;
  const onednn::Session session(env);
  return onednn::Try("ConvGradWeight", [&]() -> absl::StatusOr<Description> {
    const auto pd = WeightGradDesc(session, conv, WantsBias(offered));
    DescribePrimitive(pd, d);
    d.in_layouts[0] = WantChannelsLast(conv.x.dims, offered.in_layouts[0]);
    d.in_layouts[1] = WantChannelsLast(conv.y.dims, offered.in_layouts[1]);
    ASSIGN_OR_RETURN(d.out_layouts[0],
                     WeightLayout(pd.diff_weights_desc(), conv));
    d.out_bytes[0] = onednn::BytesOf(pd.diff_weights_desc());
    return d;
  });
}

absl::StatusOr<Kernel> WeightBuild(const Signature& signature,
                                   const OpEnv& env) {
  const Convolution conv = *WeightConvolution(signature.in, signature.attrs);
  if (conv.empty()) return ZeroFill(signature);
  const onednn::Session session(env);
  return onednn::Try("ConvGradWeight", [&] {
    const bool bias = WantsBias(signature);
    const auto pd = WeightGradDesc(session, conv, bias);
    onednn::Execution execution(session, BackwardWeight(pd));
    execution.In(DNNL_ARG_SRC, 0, pd.src_desc());
    execution.In(DNNL_ARG_DIFF_DST, 1, pd.diff_dst_desc());
    execution.Out(DNNL_ARG_DIFF_WEIGHTS, 0, pd.diff_weights_desc());
    if (bias) execution.Out(DNNL_ARG_DIFF_BIAS, 1, BiasDesc(conv));
    execution.Scratchpad(pd.scratchpad_desc());
    return Kernel{[execution](const Buffers& b) { execution.Run(b); }};
  });
}

}  // namespace

std::vector<OpDef> ConvOps() {
  OpDef forward;
  forward.name = "Conv";
  forward.min_inputs = 2;
  forward.max_inputs = 3;
  forward.attrs = ConvAttrs();
  forward.matmul = MatmulKind::kConv;
  forward.fusable_activations = {"Relu"};
  forward.infer = Infer;
  forward.grad = Grad;
  forward.describe = Describe;
  forward.build = Build;

  OpDef input;
  input.name = "ConvGradInput";
  input.internal = true;
  input.min_inputs = 2;
  input.max_inputs = 2;
  input.attrs = GradAttrs();
  input.matmul = MatmulKind::kConv;
  input.infer = InputInfer;
  input.grad = InputGrad;
  input.describe = InputDescribe;
  input.build = InputBuild;

  OpDef weight;
  weight.name = "ConvGradWeight";
  weight.internal = true;
  weight.min_inputs = 2;
  weight.max_inputs = 2;
  weight.max_outputs = 2;
  weight.attrs = GradAttrs();
  weight.infer = WeightInfer;
  weight.describe = WeightDescribe;
  weight.build = WeightBuild;

  return {forward, input, weight};
}

}  // namespace reprise
