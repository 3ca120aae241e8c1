// MaxPool, AveragePool, GlobalAveragePool, and their gradients; one to three
// spatial axes.
//
// MaxPool's gradient reads a workspace in which the forward kernel has noted
// which element won: one byte for each output, so that neither x nor y is kept.
// The averages' gradients read nothing but dy. Padding never wins a maximum; it
// counts in an average if count_include_pad says so, but not what ceil_mode
// lets a window cover beyond it.
//
// As oneDNN does it, a maximum ignores NaN, and is the lowest finite float
// where a window has nothing above it. Loops of our own serve where oneDNN has
// no kernel but its reference code; the layout of the workspace says whose it
// is. Tested by tests/ops/pooling_test.cc.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/autodiff.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/channels_last.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/layout.h"
#include "ops/lib/onednn.h"
#include "ops/lib/pool_loop.h"
#include "ops/lib/window.h"

namespace reprise {
namespace {

using dnnl::algorithm;
using dnnl::prop_kind;

enum class Kind : uint8_t { kMax, kAverage, kGlobalAverage };

// Results of MaxPool.
constexpr int kIndices = 1;
constexpr int kWorkspace = 2;

const char* NameOf(Kind kind) {
  switch (kind) {
    case Kind::kMax:
      return "MaxPool";
    case Kind::kAverage:
      return "AveragePool";
    case Kind::kGlobalAverage:
      return "GlobalAveragePool";
  }
  return "";
}

std::vector<AttrSpec> AttrsOf(Kind kind) {
  if (kind == Kind::kGlobalAverage) return {};
  std::vector<AttrSpec> attrs = WindowAttrs();
  attrs.emplace_back("ceil_mode", int64_t{0});
  if (kind == Kind::kMax) attrs.emplace_back("storage_order", int64_t{0});
  if (kind == Kind::kAverage) {
    attrs.emplace_back("count_include_pad", int64_t{0});
  }
  return attrs;
}

struct Pooling {
  TensorType x;
  TensorType y;
  Window window;
  algorithm how = algorithm::pooling_max;

  Dims spatial() const { return Dims(x.dims.begin() + 2, x.dims.end()); }
  bool counts_padding() const {
    return how == algorithm::pooling_avg_include_padding;
  }

  // Whether oneDNN has only reference code for it, or nothing.
  bool needs_loop() const {
    const auto dilated = [](int64_t dilation) { return dilation != 1; };
    return std::any_of(window.dilations.begin(), window.dilations.end(),
                       dilated) ||
           (counts_padding() &&
            window.ReachedEnd(spatial()) != window.pads_end);
  }

  int64_t flops() const { return y.num_elements() * Product(window.kernel); }
};

absl::StatusOr<Pooling> PoolingOf(Kind kind, const TensorType& x,
                                  const Attrs& attrs) {
  const std::string op = NameOf(kind);
  RETURN_IF_ERROR(RequireF32(op, "x", x));
  if (x.rank() < 3 || x.rank() > 5) {
    return Invalid(op, ": x must be [n, c, ..] of rank 3 to 5, got ",
                   ToString(x));
  }
  const Dims spatial(x.dims.begin() + 2, x.dims.end());
  Pooling pooling;
  pooling.x = x;
  if (kind == Kind::kGlobalAverage) {
    const size_t rank = spatial.size();
    pooling.window = {spatial,       Dims(rank, 1), Dims(rank, 1),
                      Dims(rank, 0), Dims(rank, 0), Dims(rank, 1)};
    pooling.how = algorithm::pooling_avg_exclude_padding;
    if (Product(spatial) == 0) {
      return Invalid(op, ": x must have spatial elements, got ", ToString(x));
    }
  } else {
    if (!attrs.Has("kernel_shape") ||
        attrs.IntList("kernel_shape").size() != spatial.size()) {
      return Invalid(op, ": kernel_shape must have ", spatial.size(),
                     " entries");
    }
    ASSIGN_OR_RETURN(pooling.window, WindowOf(op, attrs, spatial,
                                              attrs.IntList("kernel_shape")));
    for (size_t i = 0; i < spatial.size(); ++i) {
      const int64_t span = pooling.window.Span(i);
      if (pooling.window.pads_begin[i] >= span ||
          pooling.window.pads_end[i] >= span) {
        return Invalid(op, ": pads must be less than the window's ", span,
                       " elements, got ", pooling.window.pads_begin[i], " and ",
                       pooling.window.pads_end[i]);
      }
    }
    if (kind == Kind::kAverage) {
      pooling.how = attrs.Int("count_include_pad") != 0
                        ? algorithm::pooling_avg_include_padding
                        : algorithm::pooling_avg_exclude_padding;
    }
  }
  Dims y = {x.dims[0], x.dims[1]};
  y.insert(y.end(), pooling.window.out.begin(), pooling.window.out.end());
  ASSIGN_OR_RETURN(pooling.y, TensorType::Make(DType::kF32, std::move(y)));
  return pooling;
}

Pooling PoolingOfGrad(Kind kind, const Attrs& attrs) {
  return *PoolingOf(kind, {DType::kF32, attrs.IntList("dims")}, attrs);
}

InferredTypes Infer(Kind kind, const OpArgs& args) {
  ASSIGN_OR_RETURN(const Pooling pooling,
                   PoolingOf(kind, args.in[0], args.attrs));
  std::vector<TensorType> types = {pooling.y};
  if (kind == Kind::kMax) {
    types.push_back({DType::kI64, pooling.y.dims});
    types.push_back({DType::kOpaque, {}});
  }
  return types;
}

std::vector<ValueId> Grad(Kind kind, GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  Attrs attrs = b.attrs();
  attrs.Set("dims", b.type(b.in(0)).dims);
  std::vector<ValueId> in;
  if (kind == Kind::kMax) in.push_back(b.out(kWorkspace));
  in.push_back(b.out_grad(0));
  return {b.Add(std::string(NameOf(kind)) + "Grad", std::move(in),
                std::move(attrs))};
}

// Descriptors.

onednn::Md ActivationDesc(const TensorType& type, bool channels_last) {
  // A tag of oneDNN's for every rank that infer lets pass.
  return *onednn::Desc(type,
                       channels_last ? ChannelsLast(type.rank()) : Layout());
}

onednn::PoolingForward::primitive_desc ForwardDesc(
    const onednn::Session& session, const Pooling& pooling, prop_kind kind,
    bool channels_last) {
  const Window& window = pooling.window;
  return onednn::ForwardDesc<onednn::PoolingForward>(
      session, onednn::UserScratchpad(), kind, pooling.how,
      ActivationDesc(pooling.x, channels_last),
      ActivationDesc(pooling.y, channels_last), window.strides, window.kernel,
      window.OneDnnDilations(), window.pads_begin,
      window.ReachedEnd(pooling.spatial()));
}

onednn::PoolingBackward::primitive_desc BackwardDesc(
    const onednn::Session& session, const Pooling& pooling,
    bool channels_last) {
  const Window& window = pooling.window;
  return onednn::BackwardDesc<onednn::PoolingBackward>(
      session, onednn::UserScratchpad(),
      ForwardDesc(session, pooling, prop_kind::forward_training, channels_last),
      pooling.how, ActivationDesc(pooling.x, channels_last),
      ActivationDesc(pooling.y, channels_last), window.strides, window.kernel,
      window.OneDnnDilations(), window.pads_begin,
      window.ReachedEnd(pooling.spatial()));
}

template <class PrimitiveDesc>
void DescribePrimitive(const PrimitiveDesc& pd, Description& d) {
  d.implementation = pd.impl_info_str();
  d.scratchpad_bytes = onednn::BytesOf(pd.scratchpad_desc());
  d.library_heap_bytes =
      onednn::HiddenHeapBytes(d.implementation, d.bytes_moved);
}

Kernel Nothing() {
  return Kernel{[](const Buffers&) {}};
}

// Forward. The order of the elements stays what it is, if it is row-major or
// channels-last; indices want it row-major. The workspace's layout says which
// one it was made for, and by whom: "loop_" begins those of our own loops.

Layout LoopWorkspace(bool channels_last) {
  return Layout{channels_last ? "loop_channels_last" : "loop_row_major"};
}

bool Wants(const Signature& s, size_t out) {
  return s.out.size() > out && s.out[out].present();
}

prop_kind KindOf(const Signature& s) {
  return Wants(s, kWorkspace) ? prop_kind::forward_training
                              : prop_kind::forward_inference;
}

bool RunsLoop(const Signature& s, const Pooling& pooling) {
  return pooling.needs_loop() || Wants(s, kIndices);
}

absl::StatusOr<Description> Describe(Kind kind, const Signature& offered,
                                     const OpEnv& env) {
  const Pooling pooling = *PoolingOf(kind, offered.in[0], offered.attrs);
  Description d = DescribeRowMajor(offered, "loop:pool", pooling.flops());
  if (pooling.x.num_elements() == 0) return d;
  const bool channels_last =
      IsChannelsLast(pooling.x.dims, offered.in_layouts[0]) &&
      !Wants(offered, kIndices);
  if (channels_last) {
    d.in_layouts[0] = offered.in_layouts[0];
    d.out_layouts[0] = ChannelsLastOf(pooling.y.dims);
  }
  if (RunsLoop(offered, pooling)) {
    if (Wants(offered, kWorkspace)) {
      d.out_bytes[kWorkspace] =
          pooling.y.num_elements() * PoolLoop::WinnerBytes(pooling.window);
      d.bytes_moved += d.out_bytes[kWorkspace];
      d.out_layouts[kWorkspace] = LoopWorkspace(channels_last);
    }
    return d;
  }
  const onednn::Session session(env);
  return onednn::Try(NameOf(kind), [&] {
    const auto pd =
        ForwardDesc(session, pooling, KindOf(offered), channels_last);
    DescribePrimitive(pd, d);
    if (KindOf(offered) == prop_kind::forward_training) {
      d.out_bytes[kWorkspace] = onednn::BytesOf(pd.workspace_desc());
      d.bytes_moved += d.out_bytes[kWorkspace];
      if (channels_last) {
        d.out_layouts[kWorkspace] = ChannelsLast(pooling.x.rank());
      }
    }
    return d;
  });
}

Kernel LoopKernel(Kind kind, const Signature& signature, const Pooling& pooling,
                  const OpEnv& env) {
  const PoolLoop loop(pooling.x.dims, pooling.window,
                      IsChannelsLast(pooling.x.dims, signature.in_layouts[0]),
                      env.threads);
  const bool counts_padding = pooling.counts_padding();
  if (kind != Kind::kMax) {
    return Kernel{[loop, counts_padding](const Buffers& b) {
      loop.Average(static_cast<const float*>(b.in[0]),
                   static_cast<float*>(b.out[0]), counts_padding);
    }};
  }
  const bool indices = Wants(signature, kIndices);
  const bool workspace = Wants(signature, kWorkspace);
  const bool column_major = signature.attrs.Int("storage_order") != 0;
  return Kernel{[=](const Buffers& b) {
    const float* x = static_cast<const float*>(b.in[0]);
    loop.Max(x, static_cast<float*>(b.out[0]),
             workspace ? b.out[kWorkspace] : nullptr);
    if (indices) {
      loop.MaxIndices(x, static_cast<int64_t*>(b.out[kIndices]), column_major);
    }
  }};
}

absl::StatusOr<Kernel> Build(Kind kind, const Signature& signature,
                             const OpEnv& env) {
  const Pooling pooling = *PoolingOf(kind, signature.in[0], signature.attrs);
  if (pooling.x.num_elements() == 0) return Nothing();
  if (RunsLoop(signature, pooling)) {
    return LoopKernel(kind, signature, pooling, env);
  }
  const onednn::Session session(env);
  return onednn::Try(NameOf(kind), [&] {
    const auto pd =
        ForwardDesc(session, pooling, KindOf(signature),
                    IsChannelsLast(pooling.x.dims, signature.in_layouts[0]));
    onednn::Execution execution(session, onednn::PoolingForward(pd));
    execution.In(DNNL_ARG_SRC, 0, pd.src_desc());
    execution.Out(DNNL_ARG_DST, 0, pd.dst_desc());
    if (KindOf(signature) == prop_kind::forward_training) {
      execution.Out(DNNL_ARG_WORKSPACE, kWorkspace, pd.workspace_desc());
    }
    execution.Scratchpad(pd.scratchpad_desc());
    return Kernel{[execution](const Buffers& b) { execution.Run(b); }};
  });
}

// Gradients: MaxPoolGrad(workspace, dy), the others (dy).

InferredTypes GradInfer(Kind kind, const OpArgs& args) {
  ASSIGN_OR_RETURN(
      const Pooling pooling,
      PoolingOf(kind, {DType::kF32, args.attrs.IntList("dims")}, args.attrs));
  if (args.in.back() != pooling.y) {
    return Invalid(NameOf(kind), "Grad: dy must be ", ToString(pooling.y),
                   ", got ", ToString(args.in.back()));
  }
  return std::vector<TensorType>{pooling.x};
}

bool GradRunsLoop(Kind kind, const Signature& s, const Pooling& pooling) {
  return kind == Kind::kMax ? s.in_layouts[0] == LoopWorkspace(true) ||
                                  s.in_layouts[0] == LoopWorkspace(false)
                            : pooling.needs_loop();
}

bool GradIsChannelsLast(Kind kind, const Signature& s) {
  return kind == Kind::kMax
             ? s.in_layouts[0] == LoopWorkspace(true) ||
                   s.in_layouts[0] == ChannelsLast(s.out[0].rank())
             : IsChannelsLast(s.in[0].dims, s.in_layouts[0]);
}

absl::StatusOr<Description> GradDescribe(Kind kind, const Signature& offered,
                                         const OpEnv& env) {
  const Pooling pooling = PoolingOfGrad(kind, offered.attrs);
  Description d = DescribeRowMajor(offered, "loop:poolgrad", pooling.flops());
  if (pooling.x.num_elements() == 0) return d;
  const bool channels_last = GradIsChannelsLast(kind, offered);
  const size_t dy = offered.in.size() - 1;
  d.in_layouts[0] = offered.in_layouts[0];
  if (channels_last) {
    d.in_layouts[dy] = WantChannelsLast(pooling.y.dims, offered.in_layouts[dy]);
    d.out_layouts[0] = ChannelsLastOf(pooling.x.dims);
  } else if (!IsPermutation(offered.in_layouts[dy]) ||
             !IsByteEqualToRowMajor(pooling.y.dims, offered.in_layouts[dy])) {
    d.in_layouts[dy] = Layout();
  } else {
    d.in_layouts[dy] = offered.in_layouts[dy];
  }
  if (GradRunsLoop(kind, offered, pooling)) {
    if (kind == Kind::kMax) {
      d.bytes_moved +=
          pooling.y.num_elements() * PoolLoop::WinnerBytes(pooling.window);
    }
    return d;
  }
  const onednn::Session session(env);
  return onednn::Try(NameOf(kind), [&] {
    const auto pd = BackwardDesc(session, pooling, channels_last);
    DescribePrimitive(pd, d);
    if (kind == Kind::kMax) {
      d.bytes_moved += onednn::BytesOf(pd.workspace_desc());
    }
    return d;
  });
}

Kernel LoopGradKernel(Kind kind, const Signature& signature,
                      const Pooling& pooling, const OpEnv& env) {
  const PoolLoop loop(pooling.x.dims, pooling.window,
                      GradIsChannelsLast(kind, signature), env.threads);
  const bool counts_padding = pooling.counts_padding();
  return Kernel{[=](const Buffers& b) {
    float* dx = static_cast<float*>(b.out[0]);
    if (kind == Kind::kMax) {
      loop.MaxGrad(b.in[0], static_cast<const float*>(b.in[1]), dx);
    } else {
      loop.AverageGrad(static_cast<const float*>(b.in[0]), dx, counts_padding);
    }
  }};
}

absl::StatusOr<Kernel> GradBuild(Kind kind, const Signature& signature,
                                 const OpEnv& env) {
  const Pooling pooling = PoolingOfGrad(kind, signature.attrs);
  if (pooling.x.num_elements() == 0) return Nothing();
  if (GradRunsLoop(kind, signature, pooling)) {
    return LoopGradKernel(kind, signature, pooling, env);
  }
  const onednn::Session session(env);
  return onednn::Try(NameOf(kind), [&] {
    const auto pd =
        BackwardDesc(session, pooling, GradIsChannelsLast(kind, signature));
    onednn::Execution execution(session, onednn::PoolingBackward(pd));
    if (kind == Kind::kMax) {
      execution.In(DNNL_ARG_WORKSPACE, 0, pd.workspace_desc());
    }
    execution.In(DNNL_ARG_DIFF_DST, static_cast<int>(signature.in.size()) - 1,
                 pd.diff_dst_desc());
    execution.Out(DNNL_ARG_DIFF_SRC, 0, pd.diff_src_desc());
    execution.Scratchpad(pd.scratchpad_desc());
    return Kernel{[execution](const Buffers& b) { execution.Run(b); }};
  });
}

OpDef ForwardOp(Kind kind) {
  OpDef op;
  op.name = NameOf(kind);
  op.attrs = AttrsOf(kind);
  op.infer = [kind](const OpArgs& args) { return Infer(kind, args); };
  op.grad = [kind](GradBuilder& b) { return Grad(kind, b); };
  op.describe = [kind](const Signature& offered, const OpEnv& env) {
    return Describe(kind, offered, env);
  };
  op.build = [kind](const Signature& signature, const OpEnv& env) {
    return Build(kind, signature, env);
  };
  if (kind == Kind::kMax) {
    op.max_outputs = 3;
    op.first_statistic = kWorkspace;
  }
  return op;
}

OpDef GradOp(Kind kind) {
  OpDef op;
  op.name = std::string(NameOf(kind)) + "Grad";
  op.internal = true;
  op.min_inputs = kind == Kind::kMax ? 2 : 1;
  op.max_inputs = op.min_inputs;
  op.attrs = AttrsOf(kind);
  op.attrs.emplace_back("dims", AttrKind::kInts, AttrSpec::kRequired);
  op.infer = [kind](const OpArgs& args) { return GradInfer(kind, args); };
  op.describe = [kind](const Signature& offered, const OpEnv& env) {
    return GradDescribe(kind, offered, env);
  };
  op.build = [kind](const Signature& signature, const OpEnv& env) {
    return GradBuild(kind, signature, env);
  };
  return op;
}

}  // namespace

std::vector<OpDef> PoolingOps() {
  std::vector<OpDef> ops;
  for (const Kind kind : {Kind::kMax, Kind::kAverage, Kind::kGlobalAverage}) {
    ops.push_back(ForwardOp(kind));
    ops.push_back(GradOp(kind));
  }
  return ops;
}

}  // namespace reprise
